"""Logs -> splits: what each worker needs to read its part as if it had read everything before it.

Spark is not in here: landing, the batch source and a stream share it. The plan is made once, where
the query is planned, from what each log says by itself (``log/index``); it is plain data. A task
gets its split, with what is known of the tables that its log touches, and the scan, which does not
grow with the logs. A large file whose row changes are wanted is cut at starts of transactions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import TYPE_CHECKING

from binlogkit.frames.layouts import empty_batch
from binlogkit.frames.tables import united
from binlogkit.log import open_log
from binlogkit.log.index import Index, Joined, Part, Position, parts_of
from binlogkit.log.index.joined import pairs
from binlogkit.log.index.part import SEGMENT
from binlogkit.log.index.selecting import LEDGER, selected
from binlogkit.rows.filters import written_table_name
from binlogkit.rows.options import ReadOptions
from binlogkit.rows.prepared import Decision
from binlogkit.rows.reading import Reading
from binlogkit.rows.schema import TableSchema
from binlogkit.rows.soundness import Gap
from binlogkit.sources.carriers import Carrier, resolve
from binlogkit.spark.masks import Masks
from binlogkit.spark.options import READING, ScanOptions
from binlogkit.spark.splits.commits import Deciding
from binlogkit.spark.splits.masked import masks_of
from binlogkit.spark.splits.outcomes import PartOutcomes

if TYPE_CHECKING:
    import pyarrow as pa

    from binlogkit.constants import TableId
    from binlogkit.log.log import Log
    from binlogkit.rows.ddl import Catalog


@dataclass(frozen=True, slots=True)
class Split:
    """One file, a part of it, or relay logs that share transactions, and its place among all logs.

    ``position``: its place among all logs; ``first``, ``last``: whether the first or last split of
    all files is in it; ``stop``: offset of its end, or the file's end at planning, None for its end
    at reading; ``locations``: what opens each file; ``decisions``: the outcomes, in other files, of
    transactions that it prepared, by number; ``gaps``: all gaps, for the first split if they are
    wanted; ``deciding``: the outcomes of its transactions, for a changelog only.
    """

    files: tuple[str, ...]
    position: Position
    first: bool
    last: bool
    stop: int | None = None
    locations: tuple[str, ...] = field(default=(), repr=False)
    decisions: Mapping[int, Decision] = field(default_factory=dict)
    gaps: tuple[Gap, ...] = ()
    deciding: Deciding | None = None

    @property
    def start(self) -> int:
        """Logical offset of its first transaction, 0 for the file's beginning."""
        return self.position.segment.pos


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
        carriers = resolve(list(split.locations), self.asked.keys)
        options = replace(self.options, threads=1)  # Spark gives a task one core
        reading = split.position.read(
            carriers, options, split.stop, first=split.first, last=split.last
        )
        reading.sources = self.asked.wanted().sources
        return reading


@dataclass(frozen=True, slots=True)
class SplitPlan:
    """A scan and its splits.

    ``changes``: the canonical batch schema of the scan's table, its versions united by name; None
    without a table, if the log has no change of it, or if it was not requested; ``gaps``: where
    changes may be missing; ``masks``: of a changelog, ``tables``: those that its table name means;
    ``unnamed``: what is said where a version's columns have no known names.
    """

    scan: Scan
    splits: tuple[Split, ...] = ()
    changes: pa.Schema | None = None
    gaps: tuple[Gap, ...] = ()
    masks: Masks = field(default_factory=Masks)
    tables: tuple[TableId, ...] = ()
    unnamed: str = ""


def make_plan(
    asked: ScanOptions, *, unite: bool = True, catalog: Catalog | None = None
) -> SplitPlan:
    """The splits of a scan; with a table its columns are found as well.

    ``unite``: whether one schema for all versions of the table is wanted; ``catalog``: a base's
    table definitions. Damage and unreadable files are reported when the split is read. Errors:
    InputError, EmptyInputError (nothing is there), SchemaError (versions of the table that do not
    unite), ServerError, UsageError.
    """
    log = open_log(list(asked.paths), **{name: getattr(asked, name) for name in READING})
    with log.knowing(catalog):
        return _planned(asked, log, unite=unite)


