"""A decoder's events and rows against mysqlbinlog's text: structure first, values second."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, tzinfo
from typing import Any, TypeVar

from binlogkit.analyses.conformance.cell import TableVersions
from binlogkit.analyses.conformance.event_fields import TYPES, fields_of, our_statement
from binlogkit.analyses.conformance.mysqlbinlog_text import read_text
from binlogkit.analyses.conformance.our_records import (
    EventBatches,
    Key,
    OurEvents,
    OurRows,
    Record,
    RowWindows,
    key_of,
)
from binlogkit.analyses.conformance.printed import PrintedEvent, TextBlocks, clock
from binlogkit.analyses.conformance.printed_transaction import PrintedTransaction
from binlogkit.analyses.conformance.result import ConformanceResult, Differences
from binlogkit.analyses.conformance.row_groups import RowEventFacts, RowGroups
from binlogkit.analyses.conformance.rule import (
    EVENT_RULES,
    Kind,
    not_stored,
    shown,
    unexplained,
)
from binlogkit.analyses.conformance.stored import StoredLog
from binlogkit.analyses.conformance.stored_fields import not_as_stored, stores_text
from binlogkit.analyses.conformance.stored_header import header_of
from binlogkit.analyses.conformance.stored_statement import StoredStatement
from binlogkit.errors import OracleError
from binlogkit.events.base import Event
from binlogkit.rows.schema import TableSchema

_T = TypeVar("_T")
_UINT32 = 0xFFFF_FFFF
_OF_HEADER = ("code", "size", "end_pos", "flags", "checksum")  # of checksums the numbers
_FIELD_OF = {"STMT_END": "flags", "block_length": "data"}  # compared with the text -> the field


def against_mysqlbinlog(
    events: Iterable[Record] | EventBatches | None,
    rows: Iterable[Record] | RowWindows | None,
    schemas: Iterable[TableSchema | Mapping[str, Any]],
    text_lines: Iterable[bytes | str] | TextBlocks,
    *,
    file: str = "",
    baseline: Iterable[Mapping[str, Any]] = (),
    keep: int = 1000,
    zone: tzinfo = UTC,
    stored: Iterable[Event] = (),
    decoder: str = "ours",
) -> ConformanceResult:
    """Compare one log's records with what ``mysqlbinlog -vv --base64-output=decode-rows`` prints.

    ``events``, ``rows``: records of the contract's ``events`` and ``rows`` forms in the log's
    order, None for what the decoder does not give (it is then not compared); rows may come as
    batches, and are then compared as bytes before any is read; ``schemas``: the
    tables' versions in order, as :class:`TableSchema` or ``{"db", "table", "columns":
    [{"name", "type", "unsigned", "charset", "labels", "length"}]}``; ``text_lines``: the text of
    the same one log, from :func:`binlogkit.sources.mysqlbinlog.read` or a file, or in blocks;
    ``zone``: the time zone that mysqlbinlog ran in; ``keep``: how many differences of a kind and
    rule the frame holds; ``stored``: the log's own events, from
    :func:`binlogkit.events.reader.read_events`, whose bytes decide what the text lacks (the
    verdict is ``unjudged`` where nothing does); ``decoder``: what the records' maker is called in
    the reasons. All is streamed; memory depends on the longest line, statement and event, and on
    what a window of batches holds.

    When ``text_lines`` raises :class:`OracleError` (mysqlbinlog gave up), what came before is
    compared and the verdict is ``incomplete``.
    """
    findings = Differences(file, keep=keep, baseline=baseline, decoder=decoder)
    log = StoredLog(stored)
    return _Comparison(events, rows, schemas, findings, zone, log).run(text_lines)


class _Comparison:
    def __init__(
        self,
        events: Iterable[Record] | EventBatches | None,
        rows: Iterable[Record] | RowWindows | None,
        schemas: Iterable[TableSchema | Mapping[str, Any]],
        findings: Differences,
        zone: tzinfo,
        stored: StoredLog,
    ) -> None:
        self.findings = findings
        self.report = findings.report
        self.zone = zone
        self.stored = stored
        self.problem: str | None = None
        self.compared = 0
        self.last: Key = (-1, -1)
        self.differ = set[str]()  # fields of the event that were compared with the text and differ
        self.ours = None if events is None else _our_events(events)
        self.groups = None
        self.blocks = None
        self.block_events = None
        self.transaction = PrintedTransaction(self.report)
        tables, statement = TableVersions(schemas), StoredStatement(stored)
        if isinstance(rows, RowWindows):
            from binlogkit.analyses.conformance.block_events import BlockEvents
            from binlogkit.analyses.conformance.block_rows import BlockRows
            from binlogkit.analyses.conformance.our_batches import OurBatches, OurEventBatches

            ours = OurBatches(rows.windows)
            self.groups = RowGroups(ours, tables, findings, statement)
            self.blocks = BlockRows(ours, self.groups, findings)
            in_bytes = stored.bytes is not None and zone is UTC
            if in_bytes and isinstance(self.ours, OurEventBatches):
                self.block_events = BlockEvents(
                    self.ours, ours, self.groups, self.transaction, stored, findings
                )
        elif rows is not None:
            self.groups = RowGroups(OurRows(rows), tables, findings, statement)

    def run(self, text: Iterable[bytes | str] | TextBlocks) -> ConformanceResult:
        take = None if self.blocks is None else self.blocks.take
        lines: Iterable[bytes | str] | TextBlocks
        if isinstance(text, TextBlocks):
            lines = TextBlocks(self._guarded(text.blocks))
        else:
            lines = self._guarded(text)
        take_events = None if self.block_events is None else self.block_events.take
        for item in read_text(lines, self.ours, take, take_events):
            if isinstance(item, PrintedEvent):
                self._event(item)
            elif self.groups is not None:
                self.groups.row(item)
        if self.groups is not None:
            self.groups.finish(complete=self.problem is None)
        self._end()
        groups = self.groups
        return self.findings.result(
            self.problem,
            events=self.compared + (self.block_events.compared if self.block_events else 0),
            rows=groups.rows if groups else 0,
            cells=groups.cells if groups else 0,
            cells_by_bytes=groups.by_bytes if groups else 0,
            rows_not_judged=groups.not_judged if groups else 0,
        )

    def _guarded(self, lines: Iterable[_T]) -> Iterator[_T]:
        try:
            yield from lines
        except OracleError as error:
            self.problem = str(error)

    # Events

    def _event(self, printed: PrintedEvent) -> None:
        key, ours = printed.key, None
        self.last = max(self.last, key)
        if self.groups is not None:
            self.groups.next_event()
        before, others = self.findings.rules.copy(), self._others  # rows' before it were counted
        if self.ours is not None:
            for record in self.ours.before(key):
                self._not_printed(record)
            ours = self.ours.take(key)
        rows = printed.kind.partition("_")[2].startswith("rows")
        if not rows:
            self.transaction.event(printed, ours)
        stored = self._stored_header(key, printed)
        if ours is not None:
            self.compared += 1
            self._compare(key, ours, printed, stored)
        elif self.ours is not None:
            self._not_ours(key, printed)
        if printed.doubt:
            self._doubt(key, ours, printed)
        right = stored is not None and ours is not None and self._others == others
        if self.block_events is not None:
            self.block_events.judged(printed, self.findings.rules - before if right else None)
        if self.groups is None:
            self.stored.pass_over(key)
        elif rows:
            self.groups.event(self._row_facts(key, printed, stored))
        elif self.groups.idle:
            self.stored.pass_over(key)
        if self.groups is not None and printed.kind == "Start":
            said = {name: theirs for name, _, theirs in fields_of(printed)}
            self.groups.server = str(said.get("server_version", ""))

    @property
    def _others(self) -> int:
        """How many differences there were that are not of writing only."""
        return self.findings.total - self.findings.kinds[Kind.REPRESENTATION]

    def _compare(
        self, key: Key, ours: Record, printed: PrintedEvent, stored: Mapping[str, Any] | None
    ) -> None:
        self.differ = {"log_pos"} if printed.inner is None else set()
        self._type(key, ours, printed)
        self._field(key, "server_id", ours.get("server_id"), printed.server_id)
        timestamp = ours.get("timestamp")
        moment = clock(timestamp, self.zone) if isinstance(timestamp, int) else None
        self._field(key, "timestamp", moment, printed.time)
        self._end_position(key, ours, printed)
        self._checksum(key, ours, printed)
        if "gtid" in ours:
            self._field(key, "gtid", ours["gtid"], self.transaction.gtid_of(printed))
        for name, mine, theirs in fields_of(printed, ours):
            if mine != theirs and not self._load_file(key, printed, ours):
                self._field(key, name, mine, theirs)
        if stored is not None:
            self._header(key, ours, printed, stored)
            self._body(key, ours)

    def _header(
        self, key: Key, ours: Record, printed: PrintedEvent, stored: Mapping[str, Any]
    ) -> None:
        """By the event's own bytes what the text does not have."""
        for name in _OF_HEADER:
            have, want = ours.get(name), stored[name]
            implied = name == "checksum" and printed.inner is None and "none" in (have, want)
            if name in ours and have != want and not implied:
                reason = f"the event's {name} is not what the log stores"
                self.report(key, None, not_stored(name, have, want, reason))

    def _body(self, key: Key, ours: Record) -> None:
        """By its bytes what the text does not have of its body."""
        event, fields = self.stored.find(key), ours.get("fields")
        if event is None or not isinstance(fields, Mapping):
            return
        for name, have, content in not_as_stored(event.raw, fields):
            if name not in self.differ:
                reason = f"the event's {name} is not what the log stores"
                self.report(key, None, not_stored(name, have, content, reason))

    def _stored_header(self, key: Key, printed: PrintedEvent) -> dict[str, Any] | None:
        """Of the printed event, None where its bytes are not at hand."""
        event = self.stored.find(key)
        if event is None:
            return None
        header = event.raw.header
        if printed.inner is None and header.log_pos != printed.end_log_pos:
            return None
        fits = clock(header.timestamp, self.zone) == printed.time
        return header_of(event.raw) if fits else None

    def _type(self, key: Key, ours: Record, printed: PrintedEvent) -> None:
        names = TYPES.get(printed.kind)
        if names is None:
            names = (f"a type that mysqlbinlog calls {printed.kind or 'nothing'}",)
            # What mysqlbinlog does not know, we need not know either.
            if printed.kind == "Unknown event" and str(ours.get("type")).startswith("UNKNOWN"):
                return
        if ours.get("type") not in names:
            self._field(key, "type", ours.get("type"), " or ".join(names))

    def _end_position(self, key: Key, ours: Record, printed: PrintedEvent) -> None:
        fields = ours.get("fields") or {}
        mine = fields.get("log_pos", int(ours.get("end_pos") or 0) & _UINT32)
        if mine == printed.end_log_pos:
            return
        if printed.inner is not None and printed.end_log_pos == printed.pos & _UINT32:
            self._known(key, "inner-position", "end_log_pos", mine, printed.end_log_pos)
            return
        self._field(key, "end_log_pos", mine, printed.end_log_pos)

    def _checksum(self, key: Key, ours: Record, printed: PrintedEvent) -> None:
        has, prints = ours.get("checksum") != "none", printed.checksum is not None
        if has == prints:
            return
        if printed.inner is not None and prints:
            crc = f"0x{printed.checksum:08x}"
            self._known(key, "inner-checksum", "checksum", ours.get("checksum"), crc)
            return
        if has and printed.kind == "Start":
            self._known(key, "format-description-checksum", "checksum", ours["checksum"], "none")
            return
        self._field(key, "checksum", ours.get("checksum"), "CRC32" if prints else "none")

    def _load_file(self, key: Key, printed: PrintedEvent, ours: Record) -> bool:
        """Whether the statements differ by the name of LOAD DATA's file only."""
        fields = ours.get("fields") or {}
        mine, theirs = our_statement(fields), printed.statement
        start, end = fields.get("name_start"), fields.get("name_end")
        if printed.kind != "Execute_load_query" or mine is None or theirs is None:
            return False
        if not isinstance(start, int) or not isinstance(end, int):
            return False
        if not (theirs.startswith(mine[:start]) and theirs.endswith(mine[end:])):
            return False
        self._known(key, "load-file-name", "query", mine, theirs)
        return True

    def _doubt(self, key: Key, ours: Record | None, printed: PrintedEvent) -> None:
        """The text can be read in two ways: the event's own bytes decide, if they are at hand."""
        event = None if ours is None else self.stored.find(key)
        if ours is None or event is None:
            rule = "names-not-escaped" if printed.kind == "Table_map" else "text-looks-like-syntax"
            self._known(key, rule, "text", None, f"{printed.doubt}: {shown(printed.head.strip())}")
        elif not stores_text(event.raw, ours.get("fields") or {}):
            name = "table" if printed.kind == "Table_map" else "query"
            reason = f"the event's {name} is not what the log stores"
            self.report(key, None, not_stored(name, ours["fields"], event.raw.body, reason))

    def _field(self, key: Key, name: str, ours: Any, theirs: Any) -> None:
        field = _FIELD_OF.get(name, name)
        if ours != theirs and field not in self.differ:
            self.differ.add(field)
            reason = f"the event's {name} differs"
            self.report(key, None, unexplained(name, ours, theirs, reason))

    def _known(self, key: Key, rule_id: str, name: str, ours: Any, theirs: Any) -> None:
        self.report(key, None, EVENT_RULES[rule_id].difference(name, ours, theirs))

    def _not_printed(self, record: Record) -> None:
        reason, said = "mysqlbinlog prints no event here", "no event at this position"
        difference = unexplained(None, record.get("type"), None, reason, said)
        self.report(key_of(record), None, difference)

    def _not_ours(self, key: Key, printed: PrintedEvent) -> None:
        said = b"# at %d %s" % (printed.pos, printed.head)
        reason = "ours lacks this event"
        self.report(key, None, unexplained(None, None, printed.kind, reason, said))

    def _end(self) -> None:
        if self.problem is not None:
            rest = 0 if self.ours is None else sum(1 for _ in self.ours.rest())
            self._known(self.last, "oracle-stopped", "text", f"{rest} more events", self.problem)
        elif self.ours is not None:
            for record in self.ours.rest():
                self._not_printed(record)
            self.transaction.end()

    # Rows

    def _row_facts(
        self, key: Key, printed: PrintedEvent, header: Mapping[str, Any] | None
    ) -> RowEventFacts:
        values = {**self.transaction.values, "server_id": printed.server_id}
        if header is not None:
            values |= {name: header[name] for name in ("end_pos", "timestamp")}
        ends = b"STMT_END_F" in printed.head
        return RowEventFacts(key, ends, values, self.stored.names(key), self.transaction)


def _our_events(events: Iterable[Record] | EventBatches) -> OurEvents:
    if not isinstance(events, EventBatches):
        return OurEvents(events)
    from binlogkit.analyses.conformance.our_batches import OurEventBatches

    return OurEventBatches(events.batches)
