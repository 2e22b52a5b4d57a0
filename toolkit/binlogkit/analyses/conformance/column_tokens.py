"""Columns of ours as mysqlbinlog prints their cells, many at once, and which rule each cell is of.

The forms are those of tokens.py, the rules those of value_rules.py; what has no form here is judged
one by one. A form that is wrong here differs from the text, and is judged one by one, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.analyses.conformance import charsets
from binlogkit.analyses.conformance.cell import ColumnFacts, family_of
from binlogkit.frames.arrays import numbers
from binlogkit.frames.generic import json_texts
from binlogkit.frames.text_columns import bytes_of, value_texts

Mask = npt.NDArray[np.bool_]

_BITS = {"TINYINT": 8, "SHORTINT": 16, "MEDIUMINT": 24, "INT": 32, "LONGINT": 64}
_SIZE = re.compile(r"[A-Z]+\((\d{1,9})\b")
_UTF8 = frozenset((None, "utf8", "utf8mb3", "utf8mb4", "ascii"))
_NEVER_ASCII = frozenset(("ucs2", "utf16", "utf16le", "utf32"))
_SECOND = 1_000_000  # µs
_QUOTE = pa.scalar(b"'", pa.binary())
_NOTHING = pa.scalar(b"", pa.binary())
_ESCAPES = {8: b"\\b", 9: b"\\t", 10: b"\\n", 12: b"\\f", 13: b"\\r", 39: b"\\'", 92: b"\\\\"}
_MOST_ESCAPED = 4


def _escapes() -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    table = np.zeros((256, _MOST_ESCAPED), np.uint8)
    lengths = np.ones(256, np.int64)
    for byte in range(256):
        written = _ESCAPES.get(byte, b"\\x%02x" % byte if byte < 0x20 else bytes([byte]))
        table[byte, : len(written)] = np.frombuffer(written, np.uint8)
        lengths[byte] = len(written)
    return table, lengths


_ESCAPED, _LENGTHS = _escapes()


@dataclass(frozen=True, slots=True)
class Tokens:
    """``texts``: a token for each cell, null where it is NULL; ``rules``: the cells that a rule is
    for, by its name; ``odd``: cells that are judged one by one; ``digits``: the text has six of a
    value's digits."""

    texts: pa.BinaryArray
    rules: tuple[tuple[str, Mask], ...] = ()
    odd: Mask | None = None
    digits: bool = False


def column_tokens(
    array: pa.Array, field: pa.Field, type_: str, column: ColumnFacts
) -> Tokens | None:
    """The tokens of a column; None where all are judged one by one.

    ``field``: as in a batch (frames/schema.py); ``type_``: what mysqlbinlog prints of the column.
    """
    make = _BY_FAMILY.get(family_of(type_, column))
    if make is None or not type_:
        return None
    return make(array, field, type_, column)


def _there(array: pa.Array) -> Mask:
    return np.asarray(array.is_valid())


def _size_of(type_: str) -> int | None:
    found = _SIZE.match(type_)
    return int(found[1]) if found else None


def _binary(texts: pa.Array) -> pa.BinaryArray:
    return texts.cast(pa.binary())


def _quoted(texts: pa.Array) -> pa.BinaryArray:
    return pc.binary_join_element_wise(_QUOTE, _binary(texts), _QUOTE, _NOTHING)


def _values(array: pa.Array) -> Any:
    """Numbers, 0 for NULL."""
    return np.asarray(array.fill_null(0) if array.null_count else array)


def _made(texts: list[str], array: pa.Array) -> pa.BinaryArray:
    """Texts of the values, null where the array has none."""
    made = _binary(pa.array(texts, pa.string()))
    return made if not array.null_count else pc.if_else(array.is_valid(), made, None)


# Numbers


def _integers(array: pa.Array, _: pa.Field, type_: str, column: ColumnFacts) -> Tokens | None:
    bits = _BITS.get(type_)
    if bits is None or not pa.types.is_integer(array.type):
        return None
    is_unsigned = pa.types.is_unsigned_integer(array.type)
    if column.unsigned is not None and column.unsigned != is_unsigned:
        return None
    values, low = _values(array), np.uint64((1 << bits) - 1)
    unsigned = values.astype(np.int64).view(np.uint64) & low
    if is_unsigned:
        unsigned = values.astype(np.uint64)
    signed = unsigned.view(np.int64)
    negative = unsigned >> np.uint64(bits - 1) != 0
    if bits < 64:
        signed = signed - (negative.astype(np.int64) << bits)
    texts = numbers(signed, pa.int64(), _there(array)).cast(pa.string())
    if negative.any():
        other = numbers(unsigned, pa.uint64()).cast(pa.string())
        both = pc.binary_join_element_wise(texts, " (", other, ")", "")
        texts = pc.if_else(pa.array(negative), both, texts)
    rules = (("unsigned-reading", negative & _there(array)),) if is_unsigned else ()
    return Tokens(_binary(texts), rules)


