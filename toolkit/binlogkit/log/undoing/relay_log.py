"""A log as one relay log for a server to apply, without what is not allowed on a test server."""

from __future__ import annotations

import re
import struct
import zlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, BinaryIO

from binlogkit.constants import BINLOG_MAGIC, CHECKSUM_LENGTH, EventType
from binlogkit.errors import InputError, SchemaError
from binlogkit.events.load import Load
from binlogkit.events.payload import TransactionPayload
from binlogkit.events.query import ExecuteLoadQuery, Query
from binlogkit.events.reader import read_events
from binlogkit.rows.ddl.kind import StatementKind, statement_kind
from binlogkit.rows.ddl.scan import leading_words, pieces
from binlogkit.rows.ddl.session import SqlMode
from binlogkit.sources.log_reader import LogReader

if TYPE_CHECKING:
    from binlogkit.events.base import Event
    from binlogkit.sources.carriers import Carrier
    from binlogkit.sources.raw import RawEvent

_HEADER = struct.Struct("<IBIIIH")
_OWN = frozenset(  # about the log itself
    {EventType.STOP_EVENT, EventType.ROTATE_EVENT, EventType.PREVIOUS_GTIDS_LOG_EVENT,
     EventType.HEARTBEAT_LOG_EVENT, EventType.HEARTBEAT_LOG_EVENT_V2, EventType.SLAVE_EVENT}
)  # fmt: skip
_AHEAD = frozenset(  # for the event after them
    {EventType.GTID_LOG_EVENT, EventType.ANONYMOUS_GTID_LOG_EVENT, EventType.GTID_TAGGED_LOG_EVENT,
     EventType.INTVAR_EVENT, EventType.RAND_EVENT, EventType.USER_VAR_EVENT}
)  # fmt: skip
_ROWS = frozenset(
    {EventType.WRITE_ROWS_EVENT, EventType.UPDATE_ROWS_EVENT, EventType.DELETE_ROWS_EVENT,
     EventType.PARTIAL_UPDATE_ROWS_EVENT}
)  # fmt: skip
_FLAGS, _NO_FOREIGN_KEY_CHECKS = 6, 2  # in the post-header of rows events
_STAY = frozenset(StatementKind) - {
    StatementKind.ACCOUNT, StatementKind.ADMIN, StatementKind.SET, StatementKind.OTHER,
}  # fmt: skip
CHECKED = 80018  # from here on the server applies a log with the privileges of an account
# What reaches outside the server's own data: earlier versions may do all of it.
_REACHES_OUT = re.compile(
    r"\b(soname|(data|index)\s+directory|import\s+table|into\s+(outfile|dumpfile)|load_file|"
    r"(general|slow_query)_log_file|set\s+(global|persist))\b|@@(global|persist)\b",
    re.IGNORECASE,
)
_NAME = r"(?:`((?:[^`]|``)+)`|'([^']+)'|\"([^\"]+)\"|([\w$.%-]+))"
_DEFINER = re.compile(rf"\bdefiner\s*=\s*{_NAME}\s*(?:@\s*{_NAME})?", re.IGNORECASE)

Range = tuple[str, int, int]


@dataclass(slots=True)
class Played:
    """What a relay log holds: ``size`` bytes; ``left_out``: the statements left out, each with its
    place; ``definers``: the accounts in DEFINER clauses."""

    size: int = 0
    left_out: list[str] = field(default_factory=list)
    definers: set[tuple[str, str]] = field(default_factory=set)
    _places: list[tuple[int, str, int]] = field(default_factory=list)

    def place(self, at: int) -> str:
        """The log's content at the relay log's position ``at``."""
        found = bisect_right(self._places, at, key=lambda place: place[0]) - 1
        _, file, pos = self._places[max(found, 0)]
        return f"{file} at {pos}"

    def note(self, file: str, pos: int) -> None:
        """Remember the next event."""
        self._places.append((self.size, file, pos))


def write_relay_log(
    carriers: Iterable[Carrier],
    out: BinaryIO,
    version: int,
    without: Iterable[Range] = (),
    *,
    cascades_logged: bool = False,
) -> Played:
    """Write logs as one relay log.

    ``version``: the server's MYSQL_VERSION_ID, which decides about versioned comments; ``without``:
    leaves out the events between two positions of a file; ``cascades_logged``: the log holds
    cascaded changes, so foreign keys are not checked (9.7.4 fails on its own log otherwise: a child
    comes before its parent). Statements on accounts and on the server itself are left out, and
    those that read or write files.
    Errors: DamageError; InputError: not a log of MySQL 5 or later.
    """
    played = Played(out.write(BINLOG_MAGIC))
    gone: dict[str, list[tuple[int, int]]] = {}
    for file, start, end in without:
        gone.setdefault(file, []).append((start, end))
    for carrier in carriers:
        ranges = sorted(gone.get(carrier.name, ()))
        with carrier.open() as source:
            for group in _groups(read_events(LogReader(carrier.name, source))):
                _write(group, out, played, version, ranges, unminded=cascades_logged)
    return played


