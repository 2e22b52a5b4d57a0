"""``log.diff``: against the difference of what the server's own SELECTs said at two marks."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import binlogkit as bk
from binlogkit.cli import run
from binlogkit.rows.filters import written_table_name
from binlogkit_fixtures import golden

CASES = [
    golden.case(cell, scenario)
    for cell, scenario in (
        ("8.0-row-full", "keys"), ("8.0-row-minimal", "keys"), ("5.7-row-noblob", "keys"),
        ("8.0-row-full", "ddl"), ("5.7-row-minimal", "ddl"), ("8.0-row-full", "transactions"),
    )
]  # fmt: skip
KEYS = golden.case("8.0-row-full", "keys")
Record = dict[str, Any]


def text(row: Record | None) -> str:
    """A row; of FLOAT the digits that it has: the server's SELECT gives more."""
    short = {n: float(f"{v:.6g}") if isinstance(v, float) else v for n, v in (row or {}).items()}
    return json.dumps(None if row is None else short, sort_keys=True)


def expected(one: list[Record], other: list[Record], key: tuple[str, ...]) -> Counter[Any]:
    """What differs, row by row in plain Python: (before, after) as often as it does."""
    if not key:
        before, after = Counter(map(text, one)), Counter(map(text, other))
        gone, made = before - after, after - before
        return Counter({(row, text(None)): n for row, n in gone.items()}) + Counter(
            {(text(None), row): n for row, n in made.items()}
        )
    sides = [{tuple(row[name] for name in key): row for row in rows} for rows in (one, other)]
    pairs = [(sides[0].get(k), sides[1].get(k)) for k in {**sides[0], **sides[1]}]
    return Counter((text(a), text(b)) for a, b in pairs if a != b)


def told(found: Any) -> Counter[Any]:
    rows = Counter[Any]()
    for record in found.records():
        rows[text(record["before"]), text(record["after"])] += record["count"]
    return rows


