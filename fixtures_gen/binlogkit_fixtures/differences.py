"""What differs between two captures of the same scenario in the same cell, and why.

Two runs of one server version give the same log but for what a server takes from its own clock and
counters. Each difference of a field is explained by its name, or it is ``unexplained``: then the
generator, the server or the reader of logs has changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import binlogkit as bk
from binlogkit_fixtures import manifest as mf
from binlogkit_fixtures.servers.keyring import KEYRING
from binlogkit_fixtures.verify import folders

__all__ = [
    "REASONS", "UNEXPLAINED", "CaseDifferences", "Difference", "compare_sets",
    "explain_differences",
]  # fmt: skip

UNEXPLAINED = "unexplained"

#: Why a value cannot be made to repeat, by the kind of difference.
REASONS: Mapping[str, str] = {
    "commit-clock": "commit timestamps come from the server's own clock (8.0.1)",
    "exec-time": "a statement's duration counts from the time that was set to the server's clock",
    "xid": "XIDs count all statements since the server's start",
    "table-id": "table ids count all tables opened since the server's start",
    "compressed-size": "a compressed payload's length depends on durations and counters in it",
    "created": "when the log was begun, by the server's own clock",
    "server-clock": "the server of itself began or ended the log, or emptied a table in memory: "
    "its own clock, not a session's",
    "applier": "a replica's applier writes the connection's number of the source, or its own",
    "server-version": "the log is from another version of the server",
    UNEXPLAINED: "nothing that cannot be repeated explains it",
}

_BY_FIELD: Mapping[str, str] = {
    "immediate_commit_timestamp": "commit-clock",
    "original_commit_timestamp": "commit-clock",
    "exec_time": "exec-time",
    "xid": "xid",
    "ddl_xid": "xid",
    "table_id": "table-id",
    "payload": "compressed-size",
    "payload_size": "compressed-size",
    "created": "created",
}
_BY_FIELD_OF_VERSION = {"server_version", "immediate_server_version", "original_server_version"}
_POSITIONS = {"pos", "end_pos", "log_pos", "position", "size", "transaction_length"}


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference: ``kind`` is a key of REASONS, ``where`` names event, field and values."""

    kind: str
    where: str
    reason: str


@dataclass(frozen=True, slots=True)
class CaseDifferences:
    """One case of two sets: its place in them, and what differs.

    ``result``: ``same`` (its logs byte for byte), ``equal`` (but for what cannot be repeated),
    ``different``, ``only in A``, ``only in B``.
    """

    case: str
    result: str
    differences: tuple[Difference, ...] = ()


@dataclass(frozen=True, slots=True)
class _Context:
    """What both captures have in common, as far as it decides an explanation."""

    other_version: bool
    compressed: bool
    encrypted: bool  # by another key each time
    server_wrote: bool = False  # this event, in no session
    replicated: bool = False  # this event: it began on another server

    def kind(self, field: str) -> str:
        name = field.rpartition(".")[2]
        if name == "timestamp" and self.server_wrote:
            return "server-clock"
        if name == "thread_id" and self.replicated:
            return "applier"
        if name in _BY_FIELD_OF_VERSION and self.other_version:
            return "server-version"
        if name in _POSITIONS and self.compressed:
            return "compressed-size"
        return _BY_FIELD.get(name, UNEXPLAINED)

    def difference(self, field: str, where: str, old: object, new: object) -> Difference:
        kind = self.kind(field)
        text = f"{where} {field}: {_short(old)} -> {_short(new)}"
        return Difference(kind, text, REASONS[kind])


def compare_sets(a: Path, b: Path) -> Iterator[CaseDifferences]:
    """Every case of two sets of fixtures, by its place; or of two fixtures.

    Errors: InputError, where a folder has no fixture, or as of :func:`explain_differences`.
    """
    mine, theirs = (
        {folder.relative_to(root).as_posix(): folder for folder in folders(root)} for root in (a, b)
    )
    for case in sorted(mine | theirs):
        if case not in theirs or case not in mine:
            yield CaseDifferences(case, "only in A" if case in mine else "only in B")
            continue
        found = tuple(explain_differences(mine[case], theirs[case]))
        if any(difference.kind == UNEXPLAINED for difference in found):
            yield CaseDifferences(case, "different", found)
        else:
            logs = [
                {log.name: log.sha256 for log in mf.read(x[case]).binlogs} for x in (mine, theirs)
            ]
            yield CaseDifferences(case, "same" if logs[0] == logs[1] else "equal", found)


def explain_differences(golden: Path, fresh: Path) -> list[Difference]:
    """Compare two folders of captures, event by event and mark by mark.

    An original commit timestamp that a story sets is the same in both. Errors: InputError, where
    a folder has no manifest or a log cannot be read.
    """
    old, new = mf.read(golden), mf.read(fresh)
    context = _Context(
        other_version=old.server_version != new.server_version,
        compressed=old.settings.get("binlog_transaction_compression") == "ON",
        encrypted=old.settings.get("binlog_encryption") == "ON",
    )
    return [
        *_compare_logs(golden, fresh, old, new, context),
        *_compare_manifests(old, new, context),
    ]