def _planned(asked: ScanOptions, log: Log, *, unite: bool) -> SplitPlan:
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
    joined = Joined(
        parts, log.options, sources=wanted.sources, size=size, cuts=asked.of_rows,
        happening=bool(asked.mask), forgets=bool(asked.mask),
    )  # fmt: skip
    splits, gaps = _splits(log.carriers, parts, joined), tuple(joined.gaps)
    if decided:
        splits = _decided(splits, parts, joined)
    if asked.of_rows:
        chosen = selected(joined.positions, parts, wanted, joined.schemas)
        # Spark reads a partition of no split where there is none.
        splits = tuple(compress(splits, chosen)) or splits[:1]
    if asked.kind == "gaps":
        splits = (replace(splits[0], gaps=gaps), *splits[1:])
    scan, versions = scan_of(asked, log.options, joined, (log.files[0], log.files[-1]))
    changes = None
    if versions and unite:
        changes = united([empty_batch(version) for version in versions], str(asked.table)).schema
    masks = masks_of(asked, joined, versions) if unite else Masks()
    tables = tuple(dict.fromkeys(version.name for version in versions))
    unnamed = (names_unknown(joined, version) for version in versions if not version.named)
    return SplitPlan(scan, splits, changes, gaps, masks, tables, next(unnamed, ""))


def names_unknown(joined: Joined, version: TableSchema) -> str:
    """What is said where the names of a version's columns are not known."""
    _, file, pos = joined.shown[id(version)]
    return (
        f"the names of the columns of {written_table_name(*version.name)} are not known in {file} "
        f"at {pos}: give their definitions with the option schema or schemaFrom"
    )


def scan_of(
    asked: ScanOptions, options: ReadOptions, joined: Joined, files: tuple[str, ...] = ()
) -> tuple[Scan, list[TableSchema]]:
    """What all splits share, and the versions of its table; for ``files`` see :class:`Scan`."""
    wanted = asked.wanted()
    versions = [
        schema
        for name, schemas in (joined.schemas.items() if asked.typed else ())
        if wanted.wants_table(*name)
        for schema in schemas
    ]
    columns = tuple(dict.fromkeys(column.name for schema in versions for column in schema.columns))
    keys = frozenset(name for schema in versions for name in schema.key)
    # Table definitions and locations of logs go with each split.
    options = replace(options, catalog=None)
    return Scan(replace(asked, paths=()), options, files, columns, keys), versions


def _splits(
    carriers: Sequence[Carrier], parts: Sequence[Part], joined: Joined
) -> tuple[Split, ...]:
    """The splits of all logs; each ends where the next one of its log begins."""
    found: list[Split] = []
    of = {carrier.name: carrier.location or carrier.name for carrier in carriers}
    for position, following in pairs(joined.positions):
        i, part = position.part, parts[position.part]
        numbers = range(position.base, position.base + part.transactions)
        decisions = {n: how for n, how in joined.decisions.items() if n in numbers}
        stop = part.stop if following is None else following.segment.pos
        locations = tuple(of[name] for name in part.names)
        first, last = i == 0, i == len(parts) - 1
        found.append(Split(part.names, position, first, last, stop, locations, decisions))
    return tuple(found)


def _decided(splits: Sequence[Split], parts: Sequence[Part], joined: Joined) -> tuple[Split, ...]:
    """The splits of all logs with the outcomes of their transactions."""
    outcomes, found = PartOutcomes(parts, joined), list[Split]()
    for split, (position, following) in zip(splits, pairs(joined.positions), strict=True):
        end = position.base + parts[position.part].transactions
        numbers = range(position.transactions, end if following is None else following.transactions)
        found.append(replace(split, deciding=outcomes.of(position.part, position.base, numbers)))
    return tuple(found)
