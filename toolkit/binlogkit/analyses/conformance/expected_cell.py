"""A value beside the expected one, and how rules about it are written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from binlogkit.analyses.conformance.cell import ColumnFacts

#: Where rules about any decoder's values are known from.
ANY_DECODER = "the log's bytes, and docs/records.md, row"


@dataclass(frozen=True, slots=True)
class ExpectedCell:
    """``ours``: what the decoder says; ``expected``: the contract's value; ``raw``: the cell's
    bytes as the log stores them, None for NULL; ``column``: what is known of it."""

    ours: Any
    expected: Any
    raw: bytes | None
    column: ColumnFacts


def text_of(ours: Any) -> str:
    """A text that a decoder gives. TypeError: it is none."""
    if not isinstance(ours, str):
        raise TypeError("no text")
    return ours
