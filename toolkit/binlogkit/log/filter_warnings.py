"""What filters name that the log does not have: tables without row changes, points outside it.

A point after a log's end may be a mistake or mean the end. Either way it is reported.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from binlogkit.constants import HEADER_LENGTH, TableId
from binlogkit.errors import DamageError, InputError, LimitError, UnmetWarning, printable
from binlogkit.events.gtid_set import GtidSet
from binlogkit.rows.filter_args import place_in
from binlogkit.rows.filters import Filters, TableName, written_table_name
from binlogkit.rows.gtid_ledger import GtidLedger
from binlogkit.rows.soundness.finding import FileFacts
from binlogkit.rows.table_history import Text
from binlogkit.sources.carriers import Carrier
from binlogkit.sources.log_reader import LogReader
from binlogkit.sources.loose_events import LooseEvents
from binlogkit.sources.raw import RawEvent, parse_header

if TYPE_CHECKING:
    import pyarrow as pa

MICROSECONDS = 1_000_000
_CHUNK = 1 << 20
_UINT32 = 0xFFFF_FFFF
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_KINDS = {
    "statement_write": "{} statement{} logged as text",
    "truncate": "{} TRUNCATE TABLE statement{}",
    "drop": "{} DROP TABLE statement{}",
}
UNKNOWN_TABLE = "unknown_table"  # a finding
_NAMED, _LIKENESS = 3, 0.75  # of suggested tables
_LONGEST = 200  # of a list of GTIDs or threads


class Read(Protocol):
    """What is needed of a log that was read: see Streams."""

    carriers: list[Carrier]
    met: Any

    @property
    def files(self) -> Sequence[str]:
        """The logs' names."""

    @property
    def texts(self) -> Mapping[Text, tuple[int, str]]:
        """How many statements changed rows of a table without row events."""

    @property
    def file_facts(self) -> Sequence[FileFacts]:
        """What was learned of each log."""

    @property
    def threads(self) -> Collection[int]:
        """The connections of its transactions."""

    def begin_of(self, file: str, pos: int) -> int | None:
        """Where the transaction begins that begins at a position or contains it."""

    @property
    def times(self) -> tuple[int, int] | None:
        """The earliest and the latest second of its events."""


def unmet(log: Read, filters: Mapping[str, Any], *, nothing: bool) -> list[str]:
    """The warnings about ``filters`` after the last read; ``nothing``: whether it gave no
    records."""
    texts = [*positions_unmet(log, filters), *tables_not_met(log.met, filters)]
    texts += written_as_text(log, filters, nothing=nothing)
    return [*texts, *transactions_unmet(log, filters, nothing=nothing)]


def warn_of_unmet(
    log: Read, filters: Mapping[str, Any], *, nothing: bool, level: int = 3, otherwise: str = ""
) -> None:
    """Issue the warnings. ``level``: stack level of the user's call, 3 for our caller's;
    ``otherwise``: what to say where there was nothing, and no filter by itself says why."""
    for text in unmet(log, filters, nothing=nothing) or [otherwise] * (nothing and bool(otherwise)):
        warnings.warn(printable(text), UnmetWarning, stacklevel=level)


def warn_of_unknown(findings: pa.Table, name: str, *, level: int = 3) -> None:
    """Issue a warning if the findings of a state, or a life, say that the log does not have the
    table."""
    for finding in findings.to_pylist():
        if finding["finding"] == UNKNOWN_TABLE:
            warnings.warn(printable(f"{name}: {finding['meaning']}"), UnmetWarning, level)


def transactions_unmet(log: Read, filters: Mapping[str, Any], *, nothing: bool) -> list[str]:
    """Warnings about GTIDs and connections that the last read did not meet; where nothing was
    chosen, also about a position in no transaction and times outside the log."""
    asked = {name: filters.get(name) for name in ("gtid", "thread")}
    wanted, texts = Filters.build(**asked), list[str]()
    if wanted.gtids is not None:
        met = GtidLedger()
        for facts in log.file_facts:
            for found in (facts.gtids, facts.copied):
                met.add_set(found.to_set())
        there = met.to_set()
        lacking = wanted.gtids.subtract(there)
        like = f"; there are {_shortened(there)}" if there else "; the logs have no GTIDs"
        texts += [f"no transaction {_shortened(lacking)} was read{like}"] if lacking else []
    for thread in sorted(wanted.threads.difference(log.threads)):
        others = f"; there are those of {_shortened(sorted(log.threads))}" if log.threads else ""
        texts.append(f"no transaction of thread {thread} was read{others}")
    if not nothing:
        return texts
    if filters.get("at") is not None:
        file, pos = place_in(log.files, filters["at"])
        if log.begin_of(file, pos) is None:
            texts.append(f"no transaction begins at or contains position {pos} of {file}")
    return texts + times_outside(log, filters)


def _shortened(found: GtidSet | list[int]) -> str:
    text = str(found).strip("[]")
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}\N{HORIZONTAL ELLIPSIS}"


def tables_not_met(met: Collection[TableId], filters: Mapping[str, Any]) -> list[str]:
    """Warnings about tables in ``filters`` that are not among those whose rows were ``met``.

    Excluded tables are reported only where a similar name exists.
    """
    tables = Filters.build(table=filters.get("table"), exclude_table=filters.get("exclude_table"))
    lacking = {name: others(name, met) for name in tables.tables if not _there(name, met)}
    texts = [f"no rows of {_written(name)} were read{like}" for name, like in lacking.items()]
    lacking = {name: others(name, met) for name in tables.exclude_tables if not _there(name, met)}
    return texts + [
        f"there are no rows of {_written(name)} to leave out{like}"
        for name, like in lacking.items()
        if like
    ]


