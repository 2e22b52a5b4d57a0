"""Targets below and beside events: cells, JSON, row images, payloads, texts."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from decimal import Decimal
from functools import cache, lru_cache

from binlogkit._kernel.cells import CellOverrun, CellSpec, Decoder, NoArrowValue, Undecodable
from binlogkit._kernel.charsets import CHARSETS
from binlogkit._kernel.codecs import decoder_for
from binlogkit._kernel.cursor import Cursor
from binlogkit._kernel.json_binary import to_text
from binlogkit._kernel.json_diff import apply, diff_text, parse_diffs
from binlogkit._kernel.json_tree import parse
from binlogkit._kernel.metadata import metadata_length, resolve
from binlogkit.analyses.conformance import parse_decoded
from binlogkit.constants import ColumnType as T
from binlogkit.errors import BinlogKitError, MalformedEventError
from binlogkit.events.base import Event, ParseContext, parser_of
from binlogkit.events.gtid_set import GtidSet
from binlogkit.events.rows import RowsEvent
from binlogkit.events.table_map import TableMap
from binlogkit.frames.event_records import event_fields
from binlogkit.rows.ddl import Catalog, statement_kind
from binlogkit.rows.ddl.dump import load_schema
from binlogkit.rows.ddl.written import written_tables
from binlogkit.rows.resolve import resolve_schema
from binlogkit.rows.schema import TableSchema
from binlogkit.sources.raw import EventHeader, RawEvent
from tests.fuzz.binlogkit_fuzz import seeds
from tests.fuzz.binlogkit_fuzz.framing import Part
from tests.fuzz.binlogkit_fuzz.invariants import check_record, documented, is_safe
from tests.reference.binlogkit_reference import ColumnBatch, record_batch
from tests.reference.binlogkit_reference.images import RowDecoder
from tests.reference.binlogkit_reference.records import window_records

__all__ = ["VALUE_TARGETS"]

_PLAIN = (int, float, str, bytes, Decimal)
_LABELS = ("a", "b,c", "")


@cache
def _decoders() -> list[Decoder]:
    kinds = [
        *(CellSpec(t, unsigned=u) for t in (T.TINY, T.SHORT, T.INT24, T.LONG, T.LONGLONG)
          for u in (True, False)),
        *(CellSpec(t) for t in (T.YEAR, T.FLOAT, T.DOUBLE, T.DATE, T.NEWDATE)),
        *(CellSpec(t) for t in (T.TIME, T.DATETIME, T.TIMESTAMP)),
        *(CellSpec(t, scale=f) for t in (T.TIME2, T.DATETIME2, T.TIMESTAMP2) for f in range(7)),
        *(CellSpec(T.NEWDECIMAL, precision=p, scale=s)
          for p, s in ((1, 0), (9, 9), (10, 5), (30, 30), (65, 30), (65, 0))),
        *(CellSpec(T.BIT, length=n) for n in (1, 8, 9, 64)),
        *(CellSpec(T.ENUM, length=n, labels=x) for n in (1, 2) for x in (None, _LABELS)),
        *(CellSpec(T.SET, length=n, labels=x) for n in (1, 2, 3, 4, 8) for x in (None, _LABELS)),
        *(CellSpec(T.VARCHAR, length=20, charset=c) for c in (None, *CHARSETS)),
        *(CellSpec(T.STRING, length=300, charset=c) for c in ("gb18030", "binary")),
        CellSpec(T.DECIMAL, length=12),
        *(CellSpec(t, length=n) for t in (T.BLOB, T.GEOMETRY, T.VECTOR) for n in (1, 2, 3, 4)),
        *(CellSpec(T.JSON, length=4, as_5_7=old) for old in (True, False)),
    ]  # fmt: skip
    return [decoder_for(spec) for spec in kinds]


def _cells(data: bytes) -> None:
    if not data:
        return
    found = _decoders()
    decode = found[data[0] % len(found)]
    body = data[1:]
    try:
        value, p = decode(body, 0, len(body))
    except CellOverrun as exc:
        assert is_safe(str(exc))
        return
    assert 0 < p <= len(body)
    if isinstance(value, Undecodable):
        assert is_safe(value.reason) and body[:p].endswith(value.raw)
    elif isinstance(value, NoArrowValue):
        assert value.text.isascii() and is_safe(value.text)
    else:
        assert isinstance(value, _PLAIN)
        if isinstance(value, str):
            value.encode("utf-8")


def _cell_seeds() -> Iterator[bytes]:
    for i in range(len(_decoders())):
        for body in (bytes(10), b"\xff" * 9, b"\x80" * 20, b"\x03\0\0\0abcdef", b"\x05A\x8f\xa1B1"):
            yield bytes([i]) + body
    for vector in seeds.vectors():
        if len(vector) < 300:
            yield b"\xb8" + vector


def _json_binary(data: bytes) -> None:
    for as_5_7 in (False, True):
        try:
            text = to_text(data, as_5_7=as_5_7)
        except ValueError as exc:
            assert is_safe(str(exc))
            return
        assert len(text) <= 8 * len(data) + 64
        text.encode("utf-8")
    if not any(ch in text for ch in ("\n",)):
        parse(text)


def _json_seeds() -> Iterator[bytes]:
    yield from (
        b"\x04\0",
        b"\x05\1\0",
        b"\x0c\3abc",
        b"\x0b" + bytes(8),
        b"\x0f\xf6\6\4\2\x80\1\2\3",
    )
    yield b"\0\1\0\x0c\0\x0b\0\1\0\x05\7\0a"
    yield b"\2\2\0\x0e\0\5\1\0\x0c\x0a\0\3abc"
    yield b"\0" * 12
    for vector in seeds.vectors():
        if len(vector) < 600:
            yield vector


_DOCUMENTS = ('{"a": {"b": [1, 2, {"c": "x"}]}, "": null}', "[]", "{}", '"s"', "[[[[1]]]]")


def _json_diff(data: bytes) -> None:
    if not data:
        return
    document = _DOCUMENTS[data[0] % len(_DOCUMENTS)]
    try:
        diff_text(data[1:])
        after = apply(document, parse_diffs(data[1:]))
    except ValueError as exc:
        assert is_safe(str(exc))
        return
    after.encode("utf-8")
    parse(after)


def _diff_seeds() -> Iterator[bytes]:
    for op, path, value in (
        (0, b"$.a", b"\5\1\0"), (1, b"$.a.b[0]", b"\x0c\3abc"), (2, b"$.a.b[last-1]", b""),
        (1, b'$."x y"', b"\0\0\0\4\0"), (1, b"$[last]", b"\2\1\0\7\0\4\1\0"), (0, b"$", b"\4\0"),
        (2, b"$[0][0][0]", b""),
    ):  # fmt: skip
        one = bytes([op, len(path)]) + path + (bytes([len(value)]) + value if op != 2 else b"")
        for document in range(len(_DOCUMENTS)):
            yield bytes([document]) + one
            yield bytes([document]) + one * 3


def _metadata(data: bytes) -> None:
    """Column metadata as a table map holds it."""
    if not data:
        return
    try:
        width = metadata_length(data[0], data, 1)
        resolve(data[0], data[1 : 1 + width])
    except ValueError as exc:
        assert is_safe(str(exc))


def _metadata_seeds() -> Iterator[bytes]:
    for code in (*range(21), *range(240, 256)):
        yield bytes([code, 1, 2, 3])


def _image(data: bytes) -> None:
    """``map_length:2 which:1 table map's body, rows event's body``: to row records and back."""
    if len(data) < 3:
        return
    length, which = int.from_bytes(data[:2], "little"), data[2]
    table_map, rows = data[3 : 3 + length], data[3 + length :]
    code = seeds.ROWS[which % len(seeds.ROWS)]
    documented(lambda: _decode(table_map, code, rows, "5.7.22" if which & 64 else "8.0.31"))


def _parsed(code: int, body: bytes) -> Event:
    raw = RawEvent("fuzz", 4, EventHeader(1, code, 1, len(body) + 23, 0, 0), body)
    parser = parser_of(code)
    assert parser is not None
    return Event(raw, parser(Cursor(body, "fuzz", 4), raw, ParseContext()))


@lru_cache(maxsize=1024)  # most mutations change the rows, and table maps have a target
def _schema(table_map: bytes) -> TableSchema:
    mapped = _parsed(19, table_map).body
    assert isinstance(mapped, TableMap)
    return resolve_schema(mapped, 0, (), file="fuzz", offset=4)


def _decode(table_map: bytes, code: int, rows: bytes, version: str) -> None:
    schema, event = _schema(table_map), _parsed(code, rows)
    assert isinstance(event.body, RowsEvent)
    batch = ColumnBatch.empty(schema, None)
    head = ("fuzz", 4, len(rows), None)
    try:
        for row, (before, after) in enumerate(RowDecoder(schema, version).rows(event)):
            batch.add((*head, row, 1, None, 1, None, None, None, None, event.body.op, None, row, 0),
                      before, after)  # fmt: skip
    except MalformedEventError as error:
        assert is_safe(str(error))
    if zlib.crc32(rows) & 31 == 0:  # the way to records is many times as long
        for record in window_records([record_batch(batch)]):
            check_record(record)


def _image_seeds() -> Iterator[bytes]:
    for table_map, code, rows in seeds.row_pairs():
        yield (
            len(table_map).to_bytes(2, "little")
            + bytes([seeds.ROWS.index(code)])
            + table_map
            + rows
        )


def _payload(data: bytes) -> None:
    """Inner events as they stand in a payload, compressed here, so that the mutator sees them."""
    import zstandard

    from binlogkit.events.reader import read_events

    packed = zstandard.ZstdCompressor(1).compress(data)
    body = b"\2\1\0\3\3\xfc" + len(data).to_bytes(2, "little") + b"\1\3\xfc"
    body += len(packed).to_bytes(2, "little") + b"\0" + packed
    raw = RawEvent("fuzz", 4, EventHeader(1, 40, 1, len(body) + 23, 0, 0), body)

    def run() -> None:
        for event in read_events([raw]):
            check_record({"type": event.type, "fields": event_fields(event)})

    documented(run)


def _inner(part: Part) -> bytes:
    size = 19 + len(part.body)
    head = part.timestamp.to_bytes(4, "little") + bytes([part.code])
    head += part.server_id.to_bytes(4, "little") + size.to_bytes(4, "little") + bytes(6)
    return head + part.body


def _payload_seeds() -> Iterator[bytes]:
    for code in (2, 16, 19, 30, 31, 32, 39):
        for part in seeds.events_of(code)[:12]:
            yield _inner(part)
    some = [_inner(seeds.events_of(code)[0]) for code in (2, 19, 30, 16) if seeds.events_of(code)]
    yield b"".join(some)


def _gtid_text(data: bytes) -> None:
    text = data.decode("utf-8", "backslashreplace")

    def run() -> None:
        one = GtidSet.parse(text)
        assert GtidSet.parse(str(one)) == one
        assert not one.subtract(one)
        one.count()
        assert text in one or text not in one

    documented(run)
    with suppress(MalformedEventError):
        again = GtidSet.read(Cursor(data))
        assert GtidSet.parse(str(again)) == again


def _gtid_text_seeds() -> Iterator[bytes]:
    uuid = b"3e11fa47-71ca-11e1-9e33-c80aa9429562"
    yield uuid + b":1-5:7:9-11," + uuid.replace(b"3e", b"4f") + b":1"
    yield uuid + b":tag:1-5:other:7\n , " + uuid.upper() + b":3"
    for part in seeds.events_of(35):
        yield part.body


@cache
def _catalog(fold: int) -> Catalog:
    catalog = Catalog("8.0.31", lower_case_table_names=fold)
    catalog.apply("CREATE DATABASE d CHARACTER SET utf8mb4", default_db=None)
    catalog.apply("CREATE TABLE a (a INT PRIMARY KEY, b VARCHAR(5), c TEXT)", default_db="d")
    return catalog


def _ddl(data: bytes) -> None:
    """``mode:1 text``: everything that takes statements; one in four as a script, or as DML."""
    if not data:
        return
    mode = (0, 4, 0x100000, 0x100004)[data[0] & 3]
    sql = data[1:].decode(("utf-8", "latin-1")[data[0] >> 2 & 1], "backslashreplace")
    catalog = _catalog(data[0] >> 3 & 1).copy()
    for change in catalog.apply(sql, default_db=None if data[0] & 16 else "d", sql_mode=mode):
        assert change.action != "unknown" or change.reason
        assert is_safe(change.reason or "")
    bits = zlib.crc32(data) & 3
    if bits == 0:
        statement_kind(sql, mode)
        written_tables(sql, None, mode)
    elif bits == 1:
        with suppress(BinlogKitError):
            load_schema(f"USE d;\n{sql}")


def _ddl_seeds() -> Iterator[bytes]:
    for sql in seeds.statements():
        yield b"\0" + sql.encode("utf-8")
    for i, sql in enumerate(
        (
            "ALTER TABLE a ADD x ENUM('a','b') CHARACTER SET latin1 FIRST, DROP b, RENAME TO b",
            "CREATE TABLE t (a INT, b VARCHAR(5) AS (concat(a,'x')) STORED, UNIQUE KEY (a)) "
            "/*!50100 PARTITION BY HASH (a) PARTITIONS 4 */",
            "CREATE TABLE `t``x` LIKE d.a",
            "CREATE TABLE \"t\" (\"a\" NATIONAL VARCHAR(3), b SERIAL, c DECIMAL(5,2) UNSIGNED)",
            "RENAME TABLE a TO b, b TO c.d",
            "/*!080034 DROP TABLE IF EXISTS a, b */ -- x\n",
            "WITH q AS (SELECT 1) UPDATE a x JOIN (b AS y, d.c) ON x.a = y.a SET y.b = 'it''s'",
            "DELETE a, d.b FROM a JOIN d.b USING (a) WHERE x = \"\\\"\" ORDER BY 1 LIMIT 2",
            "LOAD DATA LOCAL INFILE 'x' INTO TABLE a CHARACTER SET sjis",
            "ALTER DATABASE d DEFAULT CHARACTER SET = utf8mb4 COLLATE utf8mb4_bin READ ONLY = 1",
            "DELIMITER //\nCREATE TABLE a (a INT)//\nDELIMITER ;\n",
        )
    ):  # fmt: skip
        yield bytes([i % 4]) + sql.encode()


def _mysqlbinlog(data: bytes) -> None:
    """The text that mysqlbinlog prints, as records."""
    decoded = parse_decoded(data.splitlines(keepends=True), "mysqlbinlog")

    def run() -> None:
        for record in decoded.events or ():
            check_record(record)
        for record in decoded.rows or ():
            check_record(record)

    documented(run)


def _mysqlbinlog_seeds() -> Iterator[bytes]:
    import lzma

    for path in sorted(seeds.DATA.glob("*/*/*.mysqlbinlog.txt.xz"), key=lambda p: p.stat().st_size):
        if path.stat().st_size > 2700:
            return
        lines = lzma.decompress(path.read_bytes()).splitlines(keepends=True)
        starts = [i for i, line in enumerate(lines) if line.startswith(b"# at ")]
        for at in starts[:: max(1, len(starts) // 12)]:
            yield b"".join(lines[at : at + 24])[:2000]


def _own_records(data: bytes) -> None:
    """JSON lines that claim to be ours."""

    def run() -> None:
        decoded = parse_decoded(data.splitlines(keepends=True), "binlogkit")
        for records in (decoded.events, decoded.rows):
            list(records or ())

    documented(run)


def _own_seeds() -> Iterator[bytes]:
    yield b'{"pos": 4, "op": "insert", "after": {"a": 1}}\n{"pos": 5, "type": "XID_EVENT"}\n'
    yield b'{"pos": 4, "type": "QUERY_EVENT", "fields": {"query": "x"}}\n\n'


VALUE_TARGETS: dict[str, tuple[Callable[[bytes], None], Callable[[], Iterator[bytes]]]] = {
    "cells": (_cells, _cell_seeds),
    "metadata": (_metadata, _metadata_seeds),
    "json_binary": (_json_binary, _json_seeds),
    "json_diff": (_json_diff, _diff_seeds),
    "images": (_image, _image_seeds),
    "inner_events": (_payload, _payload_seeds),
    "gtid_sets": (_gtid_text, _gtid_text_seeds),
    "ddl": (_ddl, _ddl_seeds),
    "mysqlbinlog_text": (_mysqlbinlog, _mysqlbinlog_seeds),
    "json_lines": (_own_records, _own_seeds),
}
