"""What the events of rows tell, spread over the rows: every column against the runs themselves."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from binlogkit._kernel.cells import CellSpec
from binlogkit._kernel.columns import TablePlan
from binlogkit._kernel.native.index import TRANSACTION
from binlogkit._kernel.native.runs import FACT_NAMES, OP, RUN, Runs, gtid_texts
from binlogkit._kernel.native.values import Block
from binlogkit.constants import ColumnType as T
from binlogkit.frames.arrays import buffer
from tests._kernel.native.row_passes import rows_event, rows_pass

HAS_GTID = 1
CODES = {30: 0, 31: 1, 32: 2}


def runs_of(events: list[tuple[int, int, int]]) -> Runs:
    """Runs of events (type code, rows, transaction) of a table of one TINYINT."""
    builder = TablePlan([CellSpec(T.TINY)], ["a"]).builder()
    for number, (code, rows, tx) in enumerate(events):
        images = 2 if code == 31 else 1
        body = bytes(6) + b"\1\0\2\0\1" + b"\1" * images + b"\0\7" * (images * rows)
        raw = replace(rows_event(body, code, number * 10), inner=number if tx % 2 else None)
        found = rows_pass(raw, tx)
        assert found is not None and found.run([builder]) is None
    runs: Runs = builder.take()[1]
    return runs


def numbers(block: Block, kind: Any) -> list[int]:
    values: list[int] = np.frombuffer(buffer(block), kind).tolist()
    return values


def bits(found: tuple[int, Block | None], rows: int) -> list[bool]:
    nulls, block = found
    if block is None:
        assert not nulls
        return [True] * rows
    there = np.unpackbits(np.frombuffer(buffer(block), np.uint8), bitorder="little")[:rows]
    assert rows - there.sum() == nulls
    return [bool(bit) for bit in there]


EVENTS = st.lists(
    st.tuples(st.sampled_from(sorted(CODES)), st.integers(1, 20), st.booleans()), max_size=12
)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(EVENTS, st.data())
def test_every_row_has_what_its_run_tells(
    events: list[tuple[int, int, bool]], data: st.DataObject
) -> None:
    tx, known = 0, []
    for i, (code, count, goes_on) in enumerate(events):
        tx = tx if goes_on else i
        known.append((code, count, tx))
    runs = runs_of(known)
    rows = sum(count for _, count, _ in known)
    assert (runs.rows, runs.count) == (rows, len(known))
    of_row = [i for i, (_, count, _) in enumerate(known) for _ in range(count)]
    items = np.frombuffer(runs.tobytes(), np.dtype(list(RUN)))
    for which, name in enumerate(FACT_NAMES):
        kind = np.int32 if name in ("inner", "row") else np.int64
        steps = [0] * rows
        if name in ("row", "seq"):
            steps = [row - int(items["first"][i]) for row, i in enumerate(of_row)]
        told = [int(items[name][i]) + step for i, step in zip(of_row, steps, strict=True)]
        assert numbers(runs.fact(which), kind) == told
        assert bits(runs.missing(which), rows) == [value >= 0 for value in told]
    assert numbers(runs.fact(OP), np.int32) == [CODES[known[i][0]] for i in of_row]
    for op in CODES.values():
        assert bits(runs.without(op), rows) == [CODES[known[i][0]] != op for i in of_row]
    distinct = sorted({number for _, _, number in known})
    assert np.frombuffer(runs.numbers(), np.int64).tolist() == distinct
    assert runs.transactions == len(distinct)
    assert (runs.first_tx, runs.last_tx) == ((distinct[0], distinct[-1]) if distinct else (-1, -1))
    values = data.draw(st.lists(st.integers(0, 9), min_size=rows, max_size=rows))[: len(distinct)]
    places = [distinct.index(known[i][2]) for i in of_row]
    expected = [values[place] for place in places]
    for kind in (np.int32, np.int64):
        spread = runs.spread(np.array(values, kind).data, kind(0).itemsize)
        assert numbers(spread, kind) == expected
    flags = bytes(value % 2 for value in values)
    assert bits(runs.valid(flags), rows) == [flags[p] == 1 for p in places]


def test_values_that_are_too_few_are_refused() -> None:
    runs = runs_of([(30, 3, 1), (30, 2, 2)])
    with pytest.raises(ValueError):
        runs.spread(bytes(15), 8)
    with pytest.raises(ValueError):
        runs.spread(bytes(16), 2)
    with pytest.raises(ValueError):
        runs.valid(b"\1")
    for method in (runs.fact, runs.missing):
        with pytest.raises(IndexError):
            method(OP + 1)


@given(
    st.lists(
        st.tuples(st.binary(min_size=16, max_size=16), st.integers(-(1 << 63), (1 << 63) - 1))
        | st.none()
    )
)
def test_gtids_as_uuid_and_number(gtids: list[tuple[bytes, int] | None]) -> None:
    records = np.zeros(len(gtids), np.dtype(list(TRANSACTION)))
    for i, gtid in enumerate(gtids):
        if gtid is not None:
            records["has"][i] = HAS_GTID | 8
            records["sid"][i], records["gno"][i] = gtid
    offsets, characters = gtid_texts(records.tobytes(), HAS_GTID)
    ends = numbers(offsets, np.int32)
    text = bytes(buffer(characters)).decode()
    assert [text[a:b] for a, b in pairwise(ends)] == [
        "" if gtid is None else f"{UUID(bytes=gtid[0])}:{gtid[1]}" for gtid in gtids
    ]
