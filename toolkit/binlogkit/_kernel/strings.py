"""Cells that hold bytes: text and binary strings, BLOBs, ENUM, SET, JSON, GEOMETRY, VECTOR."""

from __future__ import annotations

from collections.abc import Callable

from binlogkit._kernel.cells import CellSpec, Layout, Reader, Undecodable, fixed, prefixed
from binlogkit._kernel.charsets import decode
from binlogkit._kernel.json_binary import InvalidJson, to_text
from binlogkit._kernel.metadata import SET_WIDTHS
from binlogkit.constants import ColumnType as T

BINARY = "binary"
BLOBS = (T.TINY_BLOB, T.BLOB, T.MEDIUM_BLOB, T.LONG_BLOB)
_ONE_BYTE_LENGTH = 255


def text(spec: CellSpec) -> Reader:
    """Bytes in ``spec.charset``: str, or bytes for ``binary``; unknown: strict UTF-8, or ASCII."""
    if spec.charset == BINARY:
        return bytes
    charset = spec.read_as

    def read(raw: bytes) -> object:
        try:
            return decode(charset, raw)
        except UnicodeDecodeError as exc:
            if spec.charset is None:
                what = "ASCII" if spec.no_utf8 else "UTF-8"
                reason = f"no {what} at byte {exc.start}, and the charset is unknown"
                return Undecodable(raw, reason)
            return Undecodable(raw, f"no {charset} at byte {exc.start}: {exc.reason}")

    decode(charset, b"")  # an unknown charset is an error of the type, not of a cell
    return read


def varchar(spec: CellSpec) -> tuple[Layout, Reader]:
    """VARCHAR and VARBINARY: the length in front has 2 bytes when the column can hold over 255."""
    return prefixed(1 if spec.length <= _ONE_BYTE_LENGTH else 2), text(spec)


def char(spec: CellSpec) -> tuple[Layout, Reader]:
    """CHAR and BINARY; stored without padding, which BINARY(n) gets back (zero bytes)."""
    layout, read = varchar(spec)
    if spec.charset != BINARY or not spec.length:
        return layout, read
    width = spec.length

    def pad(raw: bytes) -> bytes:
        return raw.ljust(width, b"\0")

    return layout, pad


def blob(spec: CellSpec) -> tuple[Layout, Reader]:
    """TINYBLOB … LONGTEXT."""
    return _blob_layout(spec), text(spec)


def as_stored(spec: CellSpec) -> tuple[Layout, Reader]:
    """GEOMETRY (SRID and WKB) and VECTOR: bytes."""
    return _blob_layout(spec), bytes


def json(spec: CellSpec) -> tuple[Layout, Reader]:
    """JSON: the text that the server prints.

    No bytes are its ``null``: what INSERT IGNORE leaves in a NOT NULL column (8.0.31).
    """

    def read(raw: bytes) -> object:
        try:
            return to_text(raw, as_5_7=spec.as_5_7) if raw else "null"
        except InvalidJson as exc:
            return Undecodable(raw, str(exc))

    return _blob_layout(spec), read


def enum(spec: CellSpec) -> tuple[Layout, Reader]:
    """ENUM: its index, or its label when the labels are known; 0 is the empty error value."""
    if spec.length not in (1, 2):
        raise ValueError(f"an ENUM of {spec.length} bytes")
    labels = None if spec.labels is None else ("", *spec.labels)

    def read(raw: bytes) -> object:
        index = int.from_bytes(raw, "little")
        if labels is None:
            return index
        if index >= len(labels):
            return Undecodable(raw, f"index {index} of an ENUM with {len(labels) - 1} labels")
        return labels[index]

    return fixed(spec.length), read


def set_(spec: CellSpec) -> tuple[Layout, Reader]:
    """SET: its bit mask, or its labels joined by commas when they are known."""
    if spec.length not in SET_WIDTHS:
        raise ValueError(f"a SET of {spec.length} bytes")
    labels = spec.labels

    def read(raw: bytes) -> object:
        mask = int.from_bytes(raw, "little")
        if labels is None:
            return mask
        if mask >> len(labels):
            return Undecodable(raw, f"mask {mask:#x} of a SET with {len(labels)} labels")
        return ",".join(label for i, label in enumerate(labels) if mask >> i & 1)

    return fixed(spec.length), read


def _blob_layout(spec: CellSpec) -> Layout:
    if not 1 <= spec.length <= 4:
        raise ValueError(f"{spec.type.name} with {spec.length} length bytes")
    return prefixed(spec.length)


readers: dict[T, Callable[[CellSpec], tuple[Layout, Reader]]] = {
    **dict.fromkeys((T.VARCHAR, T.VAR_STRING), varchar),
    T.STRING: char,
    **dict.fromkeys(BLOBS, blob),
    T.ENUM: enum,
    T.SET: set_,
    **dict.fromkeys((T.JSON, T.TYPED_ARRAY), json),
    **dict.fromkeys((T.GEOMETRY, T.VECTOR), as_stored),
}