def _plain_numbers(array: pa.Array, *_: Any) -> Tokens | None:
    if not pa.types.is_integer(array.type):
        return None
    return Tokens(_binary(array.cast(pa.string())))


def _decimals(array: pa.Array, field: pa.Field, *_: Any) -> Tokens | None:
    texts = value_texts(array, field)
    return None if texts is None else Tokens(_binary(texts))


def _floats(form: str, rule: str, *, digits: bool) -> Callable[..., Tokens | None]:
    def make(array: pa.Array, field: pa.Field, *_: Any) -> Tokens | None:
        if not pa.types.is_floating(array.type):
            return None
        values = _values(array)
        odd = ~np.isfinite(values)
        if odd.any():
            values = np.where(odd, 0, values)
        texts = [form % value for value in values.tolist()]
        ours = json_texts(array, field).to_pylist()
        there = _there(array)
        others = np.array(
            [
                mine is not None and text.rstrip() not in (mine, mine.removesuffix(".0"))
                for text, mine in zip(texts, ours, strict=True)
            ],
            bool,
        )
        return Tokens(_made(texts, array), ((rule, others & there & ~odd),), odd & there, digits)

    return make


def _bits(array: pa.Array, _: pa.Field, type_: str, __: ColumnFacts) -> Tokens | None:
    size = _size_of(type_)
    if size is None or not pa.types.is_integer(array.type):
        return None
    return _by_value(array, "bit-as-number", lambda value: f"b'{value:0{size}b}'")


# ENUM and SET


def _by_value(array: pa.Array, rule: str, form: Callable[[Any], str | None]) -> Tokens | None:
    """What ``form`` makes of each different value; None: it is judged one by one."""
    coded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    texts = [form(value) for value in coded.dictionary.to_pylist()]
    there = _there(array)
    odd = None
    if None in texts:
        strange = pa.array([text is None for text in texts], pa.bool_()).take(coded.indices)
        odd = np.asarray(strange.fill_null(False))
        there = there & ~odd
    made = pa.array([text or "" for text in texts], pa.string()).take(coded.indices)
    return Tokens(_binary(made), ((rule, there),), odd)


def _enum(array: pa.Array, _: pa.Field, __: str, column: ColumnFacts) -> Tokens | None:
    if pa.types.is_integer(array.type):
        return _plain_numbers(array)
    labels = column.labels
    if labels is None or len(set(labels)) < len(labels):
        return None
    places = {"": 0} | {label: i for i, label in enumerate(labels, 1)}

    def form(label: str) -> str | None:
        return str(places[label]) if label in places else None

    return _by_value(array, "enum-label", form)


def _set(array: pa.Array, _: pa.Field, type_: str, column: ColumnFacts) -> Tokens | None:
    size, labels = _size_of(type_), column.labels
    if size is None:
        return None

    def bits_of(number: int) -> str:
        stored = number.to_bytes(size, "little")
        return "b'" + "".join(f"{byte:08b}" for byte in stored) + "'"

    if pa.types.is_integer(array.type):
        return _by_value(array, "set-bits", lambda n: bits_of(n) if n >> 8 * size == 0 else None)
    if labels is None:
        return None

    def form(members: str) -> str | None:
        chosen = members.split(",") if members else []
        if any(label not in labels for label in chosen):
            return None
        number = sum(1 << labels.index(label) for label in set(chosen))
        again = ",".join(label for i, label in enumerate(labels) if number >> i & 1)
        return bits_of(number) if again == members and number >> 8 * size == 0 else None

    return _by_value(array, "set-labels", form)


# Dates and times


def _dates(array: pa.Array, field: pa.Field, *_: Any) -> Tokens | None:
    texts = value_texts(array, field)
    if texts is None:
        return None
    odd = np.asarray(pc.fill_null(pc.binary_length(texts), 10)) != 10
    colons = _quoted(pc.replace_substring(texts, "-", ":"))
    return Tokens(colons, (("date-colons", _there(array) & ~odd),), odd)


def _times(array: pa.Array, field: pa.Field, *_: Any) -> Tokens | None:
    texts = value_texts(array, field)
    return None if texts is None else Tokens(_quoted(texts))


