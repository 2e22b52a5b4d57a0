"""``log.life``: against rows followed in plain Python, and between full and minimal images."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import binlogkit as bk
from binlogkit.analyses.point_in_time import batches
from binlogkit.errors import UsageError
from binlogkit.log.states.life import reading as life_reading
from binlogkit.rows.filters import written_table_name
from binlogkit_fixtures import golden

FULL = golden.case("8.0-row-full", "keys")
MINIMAL = golden.case("8.0-row-minimal", "keys")
Record = dict[str, Any]
Key = tuple[Any, ...]


def columns_of(log: bk.Log, table: str) -> list[str]:
    """The key's columns, as the log's own CREATE TABLE says."""
    (found,) = {tuple(s.key) for s in log.table_schemas() if s.name == ("keyed", table)}
    return list(found)


def followed(
    log: bk.Log, table: str, columns: list[str]
) -> Iterator[tuple[int, Key | None, Record]]:
    """Each change with the number of its row; keys of images that hold all of them."""
    current: dict[Key, int] = {}
    count = 0
    for record in log.row_records(table=f"keyed.{table}"):
        keys = [
            None if image is None else tuple(image[name] for name in columns)
            for image in (record["before"], record["after"])
        ]
        number = current.pop(keys[0], None) if keys[0] is not None else None
        if number is None:
            number, count = count, count + 1
        if keys[1] is not None:
            current[keys[1]] = number
        for key in {*keys} - {None}:
            yield number, key, record


def places(records: Any) -> list[tuple[Any, ...]]:
    return [(r["pos"], r["row"], r["op"], r["before"], r["after"]) for r in records]


@pytest.mark.sampled(0)
@pytest.mark.parametrize(
    "table", ["pk", "pk_auto", "pk_text", "pk_bytes", "composite", "unique_nn"]
)
def test_every_key_of_a_table(table: str) -> None:
    log = bk.open(FULL.binlogs[0])
    columns = columns_of(log, table)
    every = list(followed(log, table, columns))
    for wanted in dict.fromkeys(key for _, key, _ in every if key is not None):
        rows = {number for number, key, _ in every if key == wanted}
        expected = {(r["pos"], r["row"]): r for number, _, r in every if number in rows}
        given = wanted[0] if len(wanted) == 1 else wanted
        found = log.life(f"keyed.{table}", given)
        assert found.key == tuple(columns) and found.determined, found.findings.to_pylist()
        records = list(found.records())
        assert places(records) == places(expected.values()), wanted
        assert len({r["life"] for r in records}) == len(rows)
        for record in records:
            before, after = record["before"], record["after"]
            if record["op"] == "update":
                assert record["changed"] == [n for n in before if before[n] != after[n]]
            else:
                assert record["changed"] == list(before or after)
            assert not record["unknown"]


@pytest.mark.parametrize("table", ["pk", "pk_auto", "pk_text", "composite", "unique_nn"])
@pytest.mark.slow
def test_minimal_images_are_completed(table: str) -> None:
    """The same story in both: what an image leaves out is as the change before left it."""
    full, minimal = (bk.open(case.binlogs[0]) for case in (FULL, MINIMAL))
    columns = columns_of(full, table)
    keys = dict.fromkeys(key for _, key, _ in followed(full, table, columns) if key is not None)
    told = 0
    for key in keys:
        one, other = (
            [(r["life"], r["op"], r["before"], r["after"], r["changed"])
             for r in log.life(f"keyed.{table}", key).records()]
            for log in (full, minimal)
        )  # fmt: skip
        assert one == other, key
        told += len(one)
    assert told > 4


def test_a_key_is_compared_by_its_type(tmp_path: Path) -> None:
    log = bk.open(FULL.binlogs[0])
    for given in ("1", 1, "1.0", " 1"):
        assert places(log.life("keyed.pk", given).records()) == places(
            log.life("keyed.pk", [1]).records()
        )
    with pytest.raises(UsageError, match=r"id is .*compared with a number"):
        log.life("keyed.pk", "one")
    with pytest.raises(UsageError, match="give 1 values, not 2"):
        log.life("keyed.pk", (1, 2))
    with pytest.raises(UsageError, match="day, tenant: give 2 values, not 1"):
        log.life("keyed.composite", "1")
    assert list(log.life("keyed.composite", "2024-05-01,1").records())
    empty = log.life("keyed.pk", 10**30)
    assert not list(empty.records()) and empty.determined
    assert empty.findings["finding"].to_pylist() == ["no_change"]


def test_tables_without_a_key() -> None:
    log = bk.open(FULL.binlogs[0])
    for table in ("nokey", "unique_null"):
        with pytest.raises(UsageError, match=f"keyed.{table} has no primary key"):
            log.life(f"keyed.{table}", 1)
    with pytest.raises(UsageError, match="no table of this name"):
        log.life("nothing", 1)
    with pytest.raises(UsageError, match="there is no column nothing"):
        log.life("keyed.pk", 1, key_columns=["nothing"])


def one_by_one(batch: pa.RecordBatch, _: object) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Changes in parts of one, most of which do not have the row."""
    for i, seq in enumerate(batch["seq"].to_pylist()):
        yield seq, batch.slice(i, 1)


