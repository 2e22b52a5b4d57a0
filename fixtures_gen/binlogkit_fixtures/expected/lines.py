"""``events.jsonl`` and ``rows.jsonl``: the events and row changes of a fixture's logs.

A line is a record of the ``events`` or ``rows`` form (docs/records.md), the log by its bare name,
and two keys more. ``integers``: each integer beyond 2^53 once more as text, by its JSON Pointer,
because JSON libraries read such numbers as floating point. ``raw``: of a row each cell's bytes as
the log stores them, without the length in front of them (null for NULL), cut by another path than
the decoder's; of an event inside a payload its own bytes, else null, for there the log's bytes from
``pos`` to ``end_pos`` are the event.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import binlogkit as bk
from binlogkit.analyses.conformance.stored import Key, StoredCell, StoredError, StoredLog, StoredRow
from binlogkit.errors import DamageError
from binlogkit.log.stored_events import StoredEvents
from binlogkit.sources.raw import RawEvent
from binlogkit_fixtures import manifest as mf
from binlogkit_fixtures.expected.files import Record
from binlogkit_fixtures.servers.keyring import KEYRING

__all__ = ["event_lines", "opened", "row_lines"]

EXACT = 1 << 53  # integers up to here are exact as a double
_HEADER = struct.Struct("<IBIIIH")  # of an event inside a payload: always 19 bytes


def opened(folder: Path, manifest: mf.Manifest) -> bk.Log:
    """The logs of a fixture, read together: tables and XA transactions go from one to the next."""
    keyring = folder / KEYRING
    names = [str(folder / log.name) for log in manifest.binlogs]
    return bk.open(names, keyring=keyring if keyring.is_file() else None)


def event_lines(log: bk.Log) -> Iterator[Record]:
    """One record per event, in order. DamageError: a log is damaged."""
    inner = {
        (Path(carrier.name).name, event.raw.pos, event.raw.inner): event.raw
        for carrier in log.carriers
        for event in StoredEvents(carrier)
        if event.raw.inner is not None
    }
    for record in log.event_records():
        line = _named(record)
        if record["inner"] is None:
            line["raw"] = None
        else:
            raw = inner[line["file"], record["pos"], record["inner"]]
            line["raw"] = _hex(_header(raw) + raw.body)
        yield _with_integers(line)


def row_lines(log: bk.Log) -> Iterator[Record]:
    """One record per row change, in order.

    DamageError: a log is damaged, or cuts into other rows than the decoder gives.
    """
    cut = {Path(c.name).name: _Cut(StoredLog(StoredEvents(c))) for c in log.carriers}
    for record in log.row_records():
        line = _named(record)
        where, key = line["file"], _place(record)
        try:
            stored = cut[where].row(key, record["row"])
            line["raw"] = {
                which: _raw(record[which], cells)
                for which, cells in (("before", stored.before), ("after", stored.after))
            }
        except StoredError as error:
            raise DamageError(where, key[0], f"the rows cannot be cut: {error}") from error
        yield _with_integers(line)


class _Cut:
    """The stored rows of one log; of an event at a time."""

    def __init__(self, log: StoredLog) -> None:
        self._log = log
        self._key: Key = (-1, -1)
        self._rows: list[StoredRow] = []

    def row(self, key: Key, number: int) -> StoredRow:
        """Row ``number`` of the event at ``key``. StoredError: there is none."""
        if key != self._key:
            self._key, self._rows = key, list(self._log.rows(key))
        if number >= len(self._rows):
            raise StoredError(f"no row {number}")
        return self._rows[number]


def _raw(
    image: Mapping[str, Any] | None, cells: Mapping[int, StoredCell] | None
) -> dict[str, str | None] | None:
    """The cells' bytes by the names that the decoder has."""
    if image is None and cells is None:
        return None
    if image is None or cells is None:
        raise StoredError("one image too many")
    if len(image) != len(cells):
        raise StoredError(f"{len(cells)} cells, the decoder has {len(image)}")
    by_name = zip(image, (cells[i] for i in sorted(cells)), strict=True)
    return {name: None if c.content is None else _hex(c.content) for name, c in by_name}


def _named(record: Mapping[str, Any]) -> Record:
    """Without the folder that the logs happen to lie in."""
    found = {**record, "file": Path(str(record["file"])).name}
    if found.get("source"):
        found["source"] = Path(str(found["source"])).name
    return found


def _place(record: Mapping[str, Any]) -> Key:
    return record["pos"], -1 if record["inner"] is None else record["inner"]


def _header(raw: RawEvent) -> bytes:
    h = raw.header
    return _HEADER.pack(h.timestamp, h.type_code, h.server_id, h.size, h.log_pos, h.flags)


def _hex(data: bytes) -> str:
    return "0x" + data.hex().upper()


def _with_integers(line: Record) -> Record:
    line["integers"] = dict(_large("", line))
    return line


def _large(pointer: str, value: Any) -> Iterator[tuple[str, str]]:
    """JSON Pointer (RFC 6901) and digits of every integer that a double may not hold."""
    if isinstance(value, int) and not isinstance(value, bool):
        if abs(value) > EXACT:
            yield pointer, str(value)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            step = str(key).replace("~", "~0").replace("/", "~1")
            yield from _large(f"{pointer}/{step}", item)
    elif isinstance(value, (list, tuple)):
        for number, item in enumerate(value):
            yield from _large(f"{pointer}/{number}", item)