def _compare_logs(
    golden: Path, fresh: Path, old: mf.Manifest, new: mf.Manifest, context: _Context
) -> Iterator[Difference]:
    names = [log.name for log in old.binlogs]
    if names != [log.name for log in new.binlogs]:
        yield context.difference("binlogs", "manifest", names, [log.name for log in new.binlogs])
        return
    for name in names:
        ours, theirs = list(_events(golden / name)), list(_events(fresh / name))
        of_server = _of_the_server(ours) & _of_the_server(theirs)
        differs = False
        for number, (before, after) in enumerate(zip_longest(ours, theirs)):
            place = after if before is None else before
            assert place is not None
            where = f"{name}, event {number} at {place['pos']}, {place['type']}"
            known = replace(
                context,
                server_wrote=number in of_server,
                replicated=place["server_id"] != (ours or theirs)[0]["server_id"],
            )
            for difference in _compare(where, before, after, known):
                differs = True
                yield difference
        if not differs and not context.encrypted:
            yield from _compare_bytes(golden / name, fresh / name)


_EMPTYING = "/* generated by server, implicitly emptying in-memory table */"


def _of_the_server(events: Sequence[Mapping[str, Any]]) -> set[int]:
    """Which events a server wrote in no session, so that no ``SET timestamp`` is in their headers.

    The beginning of a log that a start of the server began (``created`` says so), the end that its
    shutdown wrote, and what empties a table in memory after a restart, with its GTID (8.0.31 and
    9.7.4; 5.7.22 writes it in the session that opens the table first). In a relay log also each
    ROTATE of the replica's own, or that its source makes up (without a position in its log).
    """
    found: set[int] = set()
    relay = bool(events) and "RELAY_LOG" in events[0]["flags"]
    for number, event in enumerate(events):
        kind = event["type"]
        begins = kind == "FORMAT_DESCRIPTION_EVENT" and event.get("created") is not None
        follows = kind == "PREVIOUS_GTIDS_LOG_EVENT" and number - 1 in found
        turns = relay and kind == "ROTATE_EVENT"
        received = event["log_pos"] and event["server_id"] != events[0]["server_id"]
        if begins or follows or kind == "STOP_EVENT" or (turns and not received):
            found.add(number)
        elif kind == "QUERY_EVENT" and str(event.get("query")).endswith(_EMPTYING):
            found |= {number, number - 1}
    return found


def _compare_bytes(ours: Path, theirs: Path) -> Iterator[Difference]:
    """What differs in the bytes of two logs of which every field is the same."""
    before, after = ours.read_bytes(), theirs.read_bytes()
    if before != after:
        pairs = enumerate(zip(before, after, strict=False))
        at = next((n for n, (x, y) in pairs if x != y), min(len(before), len(after)))
        where = f"{ours.name}: the bytes differ from {at} on, and no field does"
        yield Difference(UNEXPLAINED, where, REASONS[UNEXPLAINED])


_PLACES = ("source", "file", "fields")  # where the log lies; ``fields`` are made flat


def _events(path: Path) -> Iterator[dict[str, Any]]:
    """The events of a log as flat records; those inside a payload stand after it."""
    keyring = path.with_name(KEYRING)
    log = bk.open(str(path), keyring=keyring if keyring.is_file() else None)
    for record in log.event_records():
        flat = {key: value for key, value in record.items() if key not in _PLACES}
        yield {**flat, **_flat("", record["fields"])}


def _flat(prefix: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        return {prefix: value}
    found: dict[str, Any] = {}
    for key, item in value.items():
        found.update(_flat(f"{prefix}.{key}" if prefix else str(key), item))
    return found


def _compare(
    where: str,
    before: Mapping[str, Any] | None,
    after: Mapping[str, Any] | None,
    context: _Context,
) -> Iterator[Difference]:
    if before is None or after is None:
        gone = "the fresh log has more events" if before is None else "the fresh log has fewer"
        yield Difference(UNEXPLAINED, f"{where}: {gone}", REASONS[UNEXPLAINED])
        return
    for field in {**before, **after}:
        old, new = before.get(field, _ABSENT), after.get(field, _ABSENT)
        if old != new:
            yield context.difference(field, where, old, new)


_ABSENT = "(absent)"


def _compare_manifests(
    old: mf.Manifest, new: mf.Manifest, context: _Context
) -> Iterator[Difference]:
    settings = {**old.settings, **new.settings}
    for name in settings:
        before, after = old.settings.get(name), new.settings.get(name)
        if before != after and name == "version" and context.other_version:
            yield context.difference("server_version", "settings", before, after)
        elif before != after:
            yield context.difference(name, "settings", before, after)
    for field in ("scenario", "story", "cell", "not_run", "errors", "warnings"):
        before, after = getattr(old, field), getattr(new, field)
        if before != after:
            yield context.difference(field, "manifest", before, after)
    yield from _compare_marks(old.marks, new.marks, context)


def _compare_marks(
    old: Sequence[mf.MarkPoint], new: Sequence[mf.MarkPoint], context: _Context
) -> Iterator[Difference]:
    for before, after in zip_longest(old, new):
        if before is None or after is None or before.name != after.name:
            yield context.difference("marks", "manifest", before, after)
            return
        for field in ("file", "pos", "gtid_executed", "unix_time", "prepared"):
            left, right = getattr(before, field), getattr(after, field)
            if left != right:
                yield context.difference(field, f"mark {before.name}", left, right)
        if before.commit_clock != after.commit_clock:
            yield Difference("commit-clock", f"mark {before.name}", REASONS["commit-clock"])
        for table in sorted({*before.tables, *after.tables}):
            left, right = before.tables.get(table), after.tables.get(table)
            if left != right:
                yield context.difference("table", f"mark {before.name} {table}", left, right)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
