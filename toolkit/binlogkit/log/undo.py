"""Which statements take a part of a log back, or make it again, over all its tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from binlogkit.errors import GapError, UsageError
from binlogkit.log.cascaded import Children
from binlogkit.log.dependents import Dependences
from binlogkit.log.gaps import assumed
from binlogkit.rows.filter_args import FilterArgs
from binlogkit.rows.filters import Filters
from binlogkit.rows.soundness import Gap
from binlogkit.sources.log_format import CASCADES_LOGGED, version_tuple

if TYPE_CHECKING:
    import pyarrow as pa

    from binlogkit.analyses.plans import Plans
    from binlogkit.log.streams import Streams

_SUM = "changes"
_LISTED = 10  # transactions, and connections, that are named


def plans_of(
    log: Streams,
    *,
    backwards: bool,
    despite_gaps: bool = False,
    by_transaction: bool = False,
    **filters: Unpack[FilterArgs],
) -> Plans:
    """See :meth:`binlogkit.log.log.Log.undo`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from binlogkit.analyses.point_in_time import read_boundaries
    from binlogkit.analyses.references import references
    from binlogkit.analyses.undo import plans
    from binlogkit.frames.statements import Boundaries, Statements
    from binlogkit.frames.transactions import Transactions

    wanted, whole = Filters.build(**filters), None
    if by_transaction:
        whole, wanted = _touched(log, wanted), Filters(sources=wanted.sources)
    transactions, statements = Transactions(), Statements(Filters(sources=wanted.sources))
    boundaries, reading = Boundaries(wanted), log.reading()
    later = Boundaries(Filters(sources=wanted.sources))  # also what happened after the changes
    versions = set[str]()
    views = (
        transactions.take,
        statements.take,
        boundaries.take,
        later.take,
        lambda window: versions.add(window.server_version),
    )
    read = (batch.batch for batch in log.read_batches(reading, wanted, views=views))
    changes = [_those(batch, whole) for batch in read]
    sources = {source for c in changes for source in c.column("source").unique().to_pylist()}
    log.one_history(sources, "the changes are")
    happened = _those(boundaries.finish(folded=reading.folded), whole)
    children, events = None, []
    newest = max(map(version_tuple, versions), default=(0, 0, 0))
    if backwards:
        known = log.options.catalog
        definitions = [c.definition for c in later.changes.values() if c.definition is not None]
        definitions += [] if known is None else known.tables()
        cascade = newest < CASCADES_LOGGED
        rows = happened.filter(pc.equal(happened["action"], "truncate")).to_pylist()
        children = Children(
            log, changes, definitions, wanted.sources, cascade=cascade,
            truncated=[row for row in rows if wanted.wants_table(row["db"], row["table"])],
        )  # fmt: skip
        restored = pa.array(sorted(children.restored), pa.int64())
        happened = happened.filter(pc.invert(pc.is_in(happened["seq"], restored)))
        events = read_boundaries(later.finish(folded=reading.folded), later.changes)
    outcomes, texts = transactions.finish(Filters(sources=wanted.sources)), statements.finish()
    found = plans(
        children.changes if children else changes,
        _refused(happened, wanted),
        transactions=outcomes,
        statements=texts,
        boundaries=[
            boundary
            for boundary in events
            if children is None or boundary.seq not in children.restored
        ]
        if backwards
        else None,
        backwards=backwards,
        unknown_children=children.unknown if children else {},
        referring=references(reading.series.definitions(sources)) if backwards else (),
    )
    found.chosen = chosen(changes)
    if children is not None:
        found.dependences = Dependences(
            log, children.changes, children.went, definitions, events, outcomes, texts,
            wanted.sources, struck=cascade,
        )  # fmt: skip
    found.assumes = assumed(log, newest)
    found.gaps = tuple(str(gap) for gap in log.gaps if _concerns(gap, wanted))
    if found.gaps and not despite_gaps:
        raise GapError(found.gaps)
    return found


def _touched(log: Streams, wanted: Filters) -> pa.Array:
    """The numbers of the transactions that wanted changes are of."""
    import pyarrow as pa

    batches = log.read_batches(log.reading(), wanted)
    found = {tx for batch in batches for tx in batch.batch["tx"].unique().to_pylist()}
    if None in found:
        raise UsageError("some of the changes stand in no transaction: by_transaction has none")
    return pa.array(sorted(found), pa.int64())


