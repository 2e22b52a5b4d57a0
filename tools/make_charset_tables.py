"""Write ``toolkit/binlogkit/_kernel/charset_data.json`` from real MySQL servers.

    python tools/make_charset_tables.py SOCKET|PORT [SOCKET|PORT ...] > charset_data.json

Each server (root, password from ``MYSQL_PWD`` or none) is asked for its collations; the last one
named, which must be of 8.0 or later, also for the characters of every charset: what
``CONVERT(CONVERT(X'code' USING charset) USING utf32)`` gives for every single byte, every two-byte
code, every three-byte code of EUC-JP and every four-byte code of gb18030. A single-byte charset
becomes a table. Of the others the differences from one of Python's codecs are kept, as runs of
codes.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TextIO

import pymysql
from pymysql.cursors import Cursor

SINGLE_BYTE = (
    *("armscii8", "ascii", "cp1250", "cp1251", "cp1256", "cp1257", "cp850", "cp852", "cp866"),
    *("dec8", "geostd8", "greek", "hebrew", "hp8", "keybcs2", "koi8r", "koi8u", "latin1"),
    *("latin2", "latin5", "latin7", "macce", "macroman", "swe7", "tis620"),
)
PYTHON_CODEC = {
    "big5": "big5",
    "cp932": "cp932",
    "eucjpms": "euc_jp",
    "euckr": "cp949",
    "gb18030": "gb18030",
    "gb2312": "gb2312",
    "gbk": "gbk",
    "sjis": "shift_jis",
    "ujis": "euc_jp",
}
EUC_JP = ("eucjpms", "ujis")
NO_CHARACTER = "\ufffe"  # what codecs.charmap_decode takes for "undefined"
REPLACEMENT = "\ufffd"
CODES_PER_QUERY = 2000


def connect(address: str) -> Cursor:
    where = {"port": int(address)} if address.isdigit() else {"unix_socket": address}
    connection: pymysql.Connection[Cursor] = pymysql.connect(
        host="127.0.0.1", user="root", password=os.environ.get("MYSQL_PWD", ""), **where
    )
    return connection.cursor()


def version(cursor: Cursor) -> str:
    cursor.execute("SELECT VERSION()")
    (row,) = cursor.fetchall()
    return str(row[0]).partition("-")[0]


def collations(cursor: Cursor) -> dict[int, tuple[str, str]]:
    """Collation id -> (charset, collation); ``utf8`` by its newer name ``utf8mb3``."""
    cursor.execute(
        "SELECT id, character_set_name, collation_name FROM information_schema.collations"
    )
    return {
        int(number): (_renamed(charset), _renamed(name))
        for number, charset, name in cursor.fetchall()
    }


def _renamed(name: str) -> str:
    charset, underscore, rest = name.partition("_")
    return f"utf8mb3{underscore}{rest}" if charset == "utf8" else name


def merged(tables: Iterable[dict[int, tuple[str, str]]]) -> dict[int, tuple[str, str]]:
    found: dict[int, tuple[str, str]] = {}
    for table in tables:
        for number, names in table.items():
            if found.setdefault(number, names) != names:
                raise SystemExit(f"collation {number} is {found[number]} and {names}")
    return dict(sorted(found.items()))


def characters(
    cursor: Cursor, charset: str, codes: Iterable[bytes]
) -> Iterator[tuple[bytes, str | None]]:
    """Each code and the one character that the server has for it, or None."""
    stream = iter(codes)
    while chunk := list(islice(stream, CODES_PER_QUERY)):
        one = "CONVERT(CONVERT(X'{}' USING {}) USING utf32)"
        cursor.execute("SELECT " + ",".join(f"HEX({one.format(c.hex(), charset)})" for c in chunk))
        (row,) = cursor.fetchall()
        for code, text in zip(chunk, row, strict=True):
            yield code, _character(code, charset, text)


def _character(code: bytes, charset: str, utf32: str | None) -> str | None:
    """None for what is malformed (NULL or cut), unmapped (``?``, U+FFFD) or several characters."""
    if utf32 is None or len(utf32) != 8:
        return None
    char = chr(int(utf32, 16))
    if char == "?" and code != b"?":
        return None
    return None if char == REPLACEMENT and charset != "gb18030" else char


def python_character(codec: str, code: bytes) -> str | None:
    try:
        text = code.decode(codec)
    except UnicodeDecodeError:
        return None
    return text if len(text) == 1 else None


def table(cursor: Cursor, charset: str) -> str:
    codes = (bytes([i]) for i in range(256))
    return "".join(c or NO_CHARACTER for _, c in characters(cursor, charset, codes))


def differences(cursor: Cursor, charset: str) -> Iterator[tuple[bytes, str | None]]:
    """Codes whose character differs from the Python codec's, and the server's character."""
    codec = PYTHON_CODEC[charset]
    singles = dict(characters(cursor, charset, (bytes([i]) for i in range(256))))
    leads = [i for i in range(0x80, 256) if singles[bytes([i])] is None]
    longer = multi_byte(charset, leads)
    for code, char in (*singles.items(), *characters(cursor, charset, longer)):
        if char != python_character(codec, code):
            yield code, char


def multi_byte(charset: str, leads: list[int]) -> Iterator[bytes]:
    yield from (bytes([i, j]) for i in leads for j in range(256))
    if charset in EUC_JP:
        high = range(0xA1, 0xFF)
        yield from (bytes([0x8F, i, j]) for i in high for j in high)
    if charset == "gb18030":
        yield from four_byte()


def four_byte() -> Iterator[bytes]:
    high, digits = range(0x81, 0xFF), range(0x30, 0x3A)
    for first in high:
        for second in digits:
            for third in high:
                yield from (bytes([first, second, third, fourth]) for fourth in digits)


def runs(pairs: Iterable[tuple[bytes, str | None]]) -> list[tuple[str, int, int | None]]:
    """(first code, how many, first code point or None) of codes and characters that count up."""
    found: list[tuple[int, int, int, int | None]] = []
    for code, char in pairs:
        number, point = int.from_bytes(code, "big"), None if char is None else ord(char)
        if found:
            start, width, count, first = found[-1]
            follows = None if first is None else first + count
            if (start + count, width, follows) == (number, len(code), point):
                found[-1] = (start, width, count + 1, first)
                continue
        found.append((number, len(code), 1, point))
    return [(start.to_bytes(width, "big").hex(), n, point) for start, width, n, point in found]


def main(addresses: list[str]) -> None:
    cursors = [connect(a) for a in addresses]
    newest = cursors[-1]
    single = {charset: table(newest, charset) for charset in SINGLE_BYTE}
    multi = {c: [codec, runs(differences(newest, c))] for c, codec in PYTHON_CODEC.items()}
    write(
        sys.stdout, [version(c) for c in cursors], merged(map(collations, cursors)), single, multi
    )


def write(
    out: TextIO,
    versions: list[str],
    names: Mapping[int, tuple[str, str]],
    single: Mapping[str, str],
    multi: Mapping[str, object],
) -> None:
    """The tables as JSON, one entry per line; ``charsets.py`` says what they are."""
    made = "Generated by tools/make_charset_tables.py; do not edit."
    about = f"{made} From MySQL {', '.join(versions)}; the characters are those of {versions[-1]}."
    out.write(f'{{\n"about": {json.dumps(about)}')
    for key, entries in (("collations", names), ("single_byte", single), ("multi_byte", multi)):
        lines = (f'"{name}": {json.dumps(entry)}' for name, entry in entries.items())
        out.write(f',\n"{key}": {{\n' + ",\n".join(lines) + "\n}")
    out.write("\n}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
