"""Cells of a live server: stores values, and reads their bytes back from its binlog.

The reader of the log is made for these tables alone: one column, one row an event, so a cell is all
that is left of its event, whatever its type.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

HEADER = 19
CHECKSUM = 4
TABLE_MAP, WRITE_ROWS, UPDATE_ROWS, PARTIAL_UPDATE_ROWS = 19, 30, 31, 39
MAGIC = 4


class Server(Protocol):
    """What is needed of a server."""

    def query(self, sql: str) -> list[tuple[Any, ...]]: ...

    def read_file(self, name: str) -> bytes: ...


@dataclass(frozen=True)
class Cell:
    """A value's bytes in the row image, its column as the table map has it, the server's answer."""

    type_code: int
    meta: bytes
    data: bytes
    answer: str


def collect(server: Server, case: Any, select: str) -> list[Cell]:
    """Store the values of a case one by one, and read them back both ways."""
    server.query("SET SESSION sql_mode = 'ALLOW_INVALID_DATES', time_zone = '+00:00'")
    server.query("CREATE DATABASE IF NOT EXISTS cells CHARACTER SET utf8mb4")
    server.query("DROP TABLE IF EXISTS cells.t")
    server.query(f"CREATE TABLE cells.t (c {case.column})")
    server.query("FLUSH BINARY LOGS")
    answers = []
    for value in case.values:
        server.query(f"INSERT INTO cells.t VALUES ({value})")
        answers.append(_answer(case.kind, server.query(f"SELECT {select} FROM cells.t")[0][0]))
        server.query("TRUNCATE cells.t")
    images = list(row_images(server.read_file(_last_log(server))))
    assert len(images) == len(answers), (case.column, len(images), len(answers))
    return [Cell(t, m, d, a) for (t, m, d), a in zip(images, answers, strict=True)]


def row_images(log: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """(type code, metadata, cell) of every row written to a one-column table."""
    kind, meta = 0, b""
    for code, body in events(log):
        if code == TABLE_MAP:
            kind, meta = _column(body)
        elif code == WRITE_ROWS:
            extra = int.from_bytes(body[8:10], "little")
            image = body[8 + extra :]
            assert image[0] == 1 and image[1] & 1, "one column, present"
            assert not image[2] & 1, "not NULL"
            yield kind, meta, image[3:]


def events(log: bytes) -> Iterator[tuple[int, bytes]]:
    """(type code, body without checksum) of every event."""
    p = MAGIC
    while p < len(log):
        size = int.from_bytes(log[p + 9 : p + 13], "little")
        yield log[p + 4], log[p + HEADER : p + size - CHECKSUM]
        p += size


def _column(body: bytes) -> tuple[int, bytes]:
    p = 8
    for _ in range(2):  # database and table: length, name, NUL
        p += body[p] + 2
    assert body[p] == 1, "one column"
    size = body[p + 2]
    return body[p + 1], body[p + 3 : p + 3 + size]


def _answer(kind: str, value: object) -> str:
    if isinstance(value, bytes):
        value = value.decode("ascii")
    if kind in ("string", "json"):
        return bytes.fromhex(str(value)).decode("utf-8")
    return repr(value) if kind == "float" else str(value)


def _last_log(server: Server) -> str:
    return str(server.query("SHOW BINARY LOGS")[-1][0])