@pytest.mark.sampled(0)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_difference_of_two_selects(case: golden.GoldenCase) -> None:
    log = bk.open([str(path) for path in case.binlogs])
    marks = case.manifest.marks
    compared = 0
    for first, second in [(marks[0], marks[-1]), (marks[len(marks) // 2], marks[-1])]:
        for name in sorted({*first.tables, *second.tables})[:9]:
            quoted = written_table_name(*name.split(".", 1))
            found = log.diff(quoted, (first.file, first.pos), (second.file, second.pos))
            selects: list[list[Record]] = [
                list(mark.tables[name].records()) if name in mark.tables else []
                for mark in (first, second)
            ]
            names = [set(rows[0]) if rows else None for rows in selects]
            if None not in names and names[0] != names[1]:
                assert "other_columns" in found.findings["finding"].to_pylist()
                continue
            if not found.determined:
                continue
            assert told(found) == expected(selects[0], selects[1], found.key), (name, first.name)
            compared += len(list(found.records()))
            for record in found.records():
                kind = {(True, False): "removed", (False, True): "added"}.get(
                    (record["before"] is not None, record["after"] is not None), "changed"
                )
                assert record["difference"] == kind and not record["uncertain"]
                if kind == "changed":
                    before, after = record["before"], record["after"]
                    assert record["changed"] == [n for n in before if before[n] != after[n]]
    assert compared > 2


def test_every_form_of_a_point() -> None:
    log = bk.open(KEYS.binlogs[0])
    transactions = [t for t in log.transaction_records(table="keyed.pk") if t["rows"]]
    middle = transactions[len(transactions) // 2]
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=middle["commit_timestamp"])
    uuid, number = middle["gtid"].split(":")
    place = middle["end_pos"]
    found = list(log.diff("keyed.pk", place).records())
    assert found
    zone = (moment + timedelta(hours=2)).replace(tzinfo=None)
    for point in (
        str(place), f"{log.files[0]}:{place}", (log.files[0], place), f"{uuid}:1-{number}",
        moment, moment.isoformat(),
    ):  # fmt: skip
        assert list(log.diff("keyed.pk", point).records()) == found, point
        assert list(log.diff("keyed.pk", place, point).records()) == []
    given = log.diff("keyed.pk", zone.isoformat(), timezone="Etc/GMT-2")
    assert list(given.records()) == found
    # The other way round everything is the other way round.
    back = Counter((text(r["after"]), text(r["before"])) for r in log.diff("keyed.pk", None, place)
                   .records())  # fmt: skip
    assert back == Counter((text(r["before"]), text(r["after"])) for r in found)


def test_rows_without_a_key_have_counts() -> None:
    log = bk.open(KEYS.binlogs[0])
    mark = next(m for m in KEYS.manifest.marks if m.name == "inserted")
    found = log.diff("keyed.nokey", 4, mark.pos)
    assert found.key == () and found.determined
    records = list(found.records())
    assert {r["difference"] for r in records} == {"added"}
    assert max(r["count"] for r in records) == 3
    assert sum(r["count"] for r in records) == len(mark.tables["keyed.nokey"].records())


def test_as_a_frame() -> None:
    found = bk.open(KEYS.binlogs[0]).diff("keyed.pk", 4)
    frame = found.frame()
    assert len(frame) == found.rows.num_rows and set(frame["difference"]) == {"added"}
    assert frame["after.id"].tolist() == [r["after"]["id"] for r in found.records()]


@pytest.mark.parametrize("form", ["csv", "parquet", "arrow"])
def test_files_have_the_tables_columns(form: str, tmp_path: Path) -> None:
    """Also cells that are no values: zero dates, whose text csv has."""
    (path,) = golden.case("8.0-row-full", "types").binlogs
    out = tmp_path / f"d.{form}"
    words = ["--table", "types.timestamps", "--from", "4", "--output", str(out)]
    assert run(["diff", str(path), *words]) == 0
    records = list(bk.open(path).diff("types.timestamps", 4).records())
    if form == "csv":
        rows = list(csv.DictReader(io.StringIO(out.read_text("utf-8"))))
        names = [n for n in rows[0] if n.startswith("after.") and n != "after._cells"]
        zero = [(i, n) for i, r in enumerate(records) for n, v in r["after"].items()
                if str(v).startswith("0000")]  # fmt: skip
        assert zero and all(rows[i][f"after.{n}"] == records[i]["after"][n] for i, n in zero)
        assert all("no_arrow_value" in rows[i]["after._cells"] for i, _ in zero)
    else:
        table = pq.read_table(out) if form == "parquet" else pa.ipc.open_stream(out).read_all()
        names = [n for n in table.column_names if n.startswith("after.") and n != "after._cells"]
        assert any(pa.types.is_timestamp(table.schema.field(n).type) for n in names)
        assert table.num_rows == len(records)
        assert table["after.id"].to_pylist() == [r["after"]["id"] for r in records]
    assert [n.removeprefix("after.") for n in names] == [*records[0]["after"]]


def test_a_table_that_got_its_name_between() -> None:
    """It is the same table under its earlier name; one that was made between had no rows."""
    log = bk.open(golden.case("8.0-row-full", "ddl").binlogs[0])
    made, renamed = (
        [b for b in log.boundaries().to_dict("records") if b["action"] == action]
        for action in ("create", "rename")
    )
    for boundary in (made[0], renamed[-1]):
        pair = [boundary["db"], boundary["table"]]
        name = pair if boundary is made[0] else [boundary["new_db"], boundary["new_table"]]
        quoted = written_table_name(*name)
        ends = ((boundary["file"], boundary[place]) for place in ("pos", "end_pos"))
        found = log.diff(quoted, *ends)
        assert found.determined and not list(found.records())
        assert found.before.table == tuple(pair)


def test_what_a_missing_file_leaves_open() -> None:
    """A gap before the second point: not determined, and the finding is there."""
    case = golden.case("5.7-statement-full", "keys")
    log = bk.open(case.binlogs[0])
    found = log.diff("keyed.pk", 4)
    assert not found.determined
    assert "statement_write" in found.findings["finding"].to_pylist()
