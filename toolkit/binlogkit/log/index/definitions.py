"""What logs say of tables, as an index keeps it: statements and table maps, by their events' bytes.

Most logs have most of it in common, and it is asked for once or twice: so an event's body is held
and parsed once for all parts, and a part has only numbers and references to bodies of its own.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from struct import Struct
from typing import Any, TypeAlias

from binlogkit.errors import DamageError
from binlogkit.events.format_description import FormatDescription, StartV3
from binlogkit.events.query import ExecuteLoadQuery, Query
from binlogkit.events.reader import FORMATS, EventParser
from binlogkit.events.table_map import TableMap
from binlogkit.log.index.part import GIVEN, Body, Said
from binlogkit.rows.ddl import Catalog
from binlogkit.rows.ddl.catalog_text import catalog_of_text
from binlogkit.sources.raw import EventHeader, RawEvent

Record: TypeAlias = dict[str, Any]
_NUMBERS = (
    "event", "pos", "inner", "code", "timestamp", "server_id", "version", "end_pos", "tx"
)  # fmt: skip
_ROW = Struct(f"<{len(_NUMBERS) + 1}q")  # and the number of the file
_NONE = -1


def definition_record(said: Said) -> Record:
    """What is kept of one."""
    raw, body = said.raw, said.body
    record: Record = {
        "event": said.event, "file": raw.file, "pos": raw.pos, "inner": raw.inner,
        "code": raw.header.type_code, "timestamp": raw.header.timestamp,
        "server_id": raw.header.server_id,
        "version": raw.version, "body": raw.body, "end_pos": raw.end_pos, "tx": said.tx,
    }  # fmt: skip
    if isinstance(body, TableMap):
        record |= {"db": body.db, "table": body.table}
    elif not isinstance(body, (str, Catalog)):
        record |= {"db": body.schema, "statement": body.query}
    return record


class Bodies:
    """The bodies of events, each of which is held and parsed once."""

    def __init__(self) -> None:
        # By the format descriptions before them, by which they are parsed.
        self._known: dict[Hashable, tuple[EventParser, dict[Hashable, tuple[bytes, Body]]]] = {}

    def of_log(self, records: Iterable[Record]) -> Iterator[tuple[bytes, Body]]:
        """Those in the records of one log, in order. DamageError."""
        formats: Hashable = None
        parser, known = self._known.setdefault(formats, (EventParser(_raised), {}))
        for r in records:
            code, key = r["code"], (r["code"], r["version"], r["body"])
            if r["inner"] is None and code in FORMATS:
                formats = formats, key
                before = replace(parser.context)
                parser, known = self._known.setdefault(formats, (EventParser(_raised, before), {}))
            if key not in known:
                header = EventHeader(r["timestamp"], code, r["server_id"], 0, 0, 0)
                raw = RawEvent(
                    r["file"], r["pos"], header, r["body"], inner=r["inner"], version=r["version"]
                )
                given = code == GIVEN
                body = catalog_of_text(raw.body.decode()) if given else parser.parse(raw).body
                known[key] = raw.body, _body(body)
            yield known[key]


def _raised(error: DamageError) -> None:
    raise error


def _body(body: object) -> Body:
    if isinstance(body, (FormatDescription, StartV3)):
        return body.server_version
    assert isinstance(body, (Query, ExecuteLoadQuery, TableMap, Catalog))
    return body


class KeptSaid:
    """What one log says of tables, from its records; ``files``: the present names of its files,
    ``bodies``: those of other logs, too. DamageError."""

    __slots__ = ("_bodies", "_files", "_rows")

    def __init__(self, records: Sequence[Record], files: Mapping[str, str], bodies: Bodies) -> None:
        self._bodies, self._files = tuple(bodies.of_log(records)), tuple(files.values())
        numbers = {name: i for i, name in enumerate(files)}
        self._rows = b"".join(
            _ROW.pack(
                numbers[r["file"]], *(_NONE if r[name] is None else r[name] for name in _NUMBERS)
            )
            for r in records
        )

    def __iter__(self) -> Iterator[Said]:
        rows = _ROW.iter_unpack(self._rows)
        for row, (data, body) in zip(rows, self._bodies, strict=True):
            file, event, pos, at, code, timestamp, server_id, version, end, tx = row
            inner = None if at == _NONE else at
            header = EventHeader(timestamp, code, server_id, end - pos, 0, 0)
            raw = RawEvent(
                self._files[file], pos, header, data, inner=inner,
                outer_end=None if inner is None else end, version=version,
            )  # fmt: skip
            yield Said(event, raw, body, None if tx == _NONE else tx)
