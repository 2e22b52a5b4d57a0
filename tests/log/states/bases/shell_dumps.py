"""Dumps as MySQL Shell's utilities write them, of real servers' rows.

MySQL Shell itself is in none of the registries that these tests reach. What stands in the files
follows its source (``modules/util/dump``: ``dumper.cc``, ``text_dump_writer.cc``,
``schema_dumper.cc``, ``dump_utils.cc``): the same SELECT with the same encodings, the same names,
the same fields of JSON. Synthetic all the same.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymysql
import zstandard

from binlogkit_fixtures.servers import Server
from binlogkit_fixtures.truth import quote_name

_RESERVED = re.compile(r"[\x00-,/:-@\[-^`{-}\x7f]")
_UNSAFE = re.compile(r"(binary|blob|bit|geometry|geomcollection|geometrycollection|point|linestring"
                     r"|polygon|vector)$")  # fmt: skip
_NUMBERS = re.compile(r"(int|decimal|float|double|year)$")
_ESCAPED = {"\0": "0", "\b": "b", "\n": "n", "\r": "r", "\t": "t", "\x1a": "Z"}
_PACKINGS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "zstd": (".zst", zstandard.compress),
    "gzip": (".gz", gzip.compress),
    "none": ("", bytes),
}


@dataclass(frozen=True, slots=True)
class Style:
    """Options of a dump: the ``dialect``, ``bytesPerChunk`` in rows, ``compression``, HEX in place
    of base64, and whether ``@.json`` is as before 9.2."""

    separator: str = "\t"
    quote: str = ""
    optionally: bool = False
    end: str = "\n"
    chunk: int = 0
    compression: str = "zstd"
    base64: bool = True
    flat: bool = True
    extension: str = "tsv"


def encoded(name: str) -> str:
    """A name in a file's."""
    return _RESERVED.sub(lambda found: f"%{ord(found[0]):02X}", name)


