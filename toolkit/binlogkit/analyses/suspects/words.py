"""What row changes changed, in words, from their images: ``total → 0.00, status → refunded``."""

from __future__ import annotations

import json
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
        self._keys: tuple[Any, Any] | None = None
        self._key, self._alone = "", True

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
                known = here[~before[name].missing[here]]
                _add(column.after, cells, here, 2)
                _add(column.before, before[name], known, _MANY + 1)

    def _take_keys(self, batch: pa.RecordBatch, before: dict[str, Cells]) -> None:
        """The least and the greatest value of the key's first column, else of the table's."""
        key = json.loads((batch.schema.metadata or {}).get(b"binlogkit:key", b"[]"))
        name = (key or [*before])[0]
        array = before[name].array if name in before else pa.nulls(0)
        kind = array.type
        if array.null_count == len(array) or not (pa.types.is_integer(kind) or kind == pa.string()):
            return
        low, high = pc.min_max(array).as_py().values()
        known = self._keys or (low, high)
        self._alone = len(key) < 2
        self._key, self._keys = name, (min(low, known[0]), max(high, known[1]))

    def tell(self) -> None:
        """Say in the suspect what was changed, and what that means."""
        suspect = self._suspect
        if not self._rows:
            return
        if suspect.op == "update":
            self._tell_update()
        elif self._keys is not None:
            low, high = self._keys
            told = f"{_text(low)} to {_text(high)}" if low != high else _text(low)
            suspect.what.append(f"{self._key} {told}")
            together = self._alone and isinstance(low, int) and high - low + 1 <= 1.05 * self._rows
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


def _add(found: dict[str, None], cells: Cells, here: Any, most: int) -> None:
    """Add some of the different values, as texts, until there are as many."""
    if len(found) >= most or not len(here):
        return
    kept = [row for row in here.tolist() if row in cells.special][:most]
    array = cells.array.take(pa.array(here))
    values = cell_values(array.unique()[:most], cells.field)
    found.update(dict.fromkeys(map(_text, [*values, *(cells.value(row) for row in kept)])))


def _text(value: Any) -> str:
    if value is None:
        return "NULL"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    short = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return short or "''"
