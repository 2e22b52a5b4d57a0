"""A value beside the expected one, and how rules about it are written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from binlogkit.analyses.conformance.cell import ColumnFacts
from binlogkit.analyses.conformance.rule import Rules

_ANY_DECODER = "the log's bytes, and docs/records.md, row"


@dataclass(frozen=True, slots=True)
class ExpectedCell:
    """``ours``: what the decoder says; ``expected``: the contract's value; ``raw``: the cell's
    bytes as the log stores them, None for NULL; ``column``: what is known of it."""

    ours: Any
    expected: Any
    raw: bytes | None
    column: ColumnFacts


Explains = Callable[[ExpectedCell], bool]


def adding(rules: Rules) -> Callable[..., Callable[[Explains], Explains]]:
    """What adds a rule about values to ``rules``: its id, its text, the column families."""
    return partial(rules.add, source=_ANY_DECODER)


def text_of(ours: Any) -> str:
    """A text that a decoder gives. TypeError: it is none."""
    if not isinstance(ours, str):
        raise TypeError("no text")
    return ours