def _groups(events: Iterable[Event]) -> Iterator[list[Event]]:
    """Each event with the events before it that belong to it, and the events inside it."""
    group: list[Event] = []
    whole = False
    for event in events:
        if whole and event.raw.inner is None:
            yield group
            group, whole = [], False
        group.append(event)
        whole = whole or event.raw.header.type_code not in _AHEAD
    if group:
        yield group


def _write(
    group: list[Event],
    out: BinaryIO,
    played: Played,
    version: int,
    gone: list[tuple[int, int]],
    *,
    unminded: bool,
) -> None:
    stored = [event.raw for event in group if event.raw.inner is None]
    described = stored[0].header.type_code == EventType.FORMAT_DESCRIPTION_EVENT
    if stored[0].version < 4 or (played.size == len(BINLOG_MAGIC) and not described):
        raise InputError(stored[0].file, "a log without a format description cannot be played")
    if stored[-1].header.type_code in _OWN or _among(stored[-1].pos, gone):
        return
    for event in group:
        text = _statement(event)
        if text is None:
            continue
        if not stays(text, _mode(event), version):
            words = " ".join(leading_words(text, 2, SqlMode(_mode(event) or 0), version))
            played.left_out.append(f"{words} ({event.raw.file} at {event.raw.pos})")
            return
        played.definers.update(definers(text))
    played.note(stored[0].file, stored[0].pos)
    if unminded:
        checked = bool(stored[-1].stored_checksum)
        unpacked = [e.raw for e in group if not isinstance(e.body, TransactionPayload)]
        stored = [_unminded(raw, checked=checked) for raw in unpacked]
    for raw in stored:
        played.size += out.write(_bytes(raw))


def stays(statement: str, mode: int | None, version: int) -> bool:
    """Whether a statement concerns data and tables."""
    if statement_kind(statement, mode, version) not in _STAY:
        return False
    if version >= CHECKED:
        return True
    try:
        parts = pieces(statement, SqlMode(mode or 0), version)
        return not _REACHES_OUT.search("".join(t for kind, t in parts if kind != "quoted"))
    except SchemaError:  # no server accepts it
        return False


def _among(pos: int, ranges: list[tuple[int, int]]) -> bool:
    at = bisect_right(ranges, pos, key=lambda one: one[0]) - 1
    return at >= 0 and pos < ranges[at][1]


def _statement(event: Event) -> str | None:
    body = event.body
    if isinstance(body, (Query, ExecuteLoadQuery)):
        return body.query
    return "OTHER" if isinstance(body, Load) else None


def _mode(event: Event) -> int | None:
    body = event.body
    return body.status_vars.sql_mode if isinstance(body, (Query, ExecuteLoadQuery)) else None


def definers(statement: str) -> set[tuple[str, str]]:
    """The accounts in a statement's DEFINER clauses."""
    return {
        (
            next(filter(None, found.groups()[:4]), "").replace("``", "`"),
            next(filter(None, found.groups()[4:]), "%").replace("``", "`"),
        )
        for found in _DEFINER.finditer(statement)
    }


def _unminded(raw: RawEvent, *, checked: bool) -> RawEvent:
    """A rows event whose statement had foreign_key_checks off; an event from a payload becomes one
    outside."""
    body, rows = raw.body, raw.header.type_code in _ROWS
    if not rows and raw.inner is None:
        return raw
    if rows:
        body = body[:_FLAGS] + bytes([body[_FLAGS] | _NO_FOREIGN_KEY_CHECKS]) + body[_FLAGS + 1 :]
    size = raw.header.length + len(body) + CHECKSUM_LENGTH * checked
    new = replace(raw, header=replace(raw.header, size=size), body=body, stored_checksum=b"")
    checksum = zlib.crc32(_bytes(new)).to_bytes(CHECKSUM_LENGTH, "little") if checked else b""
    return replace(new, stored_checksum=checksum)


def _bytes(raw: RawEvent) -> bytes:
    header = raw.header
    head = _HEADER.pack(
        header.timestamp, header.type_code, header.server_id, header.size, header.log_pos,
        header.flags,
    )  # fmt: skip
    return b"".join((head, raw.extra_header, raw.body, raw.stored_checksum))
