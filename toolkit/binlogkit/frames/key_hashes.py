"""Values of a row's key as hashes: the same for the same value, as ``where`` compares it.

A column's value is hashed as bytes (docs/indexing.md): a number or a time as 8 bytes, a DECIMAL as
its digits without the point, a text as UTF-8. The hash of several columns is that of their hashes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import product
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit._kernel.charsets import encode
from binlogkit._kernel.columns import plan_of
from binlogkit._kernel.native.filters import hash_fixed, hash_texts
from binlogkit._kernel.numbers import INTEGER_WIDTHS
from binlogkit.constants import ColumnType
from binlogkit.frames.arrow_types import column_field, decimal_type, field_facts
from binlogkit.frames.user_values import Misfit, members, pair_of
from binlogkit.rows.schema import Column, TableSchema, cell_spec

#: Hashes of 64 bits.
Hashes: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.uint64]]"

_INCOMPARABLE = ("json", "geometry", "vector")
_LONG = (ColumnType.TINY_BLOB, ColumnType.BLOB, ColumnType.MEDIUM_BLOB, ColumnType.LONG_BLOB)
_DECIMAL = re.compile(r"decimal(?:128|256)\((\d+), (\d+)\)")
_TYPES = {
    str(kind): kind
    for kind in (
        pa.int64(), pa.uint64(), pa.float32(), pa.float64(), pa.date32(), pa.duration("us"),
        pa.timestamp("us"), pa.timestamp("us", "UTC"), pa.string(), pa.binary(),
    )
}  # fmt: skip
_MOST = 4096  # combinations of values that are looked for


class KeyColumn(NamedTuple):
    """A column whose values are hashed: its ``name``, ``@1`` where a log lacks it, its
    ``position`` in the table, from 0, its ``kind`` (frames/schema.py), and as what Arrow ``type``
    its values are."""

    name: str
    position: int
    kind: str
    type: str


class Place(NamedTuple):
    """What the logs together know of a column that one of them has no name of: its ``position`` in
    the table, from 0; the ``bits`` of an unsigned integer, else 0; its ``charset``, "" without one.
    """

    position: int
    bits: int
    charset: str

    @classmethod
    def of(cls, column: Column) -> Place:
        """Of a column of one version."""
        bits = 8 * INTEGER_WIDTHS.get(column.type, 0) if column.unsigned else 0
        return cls(column.index, bits, column.charset or "")


def hashed_columns(schema: TableSchema) -> tuple[KeyColumn, ...]:
    """The columns of a table's key, where the log has it; else its first one.

    Empty where one of them has values that cannot be compared, or the first one has long ones.
    """
    columns = [column for column in schema.columns if column.name in schema.key]
    if not columns:
        columns = [column for column in schema.columns[:1] if column.type not in _LONG]
    if any(plan_of(cell_spec(column)).kind == "bad" for column in columns):
        return ()
    found = tuple(map(_key_column, columns))
    return () if any(column.kind in _INCOMPARABLE for column in found) else found


def _key_column(column: Column) -> KeyColumn:
    field = column_field(column)
    return KeyColumn(column.name, column.index, field_facts(field)["kind"], _hashed_as(field.type))


def _hashed_as(kind: pa.DataType) -> str:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_integer(kind):
        kind = pa.uint64() if kind == pa.uint64() else pa.int64()
    return str(kind)


# ---- of columns ----------------------------------------------------------------------------


def hashes_of(arrays: Sequence[pa.Array], columns: Sequence[KeyColumn]) -> Hashes:
    """The hash of each row's values; of a row with a NULL it means nothing."""
    found = [_of_column(*pair) for pair in zip(arrays, columns, strict=True)]
    if len(found) == 1:
        return found[0]
    together = np.ascontiguousarray(np.stack(found, axis=1))
    return _fixed(together, 8 * len(found), len(together))


def _of_column(array: pa.Array, column: KeyColumn) -> Hashes:
    if isinstance(array, pa.DictionaryArray):  # of an ENUM the labels
        known = _of_column(array.dictionary, column)
        places = pc.fill_null(array.indices, 0)
        return known[places.to_numpy(zero_copy_only=False)] if len(known) else _none(len(array))
    if column.kind == "set" and pa.types.is_string(array.type):
        coded = array.dictionary_encode()
        texts = [members(text) for text in coded.dictionary.to_pylist()]
        plain = pa.DictionaryArray.from_arrays(coded.indices, pa.array(texts, pa.string()))
        return _of_column(plain, column._replace(kind="text"))
    kind = array.type
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return _texts(array)
    if pa.types.is_decimal(kind):
        return _fixed(*_values(array, kind.byte_width))
    return _fixed(*_values(_of_eight_bytes(array), 8))


