"""A table of a log as of a point: which changes, columns and key the analysis is given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from binlogkit.errors import UsageError
from binlogkit.events.format_description import FormatDescription
from binlogkit.events.gtid_set import GtidSet
from binlogkit.events.rows import RowsEvent
from binlogkit.rows.filters import parse_table_name, parse_time
from binlogkit.rows.ledger import Boundary, boundaries_of
from binlogkit.rows.schema import TableSchema
from binlogkit.sources.log_format import version_tuple

if TYPE_CHECKING:
    import pyarrow as pa

    from binlogkit.analyses.point_in_time import State
    from binlogkit.log import Log

__all__ = ["TableState", "table_state"]

# From here on the SQL layer does foreign keys' cascades, and the child's rows are logged
# (TRAPS.md 12).
CASCADES_LOGGED = (9, 6, 0)
_CASCADE = (
    "A foreign key cascades into the table, and rows of the parent were updated or deleted: what "
    "that did here is not in the log."
)
_BLACKHOLE = "The table's engine is BLACKHOLE, which keeps no rows: these are what was written."
_NOT_TRANSACTIONAL = frozenset({"MYISAM", "MEMORY", "ARCHIVE", "CSV", "MERGE", "MRG_MYISAM"})


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
    counted = _ended(transactions, until, name)
    layout = history.layout(counted)
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
    doubts = history.doubts(layout, counted)
    return TableState(
        name,
        state.rows,
        _with_doubts(state.findings, doubts),
        layout.columns,
        chosen,
        state.determined and not doubts,
    )


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
    """What is known of a table from some point of the log on; ``columns`` None: all seen."""

    seq: int
    tx: int | None
    columns: tuple[str, ...] | None
    key: tuple[str, ...]
    engine: str | None = None
    parents: tuple[str, ...] = ()


@dataclass(slots=True)
class _History:
    """What one walk tells of a table: boundaries, names it had before, layouts in log order."""

    names: set[tuple[str | None, str | None]]
    found: list[Boundary]
    layouts: list[_Layout]
    removals: dict[str, list[tuple[int | None, str, int]]]
    cascades_logged: bool

    def layout(self, counted: frozenset[int]) -> _Layout:
        """The last layout of a transaction that counts."""
        last = _Layout(-1, None, None, ())
        for layout in self.layouts:
            if layout.tx is None or layout.tx in counted:
                last = layout
        return last

    def doubts(self, layout: _Layout, counted: frozenset[int]) -> list[dict[str, Any]]:
        """What the changes of the table itself do not show."""
        doubts = []
        if layout.engine is not None and layout.engine.upper() == "BLACKHOLE":
            doubts.append(_doubt("blackhole", _BLACKHOLE, None))
        if not self.cascades_logged:
            places = [
                (file, pos)
                for parent in layout.parents
                for tx, file, pos in self.removals.get(parent, ())
                if tx is None or tx in counted
            ]
            if places:
                doubts.append(_doubt("cascade", _CASCADE, places[0], len(places)))
        return doubts

    def boundaries(self, log: Log) -> pa.Table:
        """The boundaries as a frame."""
        from binlogkit.frames.ledgers import BOUNDARY_KEYS, plain_record, to_table

        source = log.options.source
        records = (plain_record(b, BOUNDARY_KEYS, source) for b in self.found)
        return to_table(records, BOUNDARY_KEYS)


def _history(log: Log, name: tuple[str, str]) -> _History:
    found: list[Boundary] = []
    layouts: list[_Layout] = []
    removals: dict[str, list[tuple[int | None, str, int]]] = {}
    latest: TableSchema | None = None
    engine: str | None = None
    version = (0, 0, 0)
    for step in log.steps():
        body, raw = step.event.body, step.event.raw
        number = step.transaction.number if step.transaction else None
        if isinstance(body, FormatDescription):
            version = max(version, version_tuple(body.server_version))
        for boundary, change in zip(boundaries_of(step), step.changes, strict=True):
            found.append(boundary)
            definition = change.definition
            if definition is not None and _name_after(boundary) == name:
                engine = definition.engine
                layouts.append(
                    _Layout(
                        boundary.seq,
                        number,
                        boundary.columns,
                        boundary.key or (),
                        engine,
                        definition.cascades,
                    )
                )
                latest = None
        schema = step.schema
        if schema is None:
            continue
        if isinstance(body, RowsEvent) and body.op != "insert":
            removals.setdefault(".".join(schema.name), []).append((number, raw.file, raw.pos))
        if schema.name == name and schema is not latest:
            latest = schema
            columns = tuple(c.name for c in schema.columns)
            layouts.append(_Layout(step.seq, number, columns, schema.key, engine, schema.cascades))
    names: set[tuple[str | None, str | None]] = {name}
    for boundary in reversed(found):
        if boundary.action == "rename" and _name_after(boundary) in names:
            names.add((boundary.db, boundary.table))
    return _History(names, found, layouts, removals, version >= CASCADES_LOGGED)


def _doubt(
    kind: str, meaning: str, place: tuple[str, int] | None, count: int = 1
) -> dict[str, Any]:
    file, pos = place if place is not None else (None, None)
    return {
        "finding": kind, "determined": False, "meaning": meaning, "count": count, "file": file,
        "pos": pos,
    }  # fmt: skip


def _with_doubts(findings: pa.Table, doubts: list[dict[str, Any]]) -> pa.Table:
    import pyarrow as pa

    if not doubts:
        return findings
    return pa.concat_tables([findings, pa.Table.from_pylist(doubts, schema=findings.schema)])


def _transactional(engine: str | None) -> bool | None:
    """Whether an engine rolls back; None for one that is not known."""
    if engine is None:
        return None
    return {"INNODB": True, "NDBCLUSTER": True}.get(
        engine.upper(), False if engine.upper() in _NOT_TRANSACTIONAL else None
    )


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
