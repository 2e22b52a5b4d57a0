"""Literals of a dump -> cells of a table's columns, as decoded rows have them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import pyarrow as pa

from binlogkit._kernel.charsets import SINGLE_BYTE, canonical, decode
from binlogkit.frames.arrow_types import field_facts
from binlogkit.frames.snapshots.inserts import HEX, NULL, NUMBER, STRING, Literal
from binlogkit.frames.snapshots.values import UNKNOWN, Misread, text_readers, timestamp_of
from binlogkit.rows.schema import ColumnDefinition

Read = Callable[[Literal], Any]


@dataclass(slots=True)
class Dialect:
    """What literals mean where they stand: the session's character set, empty where that is not
    known, and the minutes that its time zone is ahead of UTC, None likewise. ``doubts``: why cells
    are unknown, and how many; ``exact``: FLOATs have all their digits."""

    charset: str = ""
    offset: int | None = None
    doubts: dict[str, int] = field(default_factory=dict)
    exact: bool = False

    def unknown(self, reason: str) -> Any:
        """A cell that the dump does not hold."""
        self.doubts[reason] = self.doubts.get(reason, 0) + 1
        return UNKNOWN


_SIX_DIGITS = "a dump has FLOAT with six digits, which many values share"
_LOST = "a question mark may stand for a character that the dump's character set lacks"
_ZONE = "the dump does not say the time zone of its TIMESTAMPs"
_NO_NAMES = "the dump does not say its character set (SET NAMES)"
_NO_TEXT = "a text is none in the dump's character set"


def reader_of(column: ColumnDefinition, made: pa.Field, dialect: Dialect) -> Read:
    """What reads a column's literals; :class:`Misread` for one that is no value of its type.

    ``made``: the column's field in decoded rows.
    """
    read = _READERS[field_facts(made).get("kind", "text")](column, made, dialect)

    def cell(literal: Literal) -> Any:
        return None if literal[0] == NULL else read(literal)

    return cell


def _integer(literal: Literal) -> int:
    what, value = literal
    text = value.decode("latin-1") if what == STRING else value
    if what == HEX or not re.fullmatch(r"-?0*\d{1,20}", text, re.ASCII):
        raise Misread("no integer")
    return int(text)


def _bits(column: ColumnDefinition, _: pa.Field, __: Dialect) -> Read:
    width = ((column.length or 1) + 7) // 8

    def read(literal: Literal) -> int:
        what, value = literal
        if what == NUMBER or len(value) > width:
            raise Misread("no bits")
        return int.from_bytes(value, "big")

    return read


def _number(literal: Literal) -> float:
    what, value = literal
    text = value.decode("latin-1") if what == STRING else value
    try:
        return float(text) if what != HEX else float("x")
    except ValueError as exc:
        raise Misread("no number") from exc


def _float(column: ColumnDefinition, _: pa.Field, dialect: Dialect) -> Read:
    def read(literal: Literal) -> Any:
        value = _number(literal)
        exact = dialect.exact or column.scale is not None or not value
        return value if exact else dialect.unknown(_SIX_DIGITS)

    return read


def _of_text(column: ColumnDefinition, made: pa.Field, dialect: Dialect) -> Read:
    kind, scale = field_facts(made)["kind"], column.scale or 0
    read_text = text_readers(kind, column.length or 10, scale)
    assert read_text is not None

    def read(literal: Literal) -> Any:
        what, value = literal
        if what == HEX:
            raise Misread(f"no {kind}")
        text = value.decode("latin-1") if what == STRING else value
        if kind != "timestamp":
            return read_text(text)
        found = timestamp_of(scale, dialect.offset)(text)
        return dialect.unknown(_ZONE) if found is UNKNOWN else found

    return read


def _binary(column: ColumnDefinition, _: pa.Field, __: Dialect) -> Read:
    size = (column.length or 1) if column.type == "binary" else 0

    def read(literal: Literal) -> bytes:
        what, value = literal
        if what == NUMBER:
            raise Misread("no bytes")
        return bytes(value).ljust(size, b"\0")

    return read


def _text(column: ColumnDefinition, made: pa.Field, dialect: Dialect) -> Read:
    own = "utf8mb4" if field_facts(made).get("kind") == "json" else canonical(column.charset or "")

    def read(literal: Literal) -> Any:
        what, value = literal
        if what == NUMBER:
            raise Misread("no text")
        if what == STRING and not dialect.charset and (b"?" in value or not value.isascii()):
            return dialect.unknown(_NO_NAMES)
        names = own if what == HEX or dialect.charset == "binary" else dialect.charset or "ascii"
        if names != own and b"?" in value and not _holds(names, own):
            return dialect.unknown(_LOST)
        try:
            return decode(names, value)
        except ValueError:  # no text, or no character set that is known
            return dialect.unknown(_NO_TEXT)

    return read


_ASTRAL = re.compile("[\U00010000-\U0010ffff]")
_BEYOND = frozenset({"utf8mb4", "utf16", "utf16le", "utf32", "gb18030"})  # characters past U+FFFF
_UNICODE = frozenset({"utf8mb4", "utf8mb3", "ucs2", "utf16", "utf16le", "utf32"})


@lru_cache(64)
def _holds(names: str, own: str) -> bool:
    """Whether each text of the character set ``own`` has one in ``names``, so that a question
    mark is one."""
    holes = own not in _UNICODE and "\ufffe" in SINGLE_BYTE.get(own, "\ufffe")
    if names == "utf8mb4":
        return not holes
    return names == "utf8mb3" and own not in _BEYOND and not holes


def _shown(label: str) -> str:
    """As SHOW CREATE TABLE has it: with a question mark for each character past U+FFFF (5.7 and 8.0
    as they run; labels are kept in utf8mb3 there)."""
    return _ASTRAL.sub("?", label)


def _labels(column: ColumnDefinition, made: pa.Field, dialect: Dialect) -> Read:
    read_text = _text(column, made, dialect)
    several = column.type == "set"
    labels = {*column.labels, ""}

    def read(literal: Literal) -> Any:
        text = read_text(literal)
        if text is not UNKNOWN:
            given = text.split(",") if several else [text]
            if not labels.issuperset(given) and not labels.issuperset(map(_shown, given)):
                raise Misread("no label of the column's")
        return text

    return read


_READERS: dict[str, Callable[[ColumnDefinition, pa.Field, Dialect], Read]] = {
    **dict.fromkeys(("integer", "year"), lambda *_: _integer),
    "bit": _bits,
    "float": _float,
    "double": lambda *_: _number,
    **dict.fromkeys(("decimal", "date", "time", "datetime", "timestamp"), _of_text),
    **dict.fromkeys(("binary", "geometry", "vector"), _binary),
    **dict.fromkeys(("text", "json"), _text),
    **dict.fromkeys(("enum", "set"), _labels),
}
