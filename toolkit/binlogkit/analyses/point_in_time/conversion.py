"""Values of a column as ALTER TABLE converts them for a new definition.

The server's conversion of each value (``copy_data_between_tables`` in ``sql/sql_table.cc``, the
manual's "ALTER TABLE Statement") is repeated where the result is certain. If it fails in strict
mode, the statement is not in the log, so only the results in other modes matter: values out of
range are clamped, texts are cut, NULL becomes the type's implicit default.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit._kernel.charsets import decode, encode
from binlogkit.analyses.collations import FOLDING
from binlogkit.analyses.point_in_time.codes import Flags, decoded
from binlogkit.analyses.point_in_time.known_cells import cells_of, known, parts_of
from binlogkit.frames.arrays import one_array, plain_type
from binlogkit.frames.arrow_types import column_field, field_facts
from binlogkit.rows.ddl.charsets import CHARSETS, Collated
from binlogkit.rows.ddl.session import SqlMode
from binlogkit.rows.ddl.types import TEXT_CAPACITY
from binlogkit.rows.defined import column_of, described
from binlogkit.rows.schema import ColumnDefinition

LOST = object()  # a value whose conversion by the server is not certain
_Convert = Callable[[Any], Any]

INTEGERS = {"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}
_CHARACTERS = ("char", "varchar")
TEXTS = (*_CHARACTERS, "tinytext", "text", "mediumtext", "longtext")
_BLOBS = ("tinyblob", "blob", "mediumblob", "longblob")
BYTES = ("binary", "varbinary", *_BLOBS)
_DIGITS = 66  # one more than DECIMAL has
_MOST_FRACTION = 6
_SECOND = 10**6
LAST = {  # the greatest values, in microseconds
    "datetime": 253402300800 * _SECOND - 1,
    "timestamp": (1 << 31) * _SECOND - 1,
    "time": (838 * 3600 + 59 * 60 + 59) * _SECOND,
}


def defined_field(definition: ColumnDefinition) -> pa.Field:
    """The field of a column in images."""
    return column_field(column_of(definition))


def definition_of(field: pa.Field) -> ColumnDefinition | None:
    """What a field of an image says of its column; None for one that no log gave."""
    return described(field.name, field_facts(field))


def same(old: ColumnDefinition, new: ColumnDefinition) -> bool:
    """Whether both hold the same values."""
    facts = ("type", "scale", "unsigned", "charset", "labels")
    lengths = old.type in TEXT_CAPACITY or old.length == new.length
    return lengths and all((getattr(old, f) or 0) == (getattr(new, f) or 0) for f in facts)


def altered(
    cells: pa.ChunkedArray, old: ColumnDefinition, new: ColumnDefinition, mode: SqlMode | None
) -> tuple[pa.ChunkedArray, bool]:
    """Cells (cells.py) of a column as ``new`` holds them; whether known ones were lost."""
    parts, stay = parts_of(cells), known(cells)
    before = stay.copy()
    odd = np.asarray(parts["state"].is_valid()) if "state" in parts else np.zeros(len(stay), bool)
    values = parts["value"]
    empty = np.asarray(values.is_null()) & ~odd
    if new.generated is not None and old.generated != new.generated:
        stay[:] = False
    if not same(old, new):
        parts["value"], lost = converted(values, old, new, mode)
        stay &= ~lost & ~odd
    if new.auto_increment and not old.auto_increment:  # it numbers NULL and 0
        stay &= ~np.asarray(pc.fill_null(pc.equal(parts["value"], 0), False))
    if not new.nullable and empty.any():
        default = implicit_default(new)
        if default is LOST:
            stay &= ~empty
        else:
            value, dtype = parts["value"], parts["value"].type
            plain = plain_type(dtype)
            filled = pc.if_else(pa.array(empty), pa.scalar(default, plain), decoded(value))
            parts["value"] = filled if plain is dtype else filled.dictionary_encode().cast(dtype)
    return cells_of(parts, stay), bool((before & ~stay).any())


def converted(
    values: pa.ChunkedArray, old: ColumnDefinition, new: ColumnDefinition, mode: SqlMode | None
) -> tuple[pa.ChunkedArray, Flags]:
    """``values`` as ``new`` holds them, with its Arrow type, and which of them are not certain.

    ``mode``: the session's sql_mode, None if not known. NULL stays NULL.
    """
    dtype = defined_field(new).type
    plain = plain_type(dtype)
    source = decoded(values)
    if _padded(old, new, mode):
        found, lost = _each(source, plain, None)
    elif holds_all(old, new):
        found, lost = source.cast(plain), np.zeros(len(values), bool)
    elif old.type in LAST and old.type == new.type:
        found, lost = _fractions(source, new, mode)
    else:
        found, lost = _each(source, plain, _converter(old, new))
    return found if plain is dtype else found.dictionary_encode().cast(dtype), lost


def implicit_default(column: ColumnDefinition) -> Any:
    """The Python value that a NOT NULL column holds instead of NULL; LOST if there is none.

    Manual, "Data Type Default Values"; for ENUM it is the error value here, not the first label.
    """
    if column.auto_increment or column.generated:
        return LOST
    if column.type == "binary":
        return b"\0" * (column.length or 1)
    return _IMPLICIT.get(column.type, LOST)


_IMPLICIT: dict[str, Any] = {
    **dict.fromkeys((*INTEGERS, "year", "bit", "time"), 0),
    "decimal": Decimal(0),
    **dict.fromkeys(("float", "double"), 0.0),
    **dict.fromkeys((*TEXTS, "enum", "set"), ""),
    **dict.fromkeys(BYTES, b""),
}


def _each(
    source: pa.ChunkedArray, dtype: pa.DataType, convert: _Convert | None
) -> tuple[pa.ChunkedArray, Flags]:
    """Convert each distinct value by itself."""
    valid = np.asarray(source.is_valid())
    if convert is None:
        return pa.chunked_array([pa.nulls(len(source), dtype)]), valid
    keys = source.unique().drop_null()
    with localcontext(prec=_DIGITS):
        made = [convert(value) for value in keys.to_pylist()]
    at = pc.index_in(source, keys)
    lost = pa.array([value is LOST for value in made], pa.bool_())
    values = pa.array([None if value is LOST else value for value in made], dtype)
    doubtful = pc.fill_null(lost.take(one_array(at)), False)
    return pa.chunked_array([values.take(one_array(at))], dtype), np.asarray(doubtful)


def _fractions(
    source: pa.ChunkedArray, new: ColumnDefinition, mode: SqlMode | None
) -> tuple[pa.ChunkedArray, Flags]:
    """Microseconds to fewer digits: half away from zero, or cut under TIME_TRUNCATE_FRACTIONAL."""
    unit = 10 ** (_MOST_FRACTION - (new.scale or 0))
    valid = np.asarray(source.is_valid())
    micros = np.asarray(pc.fill_null(source.cast(pa.int64()), 0))
    # Before 1970, too, the fraction of a moment counts upwards.
    sign = np.where((micros < 0) & (new.type == "time"), -1, 1)
    cut = mode is not None and bool(mode & SqlMode.TIME_TRUNCATE_FRACTIONAL)
    found = sign * ((sign * micros + (0 if cut else unit // 2)) // unit * unit)
    lost = valid & ((np.abs(found) > LAST[new.type]) | ((mode is None) & (micros % unit != 0)))
    array = pa.array(found, mask=~valid | lost).cast(source.type)
    return pa.chunked_array([array]), lost


def holds_all(old: ColumnDefinition, new: ColumnDefinition) -> bool:
    """Whether every value of ``old`` reads the same in ``new``, except for more digits."""
    if same(old, new):
        return True
    if new.generated is not None and old.generated != new.generated:
        return False
    if old.type in INTEGERS and new.type in INTEGERS:
        (low, high), (new_low, new_high) = span(old), span(new)
        return new_low <= low and high <= new_high
    if old.type == new.type == "decimal":
        whole, new_whole = ((c.length or 10) - (c.scale or 0) for c in (old, new))
        return (
            (new.scale or 0) >= (old.scale or 0)
            and new_whole >= whole
            and (old.unsigned or not new.unsigned)
        )
    if old.type in TEXTS and new.type in TEXTS:
        if new.charset not in (old.charset, "utf8mb4"):
            return False
        return new.type != "char" and _longer(old, new, _CHARACTERS)
    if old.type in BYTES and new.type in BYTES:
        return new.type != "binary" and _longer(old, new, ("binary", "varbinary"))
    if old.type != new.type:
        return False
    if old.type in ("enum", "set"):
        kept = tuple(label for label in new.labels if label in old.labels)
        in_order = kept == old.labels if old.type == "set" else len(kept) == len(old.labels)
        return in_order and new.charset in (old.charset, "utf8mb4")
    if old.type in LAST:
        return (new.scale or 0) >= (old.scale or 0)
    return old.type == "bit" and (new.length or 1) >= (old.length or 1)


def _padded(old: ColumnDefinition, new: ColumnDefinition, mode: SqlMode | None) -> bool:
    """Whether a CHAR is read with trailing blanks."""
    if old.type != "char" or new.type == "char":
        return False
    return mode is None or bool(mode & SqlMode.PAD_CHAR_TO_FULL_LENGTH)


def _longer(old: ColumnDefinition, new: ColumnDefinition, counted: Collection[str]) -> bool:
    """Whether texts or bytes of ``old`` always fit; for ``counted`` types the length is given."""
    if new.type in counted:
        return old.type in counted and (new.length or 1) >= (old.length or 1)
    width = Collated(new.charset).max_bytes or 4
    if old.type in counted:
        size = (old.length or 1) * width
    else:
        size = TEXT_CAPACITY[old.type] * (1 if old.charset == new.charset else width)
    return TEXT_CAPACITY[new.type] >= min(size, TEXT_CAPACITY["longtext"])


def span(column: ColumnDefinition) -> tuple[int, int]:
    """The least and the greatest integer of a column."""
    bits = INTEGERS[column.type]
    return (0, (1 << bits) - 1) if column.unsigned else (-1 << bits - 1, (1 << bits - 1) - 1)


# ---- value by value ----------------------------------------------------------------------


def _converter(old: ColumnDefinition, new: ColumnDefinition) -> _Convert | None:
    """The conversion of one value; None if nothing is certain."""
    if old.type in (*INTEGERS, "year") and new.type in INTEGERS:
        low, high = span(new)
        return lambda value: min(max(value, low), high)
    if old.type in (*INTEGERS, "decimal") and new.type in TEXTS:
        # The text would contain the zeros of ZEROFILL, which is unsigned.
        return None if old.unsigned else _to_digits(new)
    if old.type == "date" and new.type == "datetime":
        return lambda value: datetime(value.year, value.month, value.day)
    if old.type in (*INTEGERS, "decimal") and new.type == "decimal":
        return to_decimal(new)
    if old.type in TEXTS and new.type in TEXTS:
        return to_text(new)
    if old.type in BYTES and new.type in BYTES:
        return to_bytes(new)
    if old.type == new.type == "enum":
        return lambda value: value and label_of(value, new, any_case=_by_collation(new))
    if old.type == new.type == "set":
        return lambda value: members_of(value, new, any_case=_by_collation(new))
    return None


def to_decimal(new: ColumnDefinition) -> _Convert:
    unit = Decimal(1).scaleb(-(new.scale or 0))
    most = (Decimal(10) ** (new.length or 10) - 1) * unit

    def convert(value: int | Decimal) -> Decimal:
        found = Decimal(value).quantize(unit, ROUND_HALF_UP)
        return min(max(found, Decimal(0) if new.unsigned else -most), most)

    return convert


def _to_digits(new: ColumnDefinition) -> _Convert:
    convert = to_text(new)
    return lambda value: convert(f"{value:f}" if isinstance(value, Decimal) else str(value))


def to_text(new: ColumnDefinition) -> _Convert:
    def convert(value: str) -> Any:
        if not _has(new.charset, value):
            return LOST
        if new.type in _CHARACTERS:
            value = value[: 1 if new.length is None else new.length]
            return value.rstrip(" ") if new.type == "char" else value
        fits = len(encode(new.charset or "utf32", value)) <= TEXT_CAPACITY[new.type]
        return value if fits else LOST

    return convert


_NOT_EVERYWHERE = frozenset("#$@[\\]^`{|}~")


def _has(charset: str | None, text: str) -> bool:
    """Whether a character set has every character; an unknown one: those of swe7."""
    if charset is None or charset not in CHARSETS:
        return text.isascii() and not set(text) & _NOT_EVERYWHERE
    try:
        return decode(charset, encode(charset, text)) == text
    except ValueError:
        return False


def to_bytes(new: ColumnDefinition) -> _Convert:
    if new.type in _BLOBS:
        return lambda value: value[: TEXT_CAPACITY[new.type]]
    size = 1 if new.length is None else new.length
    if new.type == "varbinary":
        return lambda value: value[:size]
    return lambda value: value[:size].ljust(size, b"\0")


def label_of(text: str, new: ColumnDefinition, *, any_case: bool) -> Any:
    """The label of ``new`` for a label; ``any_case``: one in another case is it, too."""
    if text in new.labels:
        return text
    found = [label for label in new.labels if label.lower() == text.lower()]
    return found[0] if any_case and len(found) == 1 else LOST


def members_of(texts: str, new: ColumnDefinition, *, any_case: bool) -> Any:
    """The same of a SET's labels."""
    given = texts.split(",") if texts else []
    labels = {label_of(text, new, any_case=any_case) for text in given}
    return LOST if LOST in labels else ",".join(x for x in new.labels if x in labels)


def _by_collation(new: ColumnDefinition) -> bool:
    return new.collation in FOLDING
