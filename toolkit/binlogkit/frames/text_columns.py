"""Columns as texts, and what the bytes of texts hold, seen all at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Union

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.frames.arrays import bits, one_text
from binlogkit.frames.arrow_types import field_facts

#: Which of some rows.
Mask = npt.NDArray[np.bool_]
#: A text for each of some rows, without a null; one text is every row's.
Part = Union[str, "pa.StringArray"]

# Bytes of rows, together and of one in the mean, from where each is written alone: their texts are
# held several times, and may be more than an Arrow string can hold.
LARGE, LARGE_ROW = 32 << 20, 64 << 10

_HOUR = 3_600_000_000  # µs
_MOST_HOURS = 838  # of a TIME


def has_large_rows(size: int, rows: int) -> bool:
    """Whether rows of so many bytes are too large to be made by the column."""
    return size > LARGE or size > rows * LARGE_ROW


def bytes_of(texts: pa.StringArray) -> npt.NDArray[np.uint8]:
    """The UTF-8 of all texts, one after the other, with what stands under a null."""
    _, offsets, data = texts.buffers()
    whole = np.frombuffer(b"" if data is None else data, np.uint8)
    if not len(texts):
        return whole[:0]
    ends = np.frombuffer(offsets, np.int32)
    return whole[ends[texts.offset] : ends[texts.offset + len(texts)]]


def is_plain(texts: pa.StringArray) -> bool:
    """Whether there is nothing but printable ASCII."""
    data = bytes_of(texts)
    return not len(data) or bool(data.min() >= ord(" ") and data.max() <= ord("~"))


def is_printable(texts: pa.StringArray) -> bool:
    """Whether there is nothing but printable characters, of any language."""
    return is_plain(texts) or bytes_of(texts).tobytes().decode("utf-8", "replace").isprintable()


def holds_controls(texts: pa.StringArray) -> bool:
    """Whether there are characters that JSON must escape by number (RFC 8259, section 7)."""
    data = bytes_of(texts)
    return bool(len(data)) and bool(data.min() < ord(" "))


def holds_quotes(texts: pa.StringArray) -> bool:
    """Whether there are quotation marks or backslashes."""
    data = bytes_of(texts)
    return bool((data == ord('"')).any() or (data == ord("\\")).any())


def joined_rows(parts: Iterable[Part], rows: int) -> bytes:
    """For each of some rows its texts, one after the other."""
    return bytes_of(joined(parts, rows)).tobytes()


def joined(parts: Iterable[Part], rows: int) -> pa.StringArray:
    """For each of some rows its texts as one."""
    merged, same = list[Any](), ""
    for part in parts:
        if isinstance(part, str):
            same += part
        else:
            merged += [same, part]
            same = ""
    if not merged:
        return pa.repeat(same, rows)
    texts = [one_text(part) if isinstance(part, str) else part for part in (*merged, same, "")]
    return pc.binary_join_element_wise(*texts)


def separated(terms: Iterable[tuple[Mask, Sequence[Part]]], separator: str) -> list[Part]:
    """The parts of lists of texts: of each row the terms that stand in it, with ``separator``
    between two. A term: the rows that it stands in, and its parts."""
    parts: list[Part] = []
    begun: Mask | None = None
    for rows, texts in terms:
        if begun is None:
            begun = np.zeros(len(rows), np.bool_)
        if not rows.any():
            continue
        between: Part = separator
        if not begun[rows].all():
            between = pc.if_else(pa.array(begun), separator, "") if begun[rows].any() else ""
        if rows.all():
            parts += [between, *texts]
        else:
            text = joined([between, *texts], len(rows))
            parts.append(pc.if_else(pa.array(rows), text, ""))
        begun = begun | rows
    return parts


def json_lists(lists: pa.ListArray, items: pa.StringArray) -> pa.StringArray:
    """Lists as JSON arrays, null where there is none; ``items``: theirs, as JSON text."""
    offsets = pc.subtract(lists.offsets, lists.offsets[0])
    texts = pa.ListArray.from_arrays(offsets, items)
    return pc.binary_join_element_wise("[", pc.binary_join(texts, ","), "]", "")


def words(array: pa.Array, form: Callable[[Any], str]) -> Part:
    """The text that ``form`` makes of each value, made once for each different one."""
    if array.null_count == len(array):
        return form(None)
    coded = array
    if not pa.types.is_dictionary(array.type):
        coded = array.dictionary_encode(null_encoding="encode")
    if len(coded.dictionary) == 1 and not array.null_count:
        return form(coded.dictionary[0].as_py())
    used = pc.unique(coded.indices)
    values = coded.dictionary.take(used).to_pylist()
    texts = [form(value) for value in values]
    if len(texts) == 1:
        return texts[0]
    return pa.array(texts, pa.string()).take(pc.index_in(coded.indices, used))


def value_texts(array: pa.Array, field: pa.Field) -> pa.StringArray | None:
    """A column's values in the contract's form, as ``frames/records.py`` has them one by one: dates
    and times, DECIMAL and bytes; None for other columns, and where Arrow's form is another.
    """
    facts, types, stored = field_facts(field), pa.types, array.type
    kind, scale = facts.get("kind", ""), int(facts.get("scale", "0"))
    if types.is_date32(stored) and kind == "date":
        return array.cast(pa.string())
    if types.is_timestamp(stored) and kind in ("datetime", "timestamp"):
        local = array.cast(pa.int64()).cast(pa.timestamp("us"))
        return pc.utf8_slice_codeunits(local.cast(pa.string()), 0, _fraction_end(19, scale))
    if types.is_duration(stored) and kind == "time":
        return _times(array.cast(pa.int64()), scale)
    if types.is_binary(stored) and kind in ("binary", "geometry", "vector"):
        return pc.binary_join_element_wise("0x", hex_texts(array), "")
    if types.is_decimal(stored) and kind == "decimal":
        texts = array.cast(pa.string())
        return None if (bytes_of(texts) == ord("E")).any() else texts
    return None


def _fraction_end(whole: int, scale: int) -> int:
    """How long a text is with a fraction of so many digits."""
    return whole + scale + 1 if scale else whole


def _times(microseconds: pa.Int64Array, scale: int) -> pa.StringArray | None:
    """``[-]hh:mm:ss[.f…]``, two or three digits of hours (up to 838)."""
    size = pc.abs(microseconds)
    hours = pc.divide(size, _HOUR)
    rest = pc.subtract(size, pc.multiply(hours, _HOUR)).cast(pa.time64("us")).cast(pa.string())
    most = pc.max(hours).as_py() or 0
    if most > _MOST_HOURS:
        return None
    words = pa.array([f"{hour:02}" for hour in range(most + 1)], pa.string())
    sign = pc.if_else(pc.less(microseconds, 0), "-", "")
    end = pc.utf8_slice_codeunits(rest, 2, _fraction_end(8, scale))
    return pc.binary_join_element_wise(sign, words.take(hours), end, "")


def hex_texts(array: pa.Array) -> pa.StringArray:
    """The bytes of binary values or texts in hexadecimal, upper case."""
    count = len(array)
    data = bytes_of(array).tobytes().hex().upper().encode()
    ends = np.frombuffer(array.buffers()[1], np.int32)[array.offset : array.offset + count + 1]
    offsets = (ends - ends[0]) * 2 if count else np.zeros(1, np.int32)
    there = bits(np.asarray(array.is_valid())) if array.null_count else None
    buffers = [there, pa.py_buffer(offsets.astype(np.int32).tobytes()), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.string(), count, buffers)