def _those(changes: Any, whole: pa.Array | None) -> Any:
    """The changes, or boundaries, of some transactions; of all with None."""
    import pyarrow.compute as pc

    return changes if whole is None else changes.filter(pc.is_in(changes["tx"], whole))


def chosen(changes: Sequence[pa.RecordBatch]) -> tuple[str, ...]:
    """Whose changes these are, in sentences: how many transactions and connections they are of,
    and, where they are few, how many changes of which."""
    import pyarrow as pa

    names = ["tx", "gtid", "thread_id"]
    parts = [pa.Table.from_batches([batch.select(names)]) for batch in changes]
    if not sum(part.num_rows for part in parts):
        return ()
    facts = [part.group_by(names).aggregate([([], "count_all")]) for part in parts]
    schema = pa.schema(
        [("tx", "int64"), ("gtid", "string"), ("thread_id", "int64"), (_SUM, "int64")]
    )
    plain = [fact.rename_columns(schema.names).cast(schema) for fact in facts]
    found = pa.concat_tables(plain).group_by(names).aggregate([(_SUM, "sum")])
    rows = found.rename_columns(schema.names).sort_by("tx").to_pylist()
    rows.sort(key=lambda row: row[_SUM], reverse=True)
    threads = {row["thread_id"] for row in rows}
    told = [
        f"{_counted(sum(row[_SUM] for row in rows), 'change')} of "
        f"{_counted(len({row['tx'] for row in rows}), 'transaction')} on "
        f"{_counted(len(threads), 'connection')}"
    ]
    if len(rows) > _LISTED:
        return (*told, f"the connections are the threads {_listed(threads)}")
    for row in rows:
        gtid = f"GTID {row['gtid']}" if row["gtid"] else "a transaction without GTID"
        thread = "a thread not known" if row["thread_id"] is None else f"thread {row['thread_id']}"
        told.append(f"{_counted(row[_SUM], 'change')} of {gtid} on {thread}")
    return tuple(told)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _listed(threads: set[int | None]) -> str:
    known = sorted(thread for thread in threads if thread is not None)
    more = ["\N{HORIZONTAL ELLIPSIS}"] if len(threads) > _LISTED or None in threads else []
    return ", ".join([*map(str, known[:_LISTED]), *more])


def _concerns(gap: Gap, wanted: Filters) -> bool:
    """Whether changes of a wanted table may be missing.

    Where the gap stands does not matter: before the chosen changes it may hold others that were
    meant, or what names the columns; after them, what changed the rows again.
    """
    if gap.tables is None:
        return True
    names = (name.split(".") for name in gap.tables)  # a name may have dots of its own
    return any(
        wanted.wants_table(".".join(parts[:i]), ".".join(parts[i:]))
        for parts in names
        for i in range(1, len(parts))
    )


def _refused(boundaries: pa.Table, wanted: Filters) -> Iterator[dict[str, Any]]:
    """The statements that changed rows without saying which, each with the reason for no plan.

    The tables of one statement have one ``seq``: their order is the statement's, also backwards.
    """
    first: dict[str, Any] = {}
    for boundary in boundaries.select(_KEYS).to_pylist():
        if any(boundary[name] != first.get(name) for name in _EVENT):
            first = dict(boundary)
        reason = _REASONS.get(boundary.pop("action"))
        db, table = boundary["db"], boundary["table"]
        if reason is None or not wanted.wants_table(db or "", table or ""):
            continue
        if (db is None or table is None) and (wanted.tables or wanted.ops):
            continue
        yield {
            **boundary, "db": db or "", "table": table or "", "seq": first["seq"], "row": 0,
            "refused": reason,
        }  # fmt: skip


_EVENT = ("file", "pos", "inner")
_KEYS = ["source", *_EVENT, "gtid", "timestamp", "db", "table", "seq", "action"]
_REASONS = {
    "statement_write": "the change is logged as a statement: which rows it touched is not known",
    "truncate": "TRUNCATE logs no rows: what the table held is not in this event",
    "drop": "DROP TABLE logs no rows: what the table held is not in this event",
    "drop_database": "DROP DATABASE logs no rows: what its tables held is not in this event",
    "unknown": "the statement could not be understood",
}
