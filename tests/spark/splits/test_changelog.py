"""The changelog: its rows from those of a Log, its order from the transactions' frame, and what is
left when all of it is played."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import binlogkit as bk
from binlogkit.errors import InputError, UsageError
from binlogkit.frames.arrow_types import carried_schema
from binlogkit.frames.fields.rows import CHANGELOG
from binlogkit.frames.flat_cells import STATES, own_name
from binlogkit.frames.schema import CellState
from binlogkit.spark.splits.changelog import changelog_schema
from binlogkit.spark.splits.commits import POSITION_BITS, file_number
from binlogkit.spark.splits.decode import check_schema, decode, scan_schema
from binlogkit_fixtures import golden
from tests.fuzz.binlogkit_fuzz.framing import Part, join, places, split
from tests.spark.splits.test_splits import carried, plan_of, read

OURS = [field.name for field in CHANGELOG]
TRANSACTIONS = golden.case("8.0-row-full", "transactions")
CASES = [
    golden.case(cell, scenario)
    for cell, scenario in (
        ("5.6-row-full", "keys"),
        ("5.6-row-full", "transactions"),
        ("5.7-mixed-full", "statements"),
        ("5.7-row-full", "incident"),
        ("5.7-row-minimal", "keys"),
        ("5.7-row-no-gtid", "transactions"),
        ("8.0-row-compressed", "transactions"),
        ("8.0-row-full", "keys"),
        ("8.0-row-full", "transactions"),
        ("8.0-row-full", "types"),
        ("8.0-row-minimal", "types"),
        ("8.0-row-partial-json", "json"),
        ("9-row-full", "transactions"),
    )
]
#: Of FULL images: what a log of row changes cannot tell of these tables.
NOT_TOLD = {
    "keyed.child": "rows taken by a cascade",
    "stmts.keeps_nothing": "the engine is BLACKHOLE",
    "stmts.loaded": "TRUNCATE",
    "stmts.switched": "partly logged as statements",
    "stmts.untraced": "partly logged as statements",
}


def changelog_of(source: Any, table: str, size: int = 4000, **given: str) -> list[dict[str, Any]]:
    """The changelog of a table in its own order; the log is read in splits of this size."""
    rows = read(plan_of(source, size, records="changelog", table=table, **given)).to_pylist()
    assert len({row["_sequence"] for row in rows}) == len(rows)
    return sorted(rows, key=lambda row: row["_sequence"])


def ident(case: golden.GoldenCase) -> str:
    return f"{case.path.parent.name}/{case.path.name}"


# ---- against the Log, row by row ----------------------------------------------------------------


def expected_of(log: bk.Log, table: str) -> list[dict[str, Any]]:
    """The changelog, made of a Log's changes and transactions, one after the other."""
    plan = plan_of(list(log.files), 1, table=table)
    assert plan.changes is not None
    schema = carried_schema(plan.changes)
    image = list(schema.field("before").type)
    rows = carried(log, table, schema).to_pylist()
    transactions = {t["tx"]: t for t in log.transaction_records()}
    by_place = {(t["file"], t["pos"]): t for t in transactions.values()}
    key = bk_key(log, table)
    found: list[tuple[tuple[int, int, bool], dict[str, Any]]] = []
    for row in rows:
        own = transactions[row["tx"]]
        if own["outcome"] != "committed":
            continue
        place = own["resolved_file"] or own["file"], own["resolved_pos"] or own["pos"]
        decider = by_place[place]
        version = (file_number(place[0]) << POSITION_BITS) + place[1]
        moment = decider["commit_timestamp"] or decider["timestamp"] * 1_000_000
        moved = row["op"] == "update" and any(
            state_of(row, "after", name, image) != CellState.NOT_IN_IMAGE
            and row["before"][name] != row["after"][name]
            for name in key
        )
        for word, one in (
            *([("update_preimage", "before")] if row["op"] == "update" else ()),
            *([("delete", "before")] if row["op"] == "delete" else ()),
            *([("insert", "after")] if row["op"] == "insert" else ()),
            *([("update_postimage", "after")] if row["op"] == "update" else ()),
        ):
            kind = {"update_preimage": "delete", "update_postimage": "insert"}.get(word, word)
            made = {
                "_change_type": kind if moved else word,
                "_commit_version": version,
                "_commit_timestamp": moment,
                **{n: row[n[1:]] for n in OURS if n[1:] in row and n != "_commit_timestamp"},
                "_cells": cells_of(row, one, [f.name for f in image]),
                **row[one],
            }
            order = version, row["seq"], word == "update_postimage"
            found.append(
                (order, {name: made[name] for name in (*OURS, *row[one]) if name != "_sequence"})
            )
    return [made for _, made in sorted(found, key=lambda pair: pair[0])]