def dump(server: Server, folder: Path, db: str, style: Style) -> None:
    """Write a dump of a database; nothing else may write meanwhile."""
    folder.mkdir()
    with server.connect(autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("SET sql_mode = '', time_zone = '+00:00', NAMES utf8mb4")
        cursor.execute(f"SHOW {'BINARY LOG' if server.version[0] == '9' else 'MASTER'} STATUS")
        ((file, pos, _, _, gtids),) = cursor.fetchall()
        cursor.execute(f"SHOW FULL TABLES IN {quote_name(db)} WHERE Table_type = 'BASE TABLE'")
        tables = [str(name) for name, _ in cursor.fetchall()]
        chunks: dict[str, int] = {}
        for table in tables:
            _table(cursor, folder, db, table, style, chunks, server.version)
    begun: dict[str, Any] = {
        "dumper": "mysqlsh Ver 8.4.0", "version": "2.0.1", "origin": "dumpSchemas",
        "schemas": [db], "basenames": {db: encoded(db)}, "defaultCharacterSet": "utf8mb4",
        "tzUtc": True, "bytesPerChunk": 64000000, "serverVersion": server.version,
        "gtidExecutedInconsistent": False, "consistent": True,
    }  # fmt: skip
    if style.flat:
        begun |= {"binlogFile": file, "binlogPosition": pos, "gtidExecuted": gtids}
    else:
        begun["source"] = {"binlog": {"file": file, "position": pos, "gtidExecuted": gtids}}
    written(folder / "@.json", begun)
    schema = {
        "schema": db, "includesDdl": True, "includesData": True, "tables": tables, "views": [],
        "basenames": {table: f"{encoded(db)}@{encoded(table)}" for table in tables},
    }  # fmt: skip
    written(folder / f"{encoded(db)}.json", schema)
    written(folder / "@.done.json", {"dataBytes": sum(chunks.values()), "chunkFileBytes": chunks})


def written(path: Path, value: object) -> None:
    """Write JSON."""
    path.write_text(json.dumps(value, ensure_ascii=False, indent=4), "utf-8")


def _table(
    cursor: pymysql.cursors.Cursor,
    folder: Path,
    db: str,
    table: str,
    style: Style,
    chunks: dict[str, int],
    version: str,
) -> None:
    base, name = f"{encoded(db)}@{encoded(table)}", f"{quote_name(db)}.{quote_name(table)}"
    cursor.execute(f"SHOW CREATE TABLE {name}")
    ((_, made),) = cursor.fetchall()
    create = made.replace("CREATE TABLE", "CREATE TABLE IF NOT EXISTS", 1)
    (folder / f"{base}.sql").write_text(
        f"-- MySQLShell dump 2.0.1  Distrib Ver 8.4.0 for Linux on x86_64\n--\n"
        f"-- Host: localhost    Database: {db}    Table: {table}\n"
        f"-- ------------------------------------------------------\n-- Server version\t{version}\n"
        "\n--\n-- Table structure for table\n--\n\n"
        "/*!40101 SET @saved_cs_client     = @@character_set_client */;\n"
        f"/*!50503 SET character_set_client = utf8mb4 */;\n{create};\n"
        "/*!40101 SET character_set_client = @saved_cs_client */;\n",
        "utf-8",
    )
    cursor.execute(
        "SELECT COLUMN_NAME, DATA_TYPE FROM information_schema.columns WHERE EXTRA NOT LIKE "
        "'%% GENERATED' AND TABLE_SCHEMA = %s AND TABLE_NAME = %s ORDER BY ORDINAL_POSITION",
        (db, table),
    )
    columns = [(str(column), str(kind)) for column, kind in cursor.fetchall()]
    unsafe = {column for column, kind in columns if _UNSAFE.search(kind)}
    encode = "TO_BASE64" if style.base64 else "HEX"
    wanted = [f"{encode}({quote_name(c)})" if c in unsafe else quote_name(c) for c, _ in columns]
    # CONVERT to binary keeps the client from reading the texts in its own way.
    wanted = [f"CONVERT(CONVERT({one} USING utf8mb4) USING binary)" for one in wanted]
    cursor.execute(f"SELECT {', '.join(wanted)} FROM {name}")
    kinds = [not (_NUMBERS.search(kind) and column not in unsafe) for column, kind in columns]
    lines = [_line(row, kinds, style) for row in cursor.fetchall()]
    suffix, pack = _PACKINGS[style.compression]
    extension = style.extension + suffix
    size = style.chunk or len(lines) + 1
    parts = [lines[i : i + size] for i in range(0, len(lines), size)] or [[]]
    for i, part in enumerate(parts):
        last = "@" if i == len(parts) - 1 else ""
        file = f"{base}@{last}{i}.{extension}" if style.chunk else f"{base}.{extension}"
        data = "".join(part).encode("latin-1")
        (folder / file).write_bytes(pack(data))
        (folder / f"{file}.idx").write_bytes(len(data).to_bytes(8, "big"))
        if style.chunk:
            chunks[file] = len(data)
    options: dict[str, Any] = {
        "schema": db, "table": table, "columns": [column for column, _ in columns],
        "defaultCharacterSet": "utf8mb4", "fieldsTerminatedBy": style.separator,
        "fieldsEnclosedBy": style.quote, "fieldsOptionallyEnclosed": style.optionally,
        "fieldsEscapedBy": "\\", "linesTerminatedBy": style.end,
    }  # fmt: skip
    if unsafe:
        decode = "FROM_BASE64" if style.base64 else "UNHEX"
        options["decodeColumns"] = dict.fromkeys(sorted(unsafe), decode)
    about = {
        "options": options, "includesData": True, "includesDdl": True, "extension": extension,
        "chunking": bool(style.chunk), "compression": style.compression, "primaryIndex": [],
        "partitions": [], "basenames": {},
    }  # fmt: skip
    written(folder / f"{base}.json", about)


def _line(row: Sequence[bytes | None], texts: Sequence[bool], style: Style) -> str:
    """A row as ``Text_dump_writer::store_row`` writes it, each byte as a character."""
    signs = {"\\", style.quote, style.separator[0], style.end[0]} - {""}
    fields = []
    for value, text in zip(row, texts, strict=True):
        if value is None:
            fields.append("\\N")
            continue
        quote = style.quote if text or not style.optionally else ""
        written = "".join(
            f"\\{_ESCAPED[c]}" if c in _ESCAPED else f"\\{c}" if c in signs else c
            for c in value.decode("latin-1")
        )
        fields.append(f"{quote}{written}{quote}")
    return style.separator.join(fields) + style.end
