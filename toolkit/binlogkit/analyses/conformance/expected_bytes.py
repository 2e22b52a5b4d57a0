"""Texts, bytes, geometries and vectors that are not the expected ones: rules by the bytes."""

from __future__ import annotations

import re
import struct
from base64 import b64decode
from contextlib import suppress
from typing import Any

from binlogkit.analyses.conformance.charsets import CHARSETS, says
from binlogkit.analyses.conformance.expected_cell import ANY_DECODER, ExpectedCell, text_of
from binlogkit.analyses.conformance.rule import Kind, Rules

BYTES = Rules(ANY_DECODER)
_add = BYTES.add
_OURS = Kind.OURS
_HEX = re.compile(r"(?:0x)?((?:[0-9A-Fa-f]{2})*)")
_WIDE = {"ucs2": "utf-16", "utf16": "utf-16", "utf32": "utf-32"}
_BYTES = ("STRING", "GEOMETRY", "VECTOR")
_POINT = b"\1\1\0\0\0"  # WKB's byte order and type


def _content(cell: ExpectedCell) -> bytes | None:
    """The value's bytes: of BINARY(n) padded, of text as they are stored."""
    binary = cell.column.charset in (None, "binary") and isinstance(cell.expected, str)
    found = _HEX.fullmatch(cell.expected) if binary else None
    return bytes.fromhex(found[1]) if found and cell.expected.startswith("0x") else cell.raw


def _bytes_said(ours: Any) -> list[bytes]:
    """What a text says in hexadecimal or Base64."""
    text, found = text_of(ours), list[bytes]()
    if text and (match := _HEX.fullmatch(text)):
        found.append(bytes.fromhex(match[1]))
    with suppress(ValueError):  # no Base64, or no ASCII
        found.append(b64decode(text, validate=True))
    return found


@_add("bytes-as-hex", "the cell's bytes in hexadecimal, text too", *_BYTES, "BIT")
def _as_hex(cell: ExpectedCell) -> bool:
    found = _HEX.fullmatch(text_of(cell.ours))
    return found is not None and bool(cell.ours) and bytes.fromhex(found[1]) == _content(cell)


@_add("bytes-as-base64", "the cell's bytes in Base64", *_BYTES, "BIT")
def _as_base64(cell: ExpectedCell) -> bool:
    content = _content(cell)
    return bool(content) and b64decode(text_of(cell.ours), validate=True) == content


@_add("bytes-as-latin1", "bytes as the text that Latin-1 makes of them, byte by byte", *_BYTES)
def _as_latin1(cell: ExpectedCell) -> bool:
    binary = cell.column.family != "STRING" or cell.column.charset in (None, "binary")
    return binary and text_of(cell.ours).encode("latin-1") == _content(cell)


@_add("bytes-as-text", "bytes that happen to be UTF-8 as that text", *_BYTES)
def _as_text(cell: ExpectedCell) -> bool:
    binary = cell.column.family != "STRING" or cell.column.charset in (None, "binary")
    return binary and text_of(cell.ours).encode("utf-8", "surrogateescape") == _content(cell)


@_add(
    "charset-not-converted",
    "text as the bytes that its column's character set stores, taken for UTF-8",
    "STRING", "ENUM", "SET",
    kind=_OURS,
)  # fmt: skip
def _not_converted(cell: ExpectedCell) -> bool:
    known = cell.column.charset not in (None, "binary")
    return known and text_of(cell.ours).encode("utf-8", "surrogateescape") == cell.raw


@_add("binary-unpadded", "BINARY(n) is padded to n when n is known", "STRING", kind=_OURS)
def _unpadded(cell: ExpectedCell) -> bool:
    said = [*_bytes_said(cell.ours), text_of(cell.ours).encode("utf-8", "surrogateescape")]
    with suppress(UnicodeEncodeError):
        said.append(cell.ours.encode("latin-1"))
    return cell.raw != _content(cell) and cell.raw in said


@_add(
    "geometry-as-parts",
    "a GEOMETRY as its SRID and the Base64 of its WKB, and of a POINT x and y",
    "GEOMETRY",
)
def _geometry(cell: ExpectedCell) -> bool:
    if cell.raw is None or not isinstance(cell.ours, dict):
        return False
    parts = dict(cell.ours)
    wkb = b64decode(text_of(parts.pop("wkb", None)), validate=True)
    if (parts.pop("srid", None) or 0).to_bytes(4, "little") + wkb != cell.raw:
        return False
    if not parts:
        return True
    return wkb[:5] == _POINT and parts == dict(
        zip("xy", struct.unpack("<dd", wkb[5:]), strict=True)
    )


@_add("vector-as-list", "a VECTOR's numbers as a list", "VECTOR")
def _vector(cell: ExpectedCell) -> bool:
    return (
        isinstance(cell.ours, list) and struct.pack(f"<{len(cell.ours)}f", *cell.ours) == cell.raw
    )


@_add(
    "wrong-byte-order",
    "text of UTF-16, UTF-32 or UCS-2, which are stored with the high byte first, read with the low "
    "one first",
    "STRING",
    kind=_OURS,
)
def _byte_order(cell: ExpectedCell) -> bool:
    codec = _WIDE.get(cell.column.charset or "")
    return (
        codec is not None and text_of(cell.ours).encode(f"{codec}-le", "surrogatepass") == cell.raw
    )


@_add(
    "charset-mistaken", "the stored bytes as another character set than the column's reads them",
    "STRING",
    kind=_OURS,
)  # fmt: skip
def _mistaken(cell: ExpectedCell) -> bool:
    own, ours = cell.column.charset, text_of(cell.ours)
    return (
        own not in (None, "binary")
        and cell.raw is not None
        and any(says(name, cell.raw, ours) for name in CHARSETS if name != own)
    )


@_add(
    "charset-damage", "ours holds U+FFFD where bytes could not be read: they are lost", "STRING",
    kind=_OURS,
)  # fmt: skip
def _damage(cell: ExpectedCell) -> bool:
    return "\ufffd" in text_of(cell.ours) and "\ufffd" not in str(cell.expected)
