"""States folded in shares of keys are those of one replay: rows, findings, order, definition.

The tasks run here, one after the other; Spark's are in tests/spark/test_states.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import binlogkit as bk
from binlogkit.analyses._tasks import Batches, rows
from binlogkit.analyses.point_in_time import AtPosition, compared, replay
from binlogkit.analyses.point_in_time.difference import difference_table
from binlogkit.analyses.point_in_time.differing_rows import differing
from binlogkit.analyses.point_in_time.shared import Shared
from binlogkit.analyses.point_in_time.shares import Connected, hashes
from binlogkit.errors import SchemaError, UsageError
from binlogkit.frames.arrow_types import carried_schema
from binlogkit.rows.schema import TableDefinition
from binlogkit_fixtures import golden

SHARES = 3


@dataclass
class Here:
    """Tasks that run where they are asked for."""

    parts: list[list[pa.RecordBatch]]

    @property
    def shares(self) -> int:
        return SHARES

    def map(self, function: Callable[[Batches], Batches], schema: pa.Schema) -> Here:
        found = [list(function(part)) for part in self.parts]
        assert all(batch.schema == schema for part in found for batch in part)
        return Here(found)

    def kept(self) -> Here:
        return self

    def where(self, column: str, *values: str) -> Here:
        wanted = pa.array(values)
        return Here(
            [
                [b.filter(pa.compute.is_in(b[column], wanted)) for b in part]
                for part in self.parts
            ]
        )  # fmt: skip

    def beside(self, *others: Here) -> Here:
        return Here([part for one in (self, *others) for part in one.parts])

    def together(self, count: int) -> Here:
        batches = [batch for part in self.parts for batch in part]
        if not batches:
            return Here([[] for _ in range(count)])
        whole = pa.Table.from_batches(batches)
        whole = whole.sort_by([("at", "ascending"), ("last", "ascending")])
        own = [whole.filter(pa.compute.equal(whole["share"], i)) for i in range(count)]
        return Here([share.to_batches() for share in own])

    def records(self) -> list[dict[str, Any]]:
        return [one for part in self.parts for one in rows(part)]

    def ordered(self, columns: Sequence[str], by: Sequence[str], _: int) -> pa.Table | None:
        batches = [batch for part in self.parts for batch in part]
        if not batches:
            return None
        return (
            pa.Table.from_batches(batches).sort_by([(b, "ascending") for b in by]).select(columns)
        )


def in_shares(changes: pa.Table, how: dict[str, Any]) -> Any:
    """The state of changes that lie in two tasks."""
    batches = changes.to_batches(max_chunksize=7)
    tasks = Here([batches[1::2], batches[::2]])
    return replay(Shared(tasks, lambda given: given, changes.schema), **how)


def shown(rows: pa.Table | None, definition: TableDefinition | None) -> list[dict[str, Any]]:
    """Rows without the columns that were dropped, which a frame has, and a fold may have seen."""
    found = [] if rows is None else rows.to_pylist()
    there = set() if definition is None else {column.name for column in definition.columns}
    for row in found if there else ():
        names = list(row["values"] or ())
        states = zip(names, row["value_state"] or (), strict=False)
        row["value_state"] = {name: state for name, state in states if name in there and state}
        row["unknown"] = [name for name in row["unknown"] if name in there]
    return found


def same(changes: pa.Table, how: dict[str, Any]) -> bool:
    """Compare; whether the rows were folded apart."""
    try:
        wanted = replay(changes, **how)
    except UsageError as exc:
        with pytest.raises(UsageError, match=str(exc)):
            in_shares(changes, how)
        return False
    found = in_shares(changes, how)
    expected = wanted.rows.cast(carried_schema(wanted.rows.schema)) if len(wanted.rows) else None
    assert shown(found.rows, found.definition) == shown(expected, wanted.definition)
    assert found.findings.to_pylist() == wanted.findings.to_pylist()
    assert (found.determined, found.definition) == (wanted.determined, wanted.definition)
    assert found.folded.result.rows == wanted.rows.num_rows
    return bool(found.folded.divided)


def same_difference(changes: pa.Table, until: int, how: dict[str, Any]) -> None:
    """Between the states after some changes and after all of them, compared here and in tasks."""
    parts = changes.slice(0, until), changes
    try:
        rows = [replay(part, **how).rows for part in parts]
    except UsageError:
        return
    folded = [in_shares(part, how).folded for part in parts]
    tasks = [one if one.result.schema is not None else None for one in folded]
    for altered in (False, True):
        key, wanted = how["key"], _difference(rows, how["key"], altered=altered)
        found = differing(tasks, key, altered=altered) if any(tasks) else rows
        assert _difference(found, key, altered=altered) == wanted


def _difference(rows: Sequence[pa.Table], key: Sequence[str], *, altered: bool) -> list[Any]:
    found = compared(rows[0], rows[1], key, altered=altered)
    return list(difference_table(found, *rows).to_pylist())


@pytest.mark.sampled(0, 2)
@pytest.mark.parametrize("case", golden.cases(), ids=str)
def test_states_of_real_logs(case: golden.GoldenCase) -> None:
    """Of every table, at the end and at every mark, as the log ends and without its beginning."""
    log = bk.open([str(path) for path in case.binlogs])
    ledgers = {
        name: getattr(log, name)(engine="pyarrow")
        for name in ("boundaries", "transactions", "statements")
    }
    marks = case.manifest.marks
    apart, can = 0, 0
    for name in log.table_names():
        try:
            changes = log.changes(name)
        except SchemaError:  # versions that do not unite have no frame
            continue
        keys = [m.tables[name].primary_key for m in marks[::-1] if name in m.tables]
        named = {field.name for field in changes.schema.field("after").type}
        keys = [key for key in keys if named.issuperset(key)]  # relay logs may name no columns
        how = {"key": [*keys, ()][0], "table": tuple(name.split(".", 1))}
        for mark in marks:
            at = next(str(path) for path in case.binlogs if path.name == mark.file)
            same(changes, ledgers | how | {"until": AtPosition(at, mark.pos)})
        apart += same(changes, ledgers | how)
        apart += same(changes.slice(len(changes) // 2), how)
        same_difference(changes, len(changes) // 2, how)
        can += bool(how["key"] and len(changes) > 1)
    assert apart or not can or case.scenario == "ddl"  # whose ALTERs are folded in one


def test_a_large_table_has_more_shares(monkeypatch: pytest.MonkeyPatch, make_changes: Any) -> None:
    monkeypatch.setattr("binlogkit.analyses.point_in_time.shared._SHARE_BYTES", 1000)
    together, counts = Here.together, list[int]()

    def counted(self: Here, count: int) -> Here:
        counts.append(count)
        return together(self, count)

    monkeypatch.setattr(Here, "together", counted)
    rows = [("insert", None, {"id": i, "v": i}) for i in range(90)]
    changes = make_changes({"id": pa.int32(), "v": pa.int64()}, rows)
    assert same(changes, {"key": ["id"], "table": ("shop", "orders")})
    assert max(counts) > SHARES


KEYS = st.integers(0, 5)
CHANGE = st.tuples(st.sampled_from(["insert", "update", "delete"]), KEYS, KEYS, st.integers())


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(CHANGE, max_size=40))
def test_changes_that_contradict_each_other(
    make_changes: Any, changes: list[tuple[str, int, int, int]]
) -> None:
    """Rows that are not there, or twice, and keys that go round."""
    given_rows = [
        (
            op,
            None if op == "insert" else {"id": old, "v": 0},
            None if op == "delete" else {"id": new, "v": v % 9},
        )
        for op, old, new, v in changes
    ]
    table = make_changes({"id": pa.int32(), "v": pa.int64()}, given_rows)
    for key in (["id"], []):
        how = {"key": key, "table": ("shop", "orders")}
        same(table, how)
        same_difference(table, len(table) // 2, how)


@given(st.lists(st.tuples(KEYS, KEYS)), st.lists(KEYS, min_size=1))
def test_keys_that_updates_connect_are_in_one_share(
    pairs: list[tuple[int, int]], keys: list[int]
) -> None:
    one, other, found = (
        hashes([pa.chunked_array([pa.array(part, pa.int64())])])
        for part in ([a for a, _ in pairs], [b for _, b in pairs], keys)
    )
    connected = Connected.by(one, other)
    assert (connected.share(one, 7) == connected.share(other, 7)).all()
    apart = ~np.isin(found, np.concatenate([one, other]))
    alone = Connected.by(one[:0], other[:0])
    assert (connected.share(found, 7) == alone.share(found, 7))[apart].all()


def test_numbers_of_any_width_are_the_same_key() -> None:
    kinds = (pa.int8(), pa.int16(), pa.uint8(), pa.uint32(), pa.int64(), pa.uint64())
    found = [hashes([pa.chunked_array([pa.array([1, 100], kind)])]).tolist() for kind in kinds]
    assert all(one == found[0] for one in found)
