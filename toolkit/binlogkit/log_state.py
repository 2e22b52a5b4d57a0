"""A table of a log as of a point: which changes, columns and key the analysis is given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from binlogkit.errors import UsageError
from binlogkit.events.gtid_set import GtidSet
from binlogkit.rows.filters import parse_table_name, parse_time
from binlogkit.rows.ledger import Boundary, boundaries_of
from binlogkit.rows.schema import TableSchema

if TYPE_CHECKING:
    import pyarrow as pa

    from binlogkit.analyses.point_in_time import State
    from binlogkit.log import Log

__all__ = ["TableState", "table_state"]


@dataclass(frozen=True, slots=True)
class TableState:
    """A table's rows as of a point.

    ``rows``, ``findings``: as analyses.point_in_time says; ``columns``, ``key``: the table's there;
    ``determined``: whether the log determines the rows, cells in ``unknown`` aside.
    """

    table: tuple[str, str]
    rows: pa.Table
    findings: pa.Table
    columns: tuple[str, ...] | None
    key: tuple[str, ...]
    determined: bool

    @property
    def unknown_cells(self) -> int:
        """How many cells the log does not determine."""
        return sum(len(names) for names in self.rows.column("unknown").to_pylist())

    def records(self) -> Iterator[dict[str, object]]:
        """One dict per row, as ``state --format jsonl``."""
        from binlogkit.frames.records import struct_records

        for batch in self.rows.to_batches():
            values = struct_records(
                batch.column("values"), batch.column("value_state"), batch.column("raw"), 1
            )
            unknown = batch.column("unknown").to_pylist()
            for value, names in zip(values, unknown, strict=True):
                yield {"values": value or {}, "unknown": names}

    def frame(self) -> Any:
        """The rows as pandas, one column per column of the table; unknown cells are missing."""
        from binlogkit.frames.tables import to_engine

        return to_engine(
            self.rows.select(["values"]).flatten().rename_columns(self._names()), "pandas"
        )

    def _names(self) -> list[str]:
        return [field.name for field in self.rows.schema.field("values").type]


def table_state(
    log: Log,
    table: str,
    *,
    at: str | tuple[str, int] | None = None,
    until_gtid: str | GtidSet | None = None,
    until_time: Any = None,
    timezone: str | None = None,
    transactional: bool | None = None,
    key: Sequence[str] | None = None,
) -> TableState:
    """See :meth:`binlogkit.log.Log.state`."""
    from binlogkit.analyses.point_in_time import replay

    if sum(x is not None for x in (at, until_gtid, until_time)) > 1:
        raise UsageError("give one of at, until_gtid and until_time")
    name = _full_name(log, table)
    transactions = log.transactions(engine="pyarrow")
    until = _until(log, at, until_gtid, until_time, timezone)
    history = _history(log, name)
    layout = history.layout(_ended(transactions, until, name))
    chosen = tuple(key) if key is not None else layout.key
    state: State = replay(
        (b.batch for b in log.batches() if b.table in history.names),
        history.boundaries(log),
        key=chosen,
        transactions=transactions,
        table=name,
        until=until,
        columns=layout.columns,
        transactional=transactional,
    )
    return TableState(name, state.rows, state.findings, layout.columns, chosen, state.determined)


def _full_name(log: Log, table: str) -> tuple[str, str]:
    wanted = parse_table_name(table)
    if wanted.db is not None:
        return (wanted.db, wanted.table)
    found = [n for n in log.table_pairs() if n[1] == wanted.table]
    if len(found) != 1:
        listed = ", ".join(".".join(n) for n in found) or "no table of this name"
        raise UsageError(f"{table}: name the database ({listed})")
    return found[0]


def _until(
    log: Log,
    at: str | tuple[str, int] | None,
    until_gtid: str | GtidSet | None,
    until_time: Any,
    timezone: str | None,
) -> Any:
    from binlogkit.analyses.point_in_time import AtPosition, AtTime, UpToGtids

    if at is not None:
        file, pos = _position(at)
        return AtPosition(_file(log, file), pos)
    if until_gtid is not None:
        return UpToGtids(
            str(GtidSet.parse(until_gtid) if isinstance(until_gtid, str) else until_gtid)
        )
    if until_time is not None:
        return AtTime(parse_time(until_time, timezone))
    return None


def _position(at: str | tuple[str, int]) -> tuple[str, int]:
    if isinstance(at, tuple):
        return at
    file, colon, pos = at.rpartition(":")
    if not colon or not pos.isdigit() or not file:
        raise UsageError(f"not a position: {at!r} (write FILE:POS)")
    return file, int(pos)


def _file(log: Log, file: str) -> str:
    """The log's own name of a file that may be given without its folder."""
    if file in log.files:
        return file
    found = [f for f in log.files if f.replace("\\", "/").rsplit("/", 1)[-1] == file]
    if len(found) != 1:
        raise UsageError(f"{file} is not one of the logs read ({', '.join(log.files)})")
    return found[0]


@dataclass(frozen=True, slots=True)
class _Layout:
    """A table's columns (None: all that were seen) and key from some point of the log on."""

    seq: int
    tx: int | None
    columns: tuple[str, ...] | None
    key: tuple[str, ...]


@dataclass(slots=True)
class _History:
    """What one walk tells of a table: boundaries, names it had before, layouts in log order."""

    names: set[tuple[str | None, str | None]]
    found: list[Boundary]
    layouts: list[_Layout]

    def layout(self, counted: frozenset[int]) -> _Layout:
        """The last layout of a transaction that counts."""
        last = _Layout(-1, None, None, ())
        for layout in self.layouts:
            if layout.tx is None or layout.tx in counted:
                last = layout
        return last

    def boundaries(self, log: Log) -> pa.Table:
        """The boundaries as a frame."""
        from binlogkit.frames.ledgers import BOUNDARY_KEYS, plain_record, to_table

        source = log.options.source
        records = (plain_record(b, BOUNDARY_KEYS, source) for b in self.found)
        return to_table(records, BOUNDARY_KEYS)


def _history(log: Log, name: tuple[str, str]) -> _History:
    found: list[Boundary] = []
    layouts: list[_Layout] = []
    latest: TableSchema | None = None
    for step in log.steps():
        for boundary in boundaries_of(step):
            found.append(boundary)
            if boundary.columns is not None and _name_after(boundary) == name:
                layouts.append(
                    _Layout(boundary.seq, boundary.tx, boundary.columns, boundary.key or ())
                )
                latest = None
        schema = step.schema
        if schema is not None and schema.name == name and schema is not latest:
            latest = schema
            number = step.transaction.number if step.transaction else None
            layouts.append(
                _Layout(step.seq, number, tuple(c.name for c in schema.columns), schema.key)
            )
    names: set[tuple[str | None, str | None]] = {name}
    for boundary in reversed(found):
        if boundary.action == "rename" and _name_after(boundary) in names:
            names.add((boundary.db, boundary.table))
    return _History(names, found, layouts)


def _name_after(boundary: Boundary) -> tuple[str | None, str | None]:
    if boundary.action == "rename":
        return (boundary.new_db or boundary.db, boundary.new_table)
    return (boundary.db, boundary.table)


def _ended(transactions: pa.Table, until: Any, name: tuple[str, str]) -> frozenset[int]:
    """The numbers of the transactions that have ended by then."""
    from binlogkit.analyses.point_in_time.findings import Findings
    from binlogkit.analyses.point_in_time.until import ended

    found = ended(
        transactions, until, tables=(".".join(name),), transactional=None, findings=Findings()
    )
    return frozenset(found.collect().get_column("tx").to_list())