def _of_eight_bytes(array: pa.Array) -> pa.Array:
    """Numbers and times as values of eight bytes each."""
    kind = array.type
    if pa.types.is_floating(kind):
        return pc.add(array.cast(pa.float64()), 0.0)  # so that there is one zero
    if pa.types.is_date(kind):
        array = array.cast(pa.int32())
    return array if array.type.bit_width == 64 else array.cast(pa.int64())


def _values(array: pa.Array, width: int) -> tuple[pa.Buffer, int, int]:
    data = array.buffers()[1]
    return data.slice(array.offset * width, len(array) * width), width, len(array)


def _fixed(data: Any, width: int, rows: int) -> Hashes:
    out = _none(rows)
    hash_fixed(data, width, out)
    return out


def _texts(array: pa.Array) -> Hashes:
    _, offsets, data = array.buffers()
    out = _none(len(array))
    if len(array):
        part = offsets.slice(4 * array.offset, 4 * (len(array) + 1))
        hash_texts(part, b"" if data is None else data, out)
    return out


def _none(rows: int) -> Hashes:
    return np.zeros(rows, np.uint64)


# ---- of values that are asked for ----------------------------------------------------------


def asked_hashes(
    columns: Sequence[KeyColumn],
    values: Sequence[Iterable[Any]],
    places: Sequence[Iterable[Place]] | None = None,
) -> Hashes | None:
    """The hashes of what may be equal to values that a user gives, several for each column; None:
    any may be. ``places``: what is known of each column beside its log."""
    arrays = list[list[pa.Array]]()
    known = [()] * len(columns) if places is None else places
    for column, given, own in zip(columns, values, known, strict=True):
        arrays.append([])
        for value in given:
            found = _asked(column, value)
            if found is None:
                return None
            arrays[-1] += [found, *_as_alone(column, value, found, own)]
    rows = list(product(*arrays))
    if not rows or len(rows) > _MOST:
        return None
    found = [pa.concat_arrays(cells) for cells in zip(*rows, strict=True)]
    return hashes_of(found, columns)


def _asked(column: KeyColumn, value: Any) -> pa.Array | None:
    """A value as an array of the column's type, None where any may be equal to it."""
    kind = _type(column.type)
    try:
        _, scalar = pair_of(pa.array([], kind), column.kind, value)
    except Misfit:
        return None
    if column.kind == "set" and pa.types.is_string(kind):
        return pa.array([scalar.as_py()], kind)
    if scalar.type != kind:
        with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):
            if pa.types.is_decimal(kind):
                scalar = scalar.cast(kind)
    return pa.array([scalar.as_py()], kind) if scalar.type == kind else None


def _as_alone(
    column: KeyColumn, value: Any, asked: pa.Array, places: Iterable[Place]
) -> Iterator[pa.Array]:
    """A value as a log has it that does not know what the column is: a large unsigned number is
    negative, bytes and text of any character set are text where they happen to be UTF-8."""
    for place in places:
        if place.bits and asked.type == pa.int64():
            number = asked[0].as_py()
            if number >> place.bits - 1 == 1:
                yield pa.array([number - (1 << place.bits)], asked.type)
        if column.kind == "text" and place.charset:
            with suppress(Misfit):
                stored = _stored(place.charset, value)
                for data in {stored, stored.rstrip(b"\0")}:  # BINARY has no zeros at its end
                    with suppress(UnicodeDecodeError):  # else any value may be in its filter
                        yield pa.array([data.decode()], asked.type)


def _stored(charset: str, value: Any) -> bytes:
    if charset != "binary":
        return encode(charset, str(value))
    _, scalar = pair_of(pa.array([], pa.binary()), "binary", value)
    return bytes(scalar.as_py())


def _type(text: str) -> pa.DataType:
    match = _DECIMAL.fullmatch(text)
    if match is None:
        return _TYPES[text]
    return decimal_type(*map(int, match.groups()))
