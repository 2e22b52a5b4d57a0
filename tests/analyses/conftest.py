"""Frames made by hand, in the canonical schema, for each engine."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest

from binlogkit.frames.fields.field import Fields, arrow_schema, names
from binlogkit.frames.fields.ledger import BOUNDARY, STATEMENT, TRANSACTION
from binlogkit.frames.fields.rows import PROVENANCE
from binlogkit.frames.schema import CellState, batch_schema

Convert = Callable[[pa.Table], Any]
Make = Callable[..., Any]


@dataclass(frozen=True)
class OddCell:
    """A cell that has no Arrow value."""

    state: CellState
    data: bytes = b""
    text: str | None = None


@pytest.fixture(params=["pyarrow", "pandas", pytest.param("spark", marks=pytest.mark.spark)])
def convert(request: pytest.FixtureRequest) -> Convert:
    """Turns an Arrow table into a frame of one engine."""
    if request.param == "pyarrow":
        return lambda table: table
    if request.param == "pandas":
        from binlogkit.frames.natural import natural

        known = (*PROVENANCE, *TRANSACTION, *BOUNDARY, *STATEMENT)
        return lambda table: natural(table, known)
    session = request.getfixturevalue("spark")
    from binlogkit.analyses._frames import from_arrow

    like = session.range(1)
    return lambda table: from_arrow(table, like)


@pytest.fixture
def rows_of() -> Callable[[Any], list[dict[str, Any]]]:
    """The rows of any engine's frame as dictionaries, times as they are in Arrow."""
    from binlogkit.analyses._frames import to_arrow
    from binlogkit.analyses.audit.ledger import SUMMARY
    from binlogkit.analyses.audit.rhythm import BURSTS, QUIET

    known = (*TRANSACTION, *BOUNDARY, *STATEMENT, *SUMMARY, *BURSTS, *QUIET)
    return lambda frame: list(to_arrow(frame, known).to_pylist())


def _image(
    cells: Mapping[str, Any] | None, fields: Sequence[pa.Field], image: int
) -> tuple[dict[str, Any] | None, list[int] | None, list[dict[str, Any]]]:
    if cells is None:
        return None, None, []
    values: dict[str, Any] = {}
    states, raw = [], []
    for i, field in enumerate(fields):
        value = cells.get(field.name, OddCell(CellState.NOT_IN_IMAGE))
        if isinstance(value, OddCell):
            values[field.name] = None
            states.append(int(value.state))
            if value.state != CellState.NOT_IN_IMAGE:
                raw.append({"image": image, "column": i, "bytes": value.data, "text": value.text})
            continue
        values[field.name] = value
        states.append(int(CellState.NULL if value is None else CellState.VALUE))
    return values, states if max(states, default=0) > CellState.NULL else None, raw


@pytest.fixture
def make_changes() -> Make:
    """Builds a frame of changes.

    ``rows``: (op, before, after) or (op, before, after, provenance); a column that is missing in an
    image is not in the image. Positions count up by 100, ``seq`` and ``tx`` by one unless given.
    """

    def build(
        fields: Mapping[str, Any] | Sequence[pa.Field],
        rows: Sequence[tuple[Any, ...]],
        *,
        table: tuple[str, str] = ("shop", "orders"),
        key: Sequence[str] = ("id",),
    ) -> pa.Table:
        columns = (
            [pa.field(n, t) for n, t in fields.items()]
            if isinstance(fields, Mapping)
            else list(fields)
        )
        metadata = {
            b"binlogkit:table": json.dumps(list(table)).encode(),
            b"binlogkit:schema_version": b"0",
            b"binlogkit:key": json.dumps(list(key)).encode(),
            b"binlogkit:key_kind": b"primary" if key else b"none",
        }
        schema = batch_schema(columns, metadata)
        records = []
        for i, (op, before, after, *more) in enumerate(rows):
            old, old_state, old_raw = _image(before, columns, 0)
            new, new_state, new_raw = _image(after, columns, 1)
            record = {
                "source": "s1", "file": "binlog.000001", "pos": 100 * i + 4,
                "end_pos": 100 * i + 104, "inner": None, "row": 0, "timestamp": 1700000000 + i,
                "commit_timestamp": None, "server_id": 1, "gtid": None, "thread_id": 7,
                "xid": i, "xa": None, "db": table[0], "table": table[1], "op": op, "query": None,
                "seq": i, "tx": i, "before": old, "after": new, "before_state": old_state,
                "after_state": new_state, "raw": (old_raw + new_raw) or None,
            }  # fmt: skip
            record.update(more[0] if more else {})
            records.append(record)
        return pa.Table.from_pylist(records, schema=schema)

    return build


def _ledger(
    declared: Fields, defaults: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]
) -> pa.Table:
    unknown = {name for row in rows for name in row} - set(names(declared))
    assert not unknown, unknown
    full = [{**defaults, **row} for row in rows]
    return pa.Table.from_pylist(full, schema=arrow_schema(declared))


@pytest.fixture
def make_transactions() -> Make:
    """Builds a ledger of transactions; number n stands at 100 n + 4, as the changes do."""

    def build(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
        placed = [
            {
                "tx": i,
                "pos": 100 * i + 4,
                "end_pos": 100 * i + 104,
                "timestamp": 1700000000 + i,
                "end_timestamp": 1700000000 + i,
                **row,
            }
            for i, row in enumerate(rows)
        ]
        defaults = {
            "source": "s1", "file": "binlog.000001", "end_file": "binlog.000001", "server_id": 1,
            "thread_id": 7, "outcome": "committed", "events": 4, "size": 100, "inserts": 0,
            "updates": 0, "deletes": 0, "rows": 1, "tables": ["shop.orders"], "statements": 0,
            "format": "row", "compressed": False,
        }  # fmt: skip
        return _ledger(TRANSACTION, defaults, placed)

    return build


@pytest.fixture
def make_boundaries() -> Make:
    """Builds a frame of table boundaries."""

    def build(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
        defaults = {
            "source": "s1", "file": "binlog.000001", "pos": 4, "end_pos": 5, "db": "shop",
            "table": "orders", "timestamp": 1700000000, "statement": "",
        }  # fmt: skip
        return _ledger(BOUNDARY, defaults, rows)

    return build


@pytest.fixture
def make_statements() -> Make:
    """Builds a frame of statements."""

    def build(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
        defaults = {
            "source": "s1", "file": "binlog.000001", "pos": 4, "end_pos": 5, "server_id": 1,
            "timestamp": 1700000000, "thread_id": 7, "db": "shop", "exec_time": 0, "error_code": 0,
        }  # fmt: skip
        return _ledger(STATEMENT, defaults, rows)

    return build


@pytest.fixture
def odd_cell() -> type[OddCell]:
    """The class of cells without an Arrow value."""
    return OddCell