def written_as_text(log: Read, filters: Mapping[str, Any], *, nothing: bool) -> list[str]:
    """Warnings about statements that changed rows of the tables in ``filters`` without row events.

    DROP and TRUNCATE are reported only where nothing else was found.
    """
    tables = Filters.build(table=filters.get("table")).tables
    return [
        f"{_KINDS[kind].format(count, 's' * (count > 1))} in these logs changed rows of "
        f"{written_table_name(*name)} without row events (the first: {first})"
        for (kind, *name), (count, first) in log.texts.items()
        if any(wanted(*name) for wanted in tables) and (nothing or kind == "statement_write")
    ]


def _there(name: TableName, met: Collection[TableId]) -> bool:
    return any(name(*other) for other in met)


def _written(name: TableName) -> str:
    return written_table_name(*([] if name.db is None else [name.db]), name.table)


def others(name: TableName, met: Collection[TableId]) -> str:
    """The tables with rows that may be meant instead; empty where none is similar.

    That is the table whose name differs only in case (names in a log are compared case-sensitively,
    even if the server has ``lower_case_table_names=1`` and stores lower-case names), or the most
    similar ones.
    """
    asked, texts = _written(name).casefold(), dict[str, str]()
    for db, table in met:
        whole = written_table_name(db, table)
        texts.setdefault(
            (whole if name.db is not None else written_table_name(table)).casefold(), whole
        )
    like = [texts[asked]] if asked in texts else []
    like = like or [texts[text] for text in get_close_matches(asked, texts, _NAMED, _LIKENESS)]
    like = like or [written_table_name(*other) for other in met if other[1] == name.table][:_NAMED]
    return f"; there are rows of {', '.join(like)}" if like else ""


def utc(seconds: int) -> str:
    """A second since the epoch as text."""
    try:
        return f"{_EPOCH + timedelta(seconds=seconds):%Y-%m-%d %H:%M:%S} UTC"
    except OverflowError:
        return f"second {seconds}"


def times_outside(log: Read, filters: Mapping[str, Any]) -> list[str]:
    """Warnings about times before the log's first event or after its last."""
    wanted = Filters.build(
        start_time=filters.get("start_time"),
        stop_time=filters.get("stop_time"),
        timezone=filters.get("timezone"),
    )
    start, stop, times = wanted.start_time, wanted.stop_time, log.times
    if times is None:
        return []
    first, last = times
    text, found = f"the log's events are from {utc(first)} to {utc(last)}", []
    if start is not None and start >= (last + 1) * MICROSECONDS:
        found.append(f"{text}, before the start time {utc(start // MICROSECONDS)}")
    if stop is not None and stop <= first * MICROSECONDS:
        found.append(f"{text}, not before the stop time {utc(stop // MICROSECONDS)}")
    return found


def positions_unmet(log: Read, filters: Mapping[str, Any]) -> list[str]:
    """Warnings about positions beyond the first and last log, and about those inside an event.

    A log's length is that of its bytes, whatever its events say. Events without a file around them
    cause no warning.
    """
    texts = []
    for carrier, option, after_end, inside in (
        (log.carriers[0], "start", "nothing of it is chosen", "it is read from {} on"),
        (log.carriers[-1], "stop", "it is read to its end", "it is read up to {}"),
    ):
        pos = filters.get(f"{option}_position")
        if pos is None:
            continue
        if (end := _end_before(carrier, pos)) is not None:
            texts.append(
                f"{carrier.name} ends at {end}, before the {option} position {pos}: {after_end}"
            )
        elif (event := _event_around(carrier, pos)) is not None:
            texts.append(
                f"{carrier.name}: the {option} position {pos} lies in the event from {event.pos} "
                f"to {event.end_pos}: {inside.format(event.end_pos)}"
            )
    return texts


def _end_before(carrier: Carrier, pos: int) -> int | None:
    """Where a log ends; None if that is not before ``pos``, or if reading reports it anyway."""
    with suppress(DamageError, InputError, LimitError), carrier.open() as file:
        if isinstance(file, LooseEvents):
            return None
        end = file.seek(0, os.SEEK_END) if file.seekable() else _read_up_to(file, pos)
        return end if end < pos else None
    return None


def _event_around(carrier: Carrier, pos: int) -> RawEvent | None:
    """The event that begins before ``pos`` and ends after it."""
    with suppress(DamageError, InputError, LimitError):
        with carrier.open() as file:
            if isinstance(file, LooseEvents) or _begins(file, pos):
                return None
        with carrier.open() as file:
            return _around(carrier.name, file, pos)
    return None


def _around(name: str, file: BinaryIO, pos: int) -> RawEvent | None:
    for event in LogReader(name, file, on_damage="report", sink=lambda _: None):
        if event.end_pos > pos:
            return event if event.pos < pos else None
    return None


def _begins(file: BinaryIO, pos: int) -> bool:
    """Whether an event begins at ``pos``, as far as its own end shows; not at the log's end."""
    if file.seekable():
        file.seek(pos)
    else:
        _read_up_to(file, pos)
    head = file.read(HEADER_LENGTH)
    if len(head) == HEADER_LENGTH:
        header = parse_header(head, HEADER_LENGTH)
        if header.size >= HEADER_LENGTH and header.log_pos == (pos + header.size) & _UINT32:
            return True
    return not head


def _read_up_to(file: BinaryIO, pos: int) -> int:
    """The log's size in bytes, counted up to ``pos``, where the file stands then."""
    count = 0
    while count < pos and (chunk := file.read(min(_CHUNK, pos - count))):
        count += len(chunk)
    return count