def bk_key(log: bk.Log, table: str) -> list[str]:
    """The columns of the table's key."""
    rows = [r for r in log.tables().to_dict("records") if f"{r['db']}.{r['table']}" == table]
    return [row["column"] for row in rows if row["key"] == row["key"] and row["key"]]


def state_of(row: dict[str, Any], image: str, name: str, fields: list[pa.Field]) -> int:
    states = row[f"{image}_state"]
    return 0 if states is None else states[[f.name for f in fields].index(name)]


def cells_of(row: dict[str, Any], image: str, names: list[str]) -> list[dict[str, Any]] | None:
    raw = {
        cell["column"]: cell
        for cell in row["raw"] or ()
        if ("before", "after")[cell["image"]] == image
    }
    found = [
        {
            "column": names[i],
            "state": STATES[CellState(state)],
            "bytes": raw[i]["bytes"] if i in raw else None,
            "text": raw[i]["text"] if i in raw else None,
        }
        for i, state in enumerate(row[f"{image}_state"] or ())
        if state > CellState.NULL
    ]
    return found or None


@pytest.mark.sampled(0, 5)
@pytest.mark.parametrize("case", CASES, ids=ident)
def test_each_row_is_that_of_the_log(case: golden.GoldenCase) -> None:
    log = bk.open(case.path)
    for table in log.table_names():
        found = changelog_of(case.path, table)
        for row in found:
            row.pop("_sequence")
            row["_commit_timestamp"] = int(row["_commit_timestamp"].timestamp() * 1e6 + 0.5)
        assert [str(row) for row in found] == [str(row) for row in expected_of(log, table)], table


# ---- played -------------------------------------------------------------------------------------


@pytest.mark.sampled(0, 4)
@pytest.mark.parametrize("case", [c for c in CASES if "full" in ident(c)], ids=ident)
def test_all_changes_played_leave_as_many_rows_as_the_state(case: golden.GoldenCase) -> None:
    log = bk.open(case.path)
    for table in log.table_names():
        held: Counter[str] = Counter()
        for row in changelog_of(case.path, table):
            text = str([row["_cells"], *(row[name] for name in row if name not in OURS)])
            held[text] += 1 if row["_change_type"] in ("insert", "update_postimage") else -1
        state = log.state(table)
        if table in NOT_TOLD or "mixed" in ident(case):
            continue
        assert min(held.values()) >= 0, table
        assert state.determined and sum(held.values()) == len(state.frame()), table


def test_an_xa_transaction_stands_where_it_was_committed() -> None:
    log = bk.open(TRANSACTIONS.path)
    decided = [t for t in log.transaction_records() if t["resolved_pos"] and t["rows"]]
    assert {t["outcome"] for t in decided} == {"committed", "rolled_back"}
    for one in decided:
        rows = [
            row
            for table in one["tables"]
            for row in changelog_of(TRANSACTIONS.path, table)
            if row["_gtid"] == one["gtid"]
        ]
        assert bool(rows) is (one["outcome"] == "committed")
        versions = {row["_commit_version"] & ((1 << POSITION_BITS) - 1) for row in rows}
        assert versions <= {one["resolved_pos"]}


