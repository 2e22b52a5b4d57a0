"""Literals and conditions of many values of a column at once: those of _literals.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.frames.records import cell_values
from binlogkit.frames.text_columns import Part, bytes_of, hex_texts, joined, value_texts
from binlogkit.reports._literals import PLAIN, literal, quoted
from binlogkit.reports._statements import INEXACT, LONGEST_KEY, condition, exactly

if TYPE_CHECKING:
    from binlogkit.analyses.undoing.plans import Chosen

_INTRODUCER = "_utf8mb4 "


def literals(column: Chosen) -> pa.StringArray:
    """Each value as SQL."""
    texts = _literals(column.cells.array, column.cells.field, column.kind).fill_null("NULL")
    return _with_special(column, texts, lambda value: literal(value, column.kind))


def conditions(column: Chosen) -> list[Part]:
    """For each row the parts of the condition that the column is exactly its value."""
    name, array = quoted(column.name), column.cells.array
    if column.kind in INEXACT:
        return [f"{name} <=> NULL"]
    if column.kind != "text":
        return [f"{name} <=> ", literals(column)]
    introducer, text = _texts(array)
    both: list[Part] = [f"{name} <=> ", introducer, text, f" AND {exactly(name)}", text]
    long = pc.greater(pc.utf8_length(array), LONGEST_KEY)
    if array.null_count or column.cells.special or pc.any(long).as_py():
        exact = joined([exactly(name), text], len(array))
        found = pc.if_else(long.fill_null(False), exact, joined(both, len(array)))
        found = pc.if_else(array.is_null(), f"{name} <=> NULL", found)
        both = [_with_special(column, found, lambda v: condition(column.name, v, "text"))]
    return both


def _with_special(
    column: Chosen, texts: pa.StringArray, form: Callable[[str], str]
) -> pa.StringArray:
    """The texts, with those of the values that Arrow cannot hold."""
    special = dict(column.special())
    if not special:
        return texts
    there = np.zeros(len(texts), np.bool_)
    there[list(special)] = True
    made = pa.array(map(form, special.values()), pa.string())
    return pc.replace_with_mask(texts, pa.array(there), made)


def _literals(array: pa.Array, field: pa.Field, kind: str) -> pa.StringArray:
    """Each value as SQL, null where there is none."""
    types = pa.types
    if types.is_integer(array.type):
        return array.cast(pa.string())
    if types.is_floating(array.type):
        numbers = map(repr, array.cast(pa.float64()).to_pylist())
        texts = [None if n == "None" else n if "e" in n else f"{n}e0" for n in numbers]
        return pa.array(texts, pa.string())
    if types.is_binary(array.type):
        return pc.binary_join_element_wise("X'", hex_texts(array), "'", "")
    if types.is_string(array.type):
        around = ("CAST(", " AS JSON)") if kind == "json" else ("", "")
        return pc.binary_join_element_wise(around[0], *_texts(array), around[1], "")
    found = value_texts(array, field)
    if found is None:
        values = [None if v is None else literal(v, kind) for v in cell_values(array, field)]
        return pa.array(values, pa.string())
    return found if kind == "decimal" else pc.binary_join_element_wise("'", found, "'", "")


def _texts(array: pa.StringArray) -> tuple[Part, pa.StringArray]:
    """The introducers of texts, and what follows them, null where there is no text."""
    plain = pc.binary_join_element_wise("'", array, "'", "")
    if _PLAIN_BYTES[bytes_of(array)].all():
        return "", plain
    odd = pc.invert(pc.match_substring_regex(array, f"^{PLAIN}$")).fill_null(False)
    hexadecimal = pc.binary_join_element_wise("X'", hex_texts(array.filter(odd)), "'", "")
    texts = pc.replace_with_mask(plain, odd, hexadecimal)
    return pc.if_else(odd, pa.scalar(_INTRODUCER), ""), texts


_PLAIN_BYTES = np.array([32 <= code < 127 and code not in b"'\\" for code in range(256)])
