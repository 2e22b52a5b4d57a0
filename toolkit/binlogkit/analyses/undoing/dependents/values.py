"""Values of columns as numbers: the same number for what is equal, or may be by a collation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.analyses.point_in_time.codes import Flags, Integers, column_codes, combined

#: Letters that collations treat as others, and that NFKD keeps.
_LETTERS = (
    ("æ", "ae"), ("œ", "oe"), ("ø", "o"), ("đ", "d"), ("ð", "d"), ("ł", "l"), ("ħ", "h"),
    ("þ", "th"), ("ı", "i"), ("ς", "σ"), ("ß", "s"), ("ss", "s"),
)  # fmt: skip
_IGNORED = r"[\p{M}\p{Cc}\p{Cf}]"


@dataclass(frozen=True, slots=True)
class Column:
    """Cells of one column.

    ``array``: their values; ``missing``: which are not known; ``special``: by place those that are
    no value of ``array``, as in Cells.
    """

    array: Any
    missing: Flags
    special: dict[int, Any]

    @property
    def null(self) -> Flags:
        """Which are NULL."""
        found: Flags = np.asarray(self.array.is_null()) & ~self.missing
        found[list(self.special)] = False
        return found

    def take(self, places: Integers) -> Column:
        """The cells at some places; not known at places below 0."""
        at = np.where(places < 0, 0, places)
        special = {}
        if self.special:
            odd = np.flatnonzero(np.isin(places, list(self.special)))
            special = {int(i): self.special[int(places[i])] for i in odd}
        missing = self.missing[at] | (places < 0) if len(self.missing) else places < 0
        taken = self.array.take(pa.array(places, mask=places < 0))
        return Column(taken, missing, special)


def joined(columns: Sequence[Column]) -> Column:
    """Columns concatenated; if their types differ, as texts."""
    arrays = [column.array for column in columns]
    last = arrays[-1].type
    if any(array.type != last for array in arrays):
        try:
            arrays = [array.cast(last) for array in arrays]
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            arrays = _texts(arrays)
    chunks = [chunk for array in arrays for chunk in _chunks(array)]
    special: dict[int, Any] = {}
    at = 0
    for column in columns:
        special |= {place + at: value for place, value in column.special.items()}
        at += len(column.missing)
    missing = np.concatenate([column.missing for column in columns])
    return Column(pa.chunked_array(chunks, arrays[-1].type), missing, special)


def _texts(arrays: Sequence[Any]) -> list[Any]:
    """Cells as texts; where some are no UTF-8, each byte of all is a character."""
    try:
        return [array.cast(pa.string()) for array in arrays]
    except pa.ArrowInvalid:
        binary = [a if pa.types.is_binary(a.type) else a.cast(pa.string()) for a in arrays]
        cells = [array.cast(pa.binary()).to_pylist() for array in binary]
    told = [[None if v is None else v.decode("latin-1") for v in own] for own in cells]
    return [pa.array(own, pa.string()) for own in told]


def _chunks(array: Any) -> list[Any]:
    return list(array.chunks) if isinstance(array, pa.ChunkedArray) else [array]


def exact_codes(columns: Sequence[Column]) -> Integers:
    """Numbers of rows of these columns, compared byte by byte."""
    return combined([_codes(column, column.array) for column in columns])


def equal_codes(columns: Sequence[Column], collations: Sequence[str | None]) -> Integers:
    """Numbers of rows of these columns: the same for all that a collation may treat as equal."""
    pairs = zip(columns, collations, strict=True)
    return combined([_codes(column, folded(column.array, named)) for column, named in pairs])


def _codes(column: Column, array: Any) -> Integers:
    found = column_codes(array)
    if column.special:
        texts = {place: repr(value) for place, value in column.special.items()}
        numbers = {text: i for i, text in enumerate(dict.fromkeys(texts.values()))}
        found = found.copy()
        found[list(texts)] = [int(found.max()) + 1 + numbers[text] for text in texts.values()]
    return found


def folded(texts: Any, collation: str | None) -> Any:
    """Texts without what a collation may ignore; other values as they are."""
    if not (pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type)):
        return texts
    if collation is None or not collation.endswith("_bin"):
        if not pc.all(pc.string_is_ascii(texts), min_count=0).as_py():
            texts = pc.utf8_lower(pc.utf8_normalize(texts, form="NFKD"))
            texts = pc.replace_substring_regex(texts, _IGNORED, "")
            for letter, other in _LETTERS:
                texts = pc.replace_substring(texts, letter, other)
        else:
            texts = pc.replace_substring_regex(pc.utf8_lower(texts), r"[\x00-\x1f\x7f]", "")
            texts = pc.replace_substring(texts, "ss", "s")
    return pc.utf8_rtrim(texts, " ")
