"""Logs -> splits: what each worker needs to read its part as if it had read everything before it.

Spark is not in here: landing, the batch source and a stream share it. The plan is made once, where
the query is planned, from what each log says by itself (``log/index``); it is plain data. A task
gets its split, with what is known of the tables that its log touches, and the scan, which does not
grow with the logs. A large file whose row changes are wanted is cut at starts of transactions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress, zip_longest
from typing import TYPE_CHECKING

from binlogkit.events.gtid_set import GtidSet
from binlogkit.frames.layouts import empty_batch
from binlogkit.frames.tables import united
from binlogkit.log import open_log
from binlogkit.log.index import Index, Joined, Known, Part, parts_of
from binlogkit.log.index.part import SEGMENT
from binlogkit.log.index.selecting import LEDGER, selected
from binlogkit.rows.options import ReadOptions, Start
from binlogkit.rows.prepared import Decision
from binlogkit.rows.reading import Reading
from binlogkit.rows.schema import TableSchema
from binlogkit.rows.soundness import Gap
from binlogkit.sources.carriers import Carrier, resolve
from binlogkit.sources.carriers.carrier import up_to
from binlogkit.spark.options import READING, ScanOptions
from binlogkit.spark.splits.commits import Deciding
from binlogkit.spark.splits.outcomes import PartOutcomes

if TYPE_CHECKING:
    import pyarrow as pa

    from binlogkit.log.log import Log
    from binlogkit.rows.ddl import Catalog


@dataclass(frozen=True, slots=True)
class Split:
    """One file, a part of it, or relay logs that share transactions, and its place among all logs.

    ``first``, ``last``: whether the first or last split of all files is in it; ``events``,
    ``transactions``: how many come before; ``known``: what is known at its start of the tables that
    it touches, None for nothing; ``start``: logical offset of its first transaction, 0 for the
    file's beginning; ``stop``: of its end, or the file's end at planning, None for its end at
    reading; ``locations``: what opens each file; ``source``: the name of its server's logs, None if
    only the log names it; ``seen``: those of its GTIDs whose transactions were read before;
    ``decisions``: the outcomes, in other files, of transactions that it prepared, by number;
    ``gaps``: all gaps, for the first split if they are wanted; ``deciding``: the outcomes of its
    transactions, for a changelog only.
    """

    files: tuple[str, ...]
    first: bool
    last: bool
    events: int = 0
    transactions: int = 0
    known: Known | None = None
    start: int = 0
    stop: int | None = None
    locations: tuple[str, ...] = field(default=(), repr=False)
    source: str | None = None
    seen: GtidSet | None = None
    decisions: Mapping[int, Decision] = field(default_factory=dict)
    gaps: tuple[Gap, ...] = ()
    deciding: Deciding | None = None


@dataclass(frozen=True, slots=True)
class Scan:
    """What every split of a scan shares: it goes to each task, and does not grow with the logs.

    ``asked``: the user's options, without the logs' paths; ``options``: how the logs are read;
    ``files``: the first and the last of them; ``columns``: the names of the table's columns over
    all versions; ``keys``: of those that were in its key.
    """

    asked: ScanOptions
    options: ReadOptions = field(default_factory=ReadOptions)
    files: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    keys: frozenset[str] = frozenset()

    def reading(self, split: Split) -> Reading:
        """A reading of one split that starts with what is known there."""
        known = split.known
        carriers = resolve(list(split.locations), self.asked.keys)
        if split.stop is not None:
            carriers = [up_to(carrier, split.stop) for carrier in carriers]
        # Spark gives a task one core.
        source = self.options.source or split.source
        options = replace(self.options, threads=1, source=source)
        start = Start(
            split.events, split.transactions, split.start,
            None if known is None else known.catalog,
            frozenset() if known is None else known.tracked, split.first, split.last, split.seen,
        )  # fmt: skip
        reading = Reading(carriers, options, start=start)
        reading.sources = self.asked.wanted().sources
        return reading


@dataclass(frozen=True, slots=True)
class Plan:
    """A scan and its splits.

    ``changes``: the canonical batch schema of the scan's table, its versions united by name; None
    without a table, if the log has no change of it, or if it was not requested; ``gaps``: where
    changes may be missing.
    """

    scan: Scan
    splits: tuple[Split, ...] = ()
    changes: pa.Schema | None = None
    gaps: tuple[Gap, ...] = ()


def make_plan(asked: ScanOptions, *, unite: bool = True, catalog: Catalog | None = None) -> Plan:
    """The splits of a scan; with a table its columns are found as well.

    ``unite``: whether one schema for all versions of the table is wanted; ``catalog``: a base's
    table definitions. Damage and unreadable files are reported when the split is read. Errors:
    InputError, EmptyInputError (nothing is there), SchemaError (versions of the table that do not
    unite), ServerError, UsageError.
    """
    log = open_log(list(asked.paths), **{name: getattr(asked, name) for name in READING})
    with log.knowing(catalog):
        return _planned(asked, log, unite=unite)


def _planned(asked: ScanOptions, log: Log, *, unite: bool) -> Plan:
    wanted, size = asked.wanted(), asked.split_bytes
    decided = asked.kind == "changelog"
    if asked.index is None:
        found = parts_of(
            log.carriers, log.options, segment=min(size, SEGMENT), counting=decided
        )  # fmt: skip
    else:
        ledger = LEDGER if asked.of_rows or decided else ()
        found = Index(asked.index).parts(log.carriers, log.options, ledger, wanted)
    parts = list(found)
    joined = Joined(parts, log.options, sources=wanted.sources, size=size, cuts=asked.of_rows)
    splits, gaps = _splits(log.carriers, parts, joined), tuple(joined.gaps)
    if decided:
        splits = _decided(splits, parts, joined)
    if asked.of_rows:
        chosen = selected(joined.positions, parts, wanted, joined.schemas)
        # Spark reads a partition of no split where there is none.
        splits = tuple(compress(splits, chosen)) or splits[:1]
    if asked.kind == "gaps":
        splits = (replace(splits[0], gaps=gaps), *splits[1:])
    versions = [
        schema
        for name, schemas in (joined.schemas.items() if asked.typed else ())
        if wanted.wants_table(*name)
        for schema in schemas
    ]
    changes = _united(versions, str(asked.table)) if versions and unite else None
    columns = tuple(dict.fromkeys(column.name for schema in versions for column in schema.columns))
    # Table definitions and locations of logs go with each split.
    options, files = replace(log.options, catalog=None), (log.files[0], log.files[-1])
    keys = frozenset(name for schema in versions for name in schema.key)
    scan = Scan(replace(asked, paths=()), options, files, columns, keys)
    return Plan(scan, splits, changes, gaps)


def _splits(
    carriers: Sequence[Carrier], parts: Sequence[Part], joined: Joined
) -> tuple[Split, ...]:
    """The splits of all logs; each ends where the next one of its log begins."""
    found: list[Split] = []
    of = {carrier.name: carrier.location or carrier.name for carrier in carriers}
    for position, following in zip_longest(joined.positions, joined.positions[1:]):
        i, segment = position.part, position.segment
        part = parts[i]
        ends = following is None or following.part != i
        first = position.transactions - segment.transactions
        numbers = range(first, first + part.transactions)
        decisions = {n: how for n, how in joined.decisions.items() if n in numbers}
        split = Split(
            part.names, i == 0, i == len(parts) - 1, position.events, position.transactions,
            position.known, segment.pos, part.stop if ends else following.segment.pos,
            tuple(of[name] for name in part.names), position.source, position.seen, decisions,
        )  # fmt: skip
        found.append(split)
    return tuple(found)


def _decided(splits: Sequence[Split], parts: Sequence[Part], joined: Joined) -> tuple[Split, ...]:
    """The splits of all logs with the outcomes of their transactions."""
    outcomes, found = PartOutcomes(parts, joined), list[Split]()
    for split, position, following in zip_longest(splits, joined.positions, joined.positions[1:]):
        first = position.transactions - position.segment.transactions
        ends = following is None or following.part != position.part
        end = first + parts[position.part].transactions if ends else following.transactions
        numbers = range(position.transactions, end)
        found.append(replace(split, deciding=outcomes.of(position.part, first, numbers)))
    return tuple(found)


def _united(versions: Sequence[TableSchema], table: str) -> pa.Schema:
    """One schema for all versions of a table."""
    return united([empty_batch(version) for version in versions], table).schema