def _timestamps(array: pa.Array, field: pa.Field, *_: Any) -> Tokens | None:
    if not pa.types.is_timestamp(array.type):
        return None
    scale = int((field.metadata or {}).get(b"binlogkit:scale", b"0"))
    values, there = _values(array.cast(pa.int64())), _there(array)
    # From the second 0 on all zeros are the zero date, which is no moment.
    odd = there & (values < _SECOND)
    texts = numbers(values // _SECOND, pa.int64(), there).cast(pa.string())
    if scale:
        digits = numbers(values % _SECOND + _SECOND, pa.int64()).cast(pa.string())
        fraction = pc.utf8_slice_codeunits(digits, 1, scale + 1)
        texts = pc.binary_join_element_wise(texts, ".", fraction, "")
    return Tokens(_binary(texts), (("timestamp-epoch", there & ~odd),), odd)


# Strings


def escaped(array: pa.Array) -> pa.BinaryArray:
    """Bytes as they stand between quotes, null where they are NULL."""
    array = _binary(array)
    data = bytes_of(array)
    if not len(data) or not ((data < 0x20) | (data == 0x27) | (data == 0x5C)).any():
        return array
    lengths = _LENGTHS[data]
    ends = np.frombuffer(array.buffers()[1], np.int32)[array.offset :][: len(array) + 1]
    sums = np.concatenate([[0], np.cumsum(lengths)])
    offsets = sums[ends - ends[0]].astype(np.int32)
    written = _ESCAPED[data]
    made = written[np.arange(_MOST_ESCAPED) < lengths[:, None]]
    plain = pa.Array.from_buffers(
        pa.binary(), len(array), [None, pa.py_buffer(offsets), pa.py_buffer(made)]
    )
    return plain if not array.null_count else pc.if_else(array.is_valid(), plain, None)


def _strings(array: pa.Array, _: pa.Field, type_: str, column: ColumnFacts) -> Tokens | None:
    if pa.types.is_binary(array.type):
        return _bytes(array, type_) if column.charset in (None, "binary") else None
    if not pa.types.is_string(array.type) or column.charset == "binary":
        return None
    if column.charset in _UTF8:
        return Tokens(_quoted(escaped(array)))
    return _encoded(array, str(column.charset))


def _bytes(array: pa.Array, type_: str) -> Tokens:
    there = _there(array)
    if not type_.startswith("STRING("):
        return Tokens(_quoted(escaped(array)), (("binary-as-hex", there),))
    size = _size_of(type_)
    values = array.to_pylist()
    cut = pa.array([None if v is None else v.rstrip(b"\0") for v in values], pa.binary())
    whole = _values(pc.binary_length(array))
    short = _values(pc.binary_length(cut)) < whole
    rules = (("binary-as-hex", there & ~short), ("binary-padding", there & short))
    return Tokens(_quoted(escaped(cut)), rules, there & (whole != size))


def _encoded(array: pa.Array, charset: str) -> Tokens:
    """Text in another character set than UTF-8, each different one once."""
    coded = array.dictionary_encode()
    texts = coded.dictionary.to_pylist()
    alike = [text.isascii() and charset not in _NEVER_ASCII for text in texts]
    others = [text for text, same in zip(texts, alike, strict=True) if not same]
    encoded = iter(charsets.encode_all(charset, others))
    stored = [
        text.encode() if same else next(encoded) for text, same in zip(texts, alike, strict=True)
    ]
    strange = [data is None for data in stored]
    ruled = [not (same or odd) for same, odd in zip(alike, strange, strict=True)]

    def cells(which: list[bool]) -> Mask:
        return np.asarray(pa.array(which, pa.bool_()).take(coded.indices).fill_null(False))

    tokens = pa.array([data or b"" for data in stored], pa.binary()).take(coded.indices)
    return Tokens(_quoted(escaped(tokens)), (("charset", cells(ruled)),), cells(strange))


def _json(array: pa.Array, *_: Any) -> Tokens | None:
    if not pa.types.is_string(array.type):
        return None
    return Tokens(_quoted(escaped(array)))


_BY_FAMILY: dict[str, Callable[..., Tokens | None]] = {
    "INT": _integers,
    "YEAR": _plain_numbers,
    "DECIMAL": _decimals,
    "FLOAT": _floats("%-20g", "float-six-digits", digits=True),
    "DOUBLE": _floats("%.20g", "double-digits", digits=False),
    "BIT": _bits,
    "ENUM": _enum,
    "SET": _set,
    "DATE": _dates,
    "TIME": _times,
    "DATETIME": _times,
    "TIMESTAMP": _timestamps,
    "STRING": _strings,
    "JSON": _json,
}
