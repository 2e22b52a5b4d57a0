"""The result for a current-state table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class KeptTable:
    """The result for a current-state table.

    ``how``: ``merged``, ``replayed``, ``unchanged`` or ``refused`` (with the ``reason``);
    ``written``, ``deleted``: rows; ``determined``: whether what has landed determines the rows;
    ``findings``: why it may not (docs/records.md, findings of a state).
    """

    table: str
    how: str
    written: int = 0
    deleted: int = 0
    determined: bool = False
    findings: tuple[Mapping[str, Any], ...] = ()
    reason: str = ""
