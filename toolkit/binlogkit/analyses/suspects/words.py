"""What row changes changed, in words, from their images: ``total → 0.00, status → refunded``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.analyses._cells import Cells, image_cells
from binlogkit.analyses.suspects.rules import Suspect
from binlogkit.frames.records import cell_values

_MANY = 3  # different values before that make one value after them suspicious
_SHARE = 0.9  # of the rows in which a column was changed
_DAY = (
    86_400_000_000  # microseconds: a time so near its statement's is no value that somebody chose
)
_SHOWN, _LONGEST = 4, 40  # columns, and characters of a value


@dataclass(slots=True)
class _Column:
    """A column of updated rows: how many times it was changed; a few of its values before, and
    after (as JSON)."""

    changed: int = 0
    before: dict[str, None] = field(default_factory=dict)
    after: dict[str, None] = field(default_factory=dict)
    chosen: bool = False  # not only the time of the statement

    @property
    def constant(self) -> bool:
        """Whether it got one value."""
        return len(self.after) == 1 and self.chosen

    def words(self, name: str) -> str:
        """What became of it."""
        if not self.constant:
            return f"{name} changed"
        (now,), was = self.after, [*self.before]
        return f"{name}: {was[0]} → {now}" if len(was) == 1 else f"{name} → {now}"


class Images:
    """Takes the row changes of a suspect's transactions, batch by batch, in bounded memory."""

    def __init__(self, suspect: Suspect) -> None:
        self._suspect = suspect
        self._columns: dict[str, _Column] = {}
        self._rows = 0
        self._keys: tuple[int, int] | None = None
        self._key = ""

    def take(self, batch: pa.RecordBatch) -> None:
        """Take changes of the suspect's table and operation."""
        before = image_cells(batch, "before")
        self._rows += batch.num_rows
        self._take_keys(batch, before)
        if self._suspect.op != "update":
            return
        for name, cells in image_cells(batch, "after").items():
            cells = cells.over(before[name])
            here = np.flatnonzero(cells.differs(before[name]) & ~cells.missing)
            if len(here):
                column = self._columns.setdefault(name, _Column())
                column.changed += len(here)
                column.chosen |= not _now(cells, here, batch)
                for side, told, most in (
                    (column.after, cells, 2),
                    (column.before, before[name], 4),
                ):
                    if len(side) < most:
                        side.update(dict.fromkeys(_few(told, here, most)))

    def _take_keys(self, batch: pa.RecordBatch, before: dict[str, Cells]) -> None:
        """The least and the greatest key, where it is one integer."""
        key = json.loads((batch.schema.metadata or {}).get(b"binlogkit:key", b"[]"))
        if len(key) != 1 or key[0] not in before:
            return
        array = before[key[0]].array
        if pa.types.is_integer(array.type) and array.null_count < len(array):
            low, high = pc.min_max(array).as_py().values()
            known = self._keys or (low, high)
            self._keys, self._key = (min(low, known[0]), max(high, known[1])), key[0]

    def tell(self) -> None:
        """Say in the suspect what was changed, and what that means."""
        suspect = self._suspect
        if not self._rows:
            return
        if suspect.op == "update":
            self._tell_update()
        elif self._keys is not None:
            low, high = self._keys
            suspect.what.append(
                f"{self._key} {low} to {high}" if low < high else f"{self._key} {low}"
            )
            together = high - low + 1 <= 1.05 * self._rows
            if together and not {"wiped", "whole_table", "no_condition"} & {*suspect.found}:
                suspect.less(0.6, "rows with neighbouring keys, as a purge of old ones takes")

    def _tell_update(self) -> None:
        suspect = self._suspect
        known = sorted(
            self._columns.items(), key=lambda item: (not item[1].constant, -item[1].changed)
        )
        told = [(n, c) for n, c in known if c.chosen]
        suspect.what += [column.words(name) for name, column in told[:_SHOWN]]
        if len(told) > _SHOWN:
            suspect.what.append(f"{len(told) - _SHOWN} more columns")
        much = max(suspect.found.values())
        levelled = [
            name
            for name, c in told
            if c.constant and len(c.before) >= _MANY and c.changed >= _SHARE * self._rows
        ]
        if levelled:
            suspect.found["one_value"] = much
            suspect.why.append(f"{', '.join(levelled)} had different values before")


def _now(cells: Cells, here: Any, batch: pa.RecordBatch) -> bool:
    """Whether a column has the statements' own times."""
    if not pa.types.is_timestamp(cells.array.type):
        return False
    values = cells.array.take(pa.array(here)).cast(pa.int64())
    times = np.asarray(batch["timestamp"])[here] * 1_000_000
    return not values.null_count and bool((np.abs(np.asarray(values) - times) < _DAY).all())


def _few(cells: Cells, here: Any, most: int) -> Sequence[str]:
    """Some different values, as texts that JSON has for them."""
    kept = [row for row in here.tolist() if row in cells.special][:most]
    array = cells.array.take(pa.array(here))
    found = cell_values(array.unique()[:most], cells.field)
    return [_text(value) for value in [*found, *(cells.value(row) for row in kept)]]


def _text(value: Any) -> str:
    if value is None:
        return "NULL"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    short = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return short or "''"
