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
from binlogkit.frames.schema import key_columns

_MANY = 3  # different values before that make one value after them suspicious
_SHARE = 0.9  # of the rows in which a column was changed
_DAY = (
    86_400_000_000  # microseconds: a time so near its statement's is no value that somebody chose
)
_SUPPOSED = 0.75  # of what one value weighs, where those before are not known
_FAR, _ROUNDED = 1.5, 0.05  # a factor that is no small raise; how far cents let it vary
_MOST = 200  # texts looked at
_END = 0.02  # of the keys from a delete's first to the newest
_COMPARED, _TELLING, _SAME = 1000, 10, 0.6  # rows; different values of a column; of the columns
_SHOWN, _LONGEST = 4, 40  # columns, and characters of a value


@dataclass(slots=True)
class _Column:
    """A column of updated rows: how many times it was changed; a few of its values before, and
    after (as JSON)."""

    changed: int = 0
    before: dict[str, None] = field(default_factory=dict)
    after: dict[str, None] = field(default_factory=dict)
    chosen: bool = False  # not only the time of the statement
    unknown: bool = False  # what it was before, in some rows
    factors: tuple[float, float] | None = None  # the least and the greatest
    foreign: int = 0  # texts looked at that are not ASCII
    mojibake: int = 0  # of these, UTF-8 that was read as Latin

    @property
    def constant(self) -> bool:
        """Whether it got one value."""
        return len(self.after) == 1 and self.chosen

    @property
    def scaled(self) -> bool:
        """Whether its values were multiplied by one number far from 1."""
        if self.factors is None or self.constant:
            return False
        low, high = self.factors
        return high - low <= _ROUNDED * high and not 1 / _FAR < low < _FAR

    def compare(self, before: Cells, after: Cells, known: Any, here: Any) -> None:
        """Look at what numbers were multiplied by, and at some texts."""
        kind = after.array.type
        if pa.types.is_string(kind) and self.foreign < _MOST:
            for text in after.array.take(pa.array(here[:_MOST])).to_pylist():
                if text is not None and not text.isascii():
                    self.foreign += 1
                    self.mojibake += _twice_encoded(text)
        if len(known) and (pa.types.is_decimal(kind) or pa.types.is_integer(kind)):
            old, new = (np.asarray(cells.array.take(pa.array(known)).cast(pa.float64()))
                        for cells in (before, after))  # fmt: skip
            large = np.abs(old) >= 1
            if large.any():
                found = new[large] / old[large]
                low, high = self.factors or (found[0], found[0])
                self.factors = float(min(low, found.min())), float(max(high, found.max()))

    def words(self, name: str) -> str:
        """What became of it."""
        if self.scaled and self.factors:
            return f"{name} × {sum(self.factors) / 2:.3g}"
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
        self._inserted: int | None = None  # the greatest key that was inserted on the day before
        self._newest = self._when = 0  # microseconds, the latest of a time column, and of a delete
        self._first: dict[bool, dict[str, list[Any]]] = {False: {}, True: {}}

    def feed(self, batch: pa.RecordBatch, *, like: bool = False) -> None:
        """Take changes of the suspect's table and operation; ``like``: of those it is like."""
        before = image_cells(batch, "before")
        key = key_columns(batch.schema)
        if self._suspect.like:
            self._remember(batch, before, key, self._first[like])
        if like:
            return
        self._rows += batch.num_rows
        self._take_keys(key, before)
        if self._suspect.op == "delete":
            self._take_times(batch, before)
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
                column.unknown |= len(known) < len(here)
                _add(column.after, cells, here, 2)
                _add(column.before, before[name], known, _MANY + 1)
                column.compare(before[name], cells, known, here)

    def insert(self, batch: pa.RecordBatch) -> None:
        """Take what was inserted into the table on the day before."""
        key = key_columns(batch.schema)
        cells = image_cells(batch, "after")
        array = cells[(key or [*cells])[0]].array if len(key) < 2 else pa.nulls(0)
        if pa.types.is_integer(array.type) and array.null_count < len(array):
            self._inserted = max(self._inserted or 0, pc.max(array).as_py())

    def _remember(
        self,
        batch: pa.RecordBatch,
        before: dict[str, Cells],
        key: list[str],
        first: dict[str, list[Any]],
    ) -> None:
        """Keep the first rows: keys of updates, values of inserts that are neither key nor time."""
        updates = self._suspect.op == "update"
        for name, cells in (before if updates else image_cells(batch, "after")).items():
            kept = first.setdefault(name, [])
            wanted = name in (key or [*before][:1]) if updates else name not in key
            if wanted and len(kept) < _COMPARED and not pa.types.is_temporal(cells.array.type):
                kept += cells.array[: _COMPARED - len(kept)].to_pylist()

    def _again(self) -> bool:
        """Whether these are the rows of those before, in their order."""
        one, two = self._first[True], self._first[False]
        lists = [(one.get(name), values) for name, values in two.items() if values]
        telling = [pair for pair in lists if len({*map(str, pair[1])}) > _TELLING]
        same = sum(old == new for old, new in telling)
        return bool(telling) and same >= _SAME * len(telling)

    def _take_keys(self, key: list[str], before: dict[str, Cells]) -> None:
        """The least and the greatest value of the key's first column, else of the table's."""
        name = (key or [*before])[0]
        array = before[name].array if name in before else pa.nulls(0)
        kind = array.type
        if array.null_count == len(array) or not (pa.types.is_integer(kind) or kind == pa.string()):
            return
        low, high = pc.min_max(array).as_py().values()
        known = self._keys or (low, high)
        self._alone = len(key) < 2
        self._key, self._keys = name, (min(low, known[0]), max(high, known[1]))

    def _take_times(self, batch: pa.RecordBatch, before: dict[str, Cells]) -> None:
        self._when = int(pc.min(batch["timestamp"]).as_py() or 0) * 1_000_000
        for cells in before.values():
            if pa.types.is_timestamp(cells.array.type):
                times = np.asarray(cells.array.cast(pa.int64()).drop_null())
                times = times[times <= self._when]
                self._newest = max(self._newest, int(times.max())) if len(times) else self._newest

    def tell(self) -> None:
        """Say in the suspect what was changed, and what that means."""
        suspect = self._suspect
        if suspect.like:
            if self._again():
                suspect.found["again"] = suspect.share
            else:
                del suspect.found["again"]
                suspect.found |= {} if suspect.found else {"update_many": 0.0}
        if not self._rows:
            return
        if suspect.op == "update":
            self._tell_update()
        elif self._keys is not None:
            low, high = self._keys
            span = f"{_text(low)} to {_text(high)}" if low != high else _text(low)
            suspect.what.append(f"{self._key} {span}")
        if suspect.op == "delete":
            self._tell_delete()

    def _tell_delete(self) -> None:
        suspect = self._suspect
        low, high = self._keys or (0, -1)
        numbers = self._alone and isinstance(low, int) and isinstance(high, int)
        near = numbers and high - low + 1 <= 1.05 * self._rows
        old = self._newest > 0 and self._when - self._newest >= _DAY
        newest = self._inserted if numbers else None
        if newest is not None and not old and high >= newest - _END * (newest - low):
            suspect.found["young"] = max(0.9 * suspect.share, *suspect.found.values())
        elif {"wiped", "whole_table", "no_condition"} & {*suspect.found}:
            return
        elif old:
            suspect.less(0.5, "no row was newer than a day, as purges delete them")
        elif near:
            suspect.less(0.6, "rows with neighbouring keys, as a purge of old ones takes")

    def _tell_update(self) -> None:
        suspect = self._suspect
        known = sorted(
            self._columns.items(), key=lambda item: (not item[1].constant, -item[1].changed)
        )
        chosen = [(n, c) for n, c in known if c.chosen]
        suspect.what += [column.words(name) for name, column in chosen[:_SHOWN]]
        if len(chosen) > _SHOWN:
            suspect.what.append(f"{len(chosen) - _SHOWN} more columns")
        much = max(suspect.found.values())
        whole = [(name, c) for name, c in chosen if c.changed >= _SHARE * self._rows]
        levelled = [name for name, c in whole if c.constant and len(c.before) >= _MANY]
        unknown = [name for name, c in whole if c.constant and c.unknown]
        if levelled:
            suspect.found["one_value"] = much
            suspect.why.append(f"{', '.join(levelled)} had different values before")
        elif unknown:
            suspect.found["one_value"] = _SUPPOSED * much
            suspect.why.append(f"the images do not have what {', '.join(unknown)} was before")
        if any(c.scaled for _, c in whole):
            suspect.found["factor"] = max(much, 0.9 * suspect.share)
        if any(c.mojibake >= _MANY and 2 * c.mojibake >= c.foreign for _, c in chosen):
            suspect.found["garbled"] = max(much, 0.9 * suspect.share)


def _twice_encoded(text: str) -> bool:
    """Whether a text is UTF-8 that was read as Latin-1."""
    for charset in ("cp1252", "latin-1"):
        try:
            return text.encode(charset).decode("utf-8") != text
        except UnicodeError:
            continue
    return False


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