def test_an_xa_transaction_that_a_later_log_commits(tmp_path: Path) -> None:
    """Prepared in the first file and committed in the second, it has the second's number."""
    log = bk.open(TRANSACTIONS.path)
    found = [
        t for t in log.transaction_records()
        if t["resolved_file"] not in (None, t["file"]) and t["outcome"] == "committed"
    ]  # fmt: skip
    assert found
    for one in found:
        for table in one["tables"]:
            rows = [r for r in changelog_of(TRANSACTIONS.path, table) if r["_gtid"] == one["gtid"]]
            assert rows and {r["_commit_version"] >> POSITION_BITS for r in rows} == {
                file_number(one["resolved_file"])
            }
            # The first file alone does not tell that it was committed.
            first = changelog_of(TRANSACTIONS.binlogs[0], table)
            assert one["gtid"] not in {row["_gtid"] for row in first}


# ---- what is asked for --------------------------------------------------------------------------


def test_some_columns() -> None:
    """A change of the key is one though the key's columns are not asked for."""
    keys = golden.case("8.0-row-full", "keys")
    plan = plan_of(keys.path, 1, records="changelog", table="keyed.pk")
    whole = scan_schema(plan)
    other = next(n for n in whole.names if n not in OURS and n not in plan.scan.keys)
    schema = pa.schema([whole.field(n) for n in ("_change_type", "_sequence", other)])
    check_schema(plan, schema)
    found = [
        row for s in plan.splits for b in decode(plan.scan, s, schema) for row in b.to_pylist()
    ]
    assert found == read(plan).select(schema.names).to_pylist()
    with pytest.raises(UsageError, match="there is no column nothing"):
        check_schema(plan, pa.schema([("nothing", pa.int64())]))


def test_it_is_one_tables() -> None:
    with pytest.raises(UsageError, match="a changelog is that of one table"):
        plan_of(TRANSACTIONS.path, records="changelog")
    assert plan_of(TRANSACTIONS.path, what="changelog", table="bank.account").splits


def test_a_column_that_is_called_as_one_of_ours() -> None:
    own = ["_Pos", "_day", "@005fday", "_position", "@1"]
    flat = changelog_schema([pa.field(name, pa.int64()) for name in own]).names[-len(own) :]
    assert flat == ["@005fPos", "@005fday", "@0040005fday", "_position", "@1"]
    assert list(map(own_name, flat)) == own


def test_a_number_that_is_too_large_to_order_by() -> None:
    assert file_number("/data/binlog.8388607") == (1 << 23) - 1
    assert file_number("/data/whatever") == 0
    with pytest.raises(InputError, match="up to 8388607"):
        file_number("binlog.8388608")


def test_what_a_rollback_to_a_savepoint_took_back(tmp_path: Path) -> None:
    """SAVEPOINT and ROLLBACK TO, put around the second of a transaction's rows events."""
    case = golden.case("8.0-row-no-checksum", "keys")
    records = bk.open(case.binlogs[0]).transaction_records()
    one = next(t for t in records if t["rows"] and t["events"] > 6 and len(t["tables"]) == 1)
    pieces = split(case.binlogs[0].read_bytes())
    begin = next(p for p in pieces.parts if p.code == 2 and p.body.endswith(b"\0BEGIN"))
    starts = places(case.binlogs[0].read_bytes())
    rows = [
        i for i, (at, part) in enumerate(zip(starts, pieces.parts, strict=True))
        if one["pos"] <= at < one["end_pos"] and part.code in (30, 31, 32)
    ]  # fmt: skip

    def said(text: bytes) -> Part:
        return replace(begin, body=begin.body.removesuffix(b"BEGIN") + text)

    second = rows[1]
    parts = [
        *pieces.parts[: second - 1], said(b"SAVEPOINT `a`"), *pieces.parts[second - 1 : second + 1],
        said(b"ROLLBACK TO `a`"), *pieces.parts[second + 1 :],
    ]  # fmt: skip
    path = tmp_path / "binlog.000001"
    path.write_bytes(join(replace(pieces, parts=parts)))
    (table,) = one["tables"]
    before, after = (
        [
            (r["_change_type"], r["_row"])
            for r in changelog_of(log, table)
            if r["_gtid"] == one["gtid"]
        ]
        for log in (case.binlogs[0], path)
    )
    taken = sum(1 for r in bk.open(case.binlogs[0]).row_records() if r["pos"] == starts[second])
    assert taken and len(before) - len(after) in (taken, 2 * taken)