def test_what_passed_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """With more changes than are kept, a row that had another key before is looked for again."""
    log = bk.open(FULL.binlogs[0])
    for table in ("pk", "composite", "pk_text"):
        columns = columns_of(log, table)
        every = list(followed(log, table, columns))
        for key in dict.fromkeys(key for _, key, _ in every if key is not None):
            name = f"keyed.{table}"
            expected = places(log.life(name, key).records())
            with monkeypatch.context() as patched:
                patched.setattr(life_reading, "_MOST", 0)
                patched.setattr(batches, "pieces", one_by_one)
                assert places(log.life(name, key).records()) == expected, key


@pytest.mark.slow
def test_ddl_between() -> None:
    """What happened to the table from the row's first change on."""
    case = golden.case("8.0-row-full", "ddl")
    log = bk.open(case.binlogs[0])
    told = {(s.name, s.key) for s in log.table_schemas() if s.key}
    kinds: set[str] = set()
    for name, key in sorted(told):
        table = written_table_name(*name)
        found = log.life(table, 1) if len(key) == 1 else log.life(table, (1, "2024-01-01"))
        records = list(found.records())
        if not records:
            continue
        assert records[0]["op"] in ("insert", "update", "delete")
        statements = [r for r in records if r["op"] not in ("insert", "update", "delete")]
        kinds.update(r["op"] for r in statements)
        for record in statements:
            assert record["query"] and record["row"] is None and record["after"] is None
        assert [r["pos"] for r in records] == sorted(r["pos"] for r in records)
    assert {"alter", "truncate", "drop", "rename"} <= kinds


def test_a_renamed_table_is_the_same_in_a_reading_of_its_own() -> None:
    """What was read under the earlier name only later contradicts nothing."""
    log = bk.open(golden.case("8.0-row-full", "ddl").binlogs[0])
    renamed = next(
        b
        for b in log.boundaries().to_dict("records")
        if (b["db"], b["action"]) == ("evolve2", "rename")
    )
    name = written_table_name(renamed["new_db"], renamed["new_table"])
    life, state = log.life(name, 1), log.state(name)
    assert life.determined and state.determined, state.findings.to_pylist()
    assert {r["db"] for r in life.records()} == {"evolve", "evolve2"}


@pytest.mark.sampled(0, 4)
@pytest.mark.parametrize("cell", ["8.0-row-full", "5.7-row-minimal", "8.0-row-compressed"])
@pytest.mark.parametrize("scenario", ["ddl", "keys", "transactions"])
def test_a_life_ends_where_the_state_is(cell: str, scenario: str) -> None:
    """The last change of a row that is there left it as the state has it."""
    if (cell, scenario) not in {(c.cell, c.scenario) for c in golden.cases()}:
        cell = "8.0-row-full"
    log = bk.open([str(path) for path in golden.case(cell, scenario).binlogs])
    compared = 0
    for state in log.states():
        for record in list(state.records())[:2] if state.key else ():
            values: Any = record["values"]
            key = [values.get(name) for name in state.key]
            if None in key:
                continue
            life = log.life(written_table_name(*state.table), key)
            events = list(life.records())
            below = "cascades" in life.findings["finding"].to_pylist()  # foreign keys', not logged
            assert not (below and life.determined)
            if below or "alter" in {event["op"] for event in events}:
                continue
            mine = [
                image for event in events if event["row"] is not None
                for image in (event["before"], event["after"])
                if image is not None and [image.get(name) for name in state.key] == key
            ]  # fmt: skip
            assert {n: v for n, v in mine[-1].items() if n in values} == {
                n: v for n, v in values.items() if n in mine[-1]
            }
            compared += 1
    assert compared > 2
