"""The rows of batches that a filter wants by their values (rows/where.py), column by column."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.errors import UsageError, printable
from binlogkit.frames.arrow_types import field_facts
from binlogkit.frames.fields.field import TIMES
from binlogkit.frames.fields.rows import BATCH
from binlogkit.frames.schema import CellState
from binlogkit.frames.user_values import Misfit, as_written, pair_of
from binlogkit.rows.filter_args import meant
from binlogkit.rows.where import Condition, Equals, Operand, Where

_IMAGES = ("before", "after")
_UNORDERED = ("enum", "set", "json", "geometry", "vector")
_TEXTS = ("text", "enum", "set", "json")
_DATES = ("date", "datetime", "timestamp")
#: The fields of a row that an expression may name.
_FACTS = {f.name: f for f in BATCH if f.type not in ("image", "raw", "list<uint8>")}


class Matcher:
    """Chooses rows, and knows which conditions no batch could be asked.

    UsageError: an expression names a field that no row has.
    """

    def __init__(self, where: Where) -> None:
        self._where = where
        self._misfits: dict[str, str] = {}
        self._fit: set[str] = set()
        for node in where.expressions:
            _check_fields(node)

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows of a batch of one table that match."""
        if not self._where:
            return batch
        rows = _Rows(batch)
        found = [self._holds(rows, node) for node in self._where.expressions]
        if self._where.equals:
            found.append(pc.or_(*(self._all_equal(rows, image) for image in _IMAGES)))
        return batch.filter(reduce(pc.and_, [pc.fill_null(one, False) for one in found]))

    @property
    def learned(self) -> tuple[dict[str, str], list[str]]:
        """Which conditions did not fit some batch's table, and why, and which did fit one."""
        return self._misfits, sorted(self._fit)

    def add(self, misfits: Mapping[str, str], fit: Iterable[str]) -> None:
        """Add what another one knows."""
        for asked, reason in misfits.items():
            self._misfit(asked, reason)
        self._fit.update(fit)

    def _misfit(self, asked: str, reason: str) -> None:
        """A batch's table has no such value; of several reasons one, whichever table came first."""
        self._misfits[asked] = min(reason, self._misfits.get(asked, reason))

    def complain(self) -> None:
        """UsageError: a value was asked for that is of no table's type."""
        for asked, reason in self._misfits.items():
            if asked not in self._fit:
                raise UsageError(reason)

    # ---- COLUMN=VALUE -------------------------------------------------------------------

    def _all_equal(self, rows: _Rows, image: str) -> pa.Array:
        """Whether one image holds each of the values."""
        found = [self._equal(rows, image, one) for one in self._where.equals]
        return reduce(pc.and_, [pc.fill_null(one, False) for one in found])

    def _equal(self, rows: _Rows, image: str, asked: Equals) -> pa.Array:
        cells = rows.cells(Operand(image, asked.column))
        if cells is None:
            return rows.unknown()
        if asked.value is None:
            return cells.is_null()
        return self._compared(cells, "equal", asked.value, str(asked))

    def _compared(self, cells: _Cells, operator: str, value: Any, asked: str) -> pa.Array:
        try:
            found = cells.compared(operator, value)
        except Misfit as exc:
            reason = f"{asked}: {cells.name} is {cells.type_name}, compared with {exc}"
            self._misfit(asked, printable(reason))
            return cells.unknown()
        self._fit.add(asked)
        return found

    # ---- expressions --------------------------------------------------------------------

    def _holds(self, rows: _Rows, node: Any) -> pa.Array:
        if node.operator == "not":
            return pc.invert(self._holds(rows, node.left))
        if node.operator in ("and", "or"):
            join = pc.and_kleene if node.operator == "and" else pc.or_kleene
            return join(self._holds(rows, node.left), self._holds(rows, node.right))
        cells = rows.cells(node.left)
        if cells is None:
            return rows.unknown()
        if node.operator == "null":
            return cells.is_null()
        if node.operator == "changed":
            return _changed(rows, node.left.name)
        if node.operator == "like":
            return cells.like(node.right)
        if isinstance(node.right, Operand):
            other = rows.cells(node.right)
            return rows.unknown() if other is None else cells.with_other(node.operator, other)
        if node.operator == "same":
            return self._same(cells, node)
        asked = f"{node.left} and {node.right}"
        return self._compared(cells, node.operator, node.right, asked)

    def _same(self, cells: _Cells, node: Condition) -> pa.Array:
        """``<=>`` with a value: never unknown where the cell is there."""
        null = cells.is_null()
        if node.right is None:
            return null
        equal = self._compared(cells, "equal", node.right, f"{node.left} and {node.right}")
        return pc.if_else(pc.fill_null(null, False), False, equal)


def _check_fields(node: Condition) -> None:
    for operand in node.operands():
        if operand.image is None and operand.name not in _FACTS:
            name = printable(operand.name)
            raise UsageError(
                f"a row has no field {name}{meant(operand.name, _FACTS) or '.'} A column is "
                f"written after.{name} or before.{name}, a text in quotes"
            )


class _Rows:
    """A batch, as what is compared."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self.batch = batch

    def unknown(self) -> pa.Array:
        """Of each row neither."""
        return pa.nulls(self.batch.num_rows, pa.bool_())

    def cells(self, operand: Operand) -> _Cells | None:
        """The cells of a column; None where the table has no such column."""
        if operand.image is None:
            fact, column = _FACTS[operand.name], self.batch.column(operand.name)
            kind = fact.type if fact.type in TIMES else "integer"
            kind = "text" if fact.type == "string" else kind
            return _Cells(column, kind, fact.name, fact.type, None)
        struct = self.batch.column(operand.image)
        names = [field.name for field in struct.type]
        if operand.name not in names:
            return None
        i = names.index(operand.name)
        field = struct.type.field(i)
        facts = field_facts(field)
        name = ".".join([*json.loads(self.batch.schema.metadata[b"binlogkit:table"]), operand.name])
        kind, type_name = facts.get("kind", "text"), facts.get("mysql_type", "")
        odd = _Odd(self.batch, operand.image, i)
        return _Cells(pc.struct_field(struct, [i]), kind, name, type_name, odd)


def _changed(rows: _Rows, column: str) -> pa.Array:
    """Whether an update changed a column; null where its images do not decide it."""
    before, after = (rows.cells(Operand(image, column)) for image in ("before", "after"))
    assert before is not None and after is not None  # images have the same columns
    written, difference = after.there(), after.has_state(CellState.JSON_DIFF)
    other = before.differs(after)
    sure = pc.or_(pc.invert(before.there()), difference)
    update = pc.and_(rows.batch["before"].is_valid(), rows.batch["after"].is_valid())
    return pc.if_else(pc.and_(update, written), pc.if_else(sure, True, other), False)


def changed_columns(batch: pa.RecordBatch) -> pa.ListArray:
    """Of each change the names of the columns that it changed as an update; else none."""
    rows = _Rows(batch)
    names = [field.name for field in batch.schema.field("after").type]
    found = [pc.fill_null(_changed(rows, name), False) for name in names]
    flags = np.array([one.to_numpy(zero_copy_only=False) for one in found], bool)
    flags = flags.reshape(len(names), batch.num_rows).T
    ends = np.concatenate([[0], flags.sum(axis=1).cumsum()]).astype(np.int32)
    return pa.ListArray.from_arrays(
        ends, pa.array(names, pa.string()).take(pa.array(flags.nonzero()[1]))
    )


@dataclass(slots=True)
class _Odd:
    """What the states of a batch say of one column of an image."""

    batch: pa.RecordBatch
    image: str
    column: int

    def states(self) -> pa.Array | None:
        """The state of each cell, null where it is a value or NULL; None where all are."""
        states = self.batch.column(f"{self.image}_state")
        return None if states.null_count == len(states) else pc.list_element(states, self.column)

    def texts(self) -> dict[int, str]:
        """By row, the cells that Arrow has no value for, as the server writes them."""
        states = self.states()
        if states is None:
            return {}
        without = pc.fill_null(pc.equal(states, int(CellState.NO_ARROW_VALUE)), False)
        raw = self.batch.column("raw")
        own = (_IMAGES.index(self.image), self.column)
        return {
            row: cell["text"]
            for row in np.flatnonzero(without).tolist()
            for cell in raw[row].as_py()
            if (cell["image"], cell["column"]) == own
        }


def _corrected(found: pa.Array, new: dict[int, bool]) -> pa.Array:
    """The answers of some rows in place of those found."""
    if not new:
        return found
    mask = np.zeros(len(found), bool)
    mask[list(new)] = True
    return pc.replace_with_mask(found, pa.array(mask), pa.array([new[r] for r in sorted(new)]))


@dataclass
class _Cells:
    """A column: its values in Arrow, null where there is none, and what they are."""

    array: pa.Array
    kind: str
    name: str
    type_name: str
    odd: _Odd | None

    def unknown(self) -> pa.Array:
        """Of each cell neither."""
        return pa.nulls(len(self.array), pa.bool_())

    @cached_property
    def plain(self) -> pa.Array:
        """The values, dictionaries decoded."""
        encoded = pa.types.is_dictionary(self.array.type)
        return self.array.dictionary_decode() if encoded else self.array

    def is_null(self) -> pa.Array:
        """Whether each cell is NULL; unknown of one that is not there or has no value."""
        null = self.array.is_null()
        if self.odd is None:
            return null
        known = self.odd.batch.column(self.odd.image).is_valid()
        states = self.odd.states()
        if states is not None:
            known = pc.and_(known, pc.fill_null(pc.less_equal(states, int(CellState.NULL)), True))
        return pc.if_else(known, null, pa.scalar(None, pa.bool_()))

    def differs(self, other: _Cells) -> pa.Array:
        """Whether the same column of another image has another value, NULL and odd dates too."""
        found = pc.invert(self.with_other("same", other))
        mine, theirs = (cells.odd.texts() if cells.odd else {} for cells in (self, other))
        return _corrected(found, {r: mine.get(r) != theirs.get(r) for r in mine.keys() | theirs})

    def has_state(self, state: CellState) -> pa.Array:
        """Which cells of an image are in a state above NULL."""
        states = None if self.odd is None else self.odd.states()
        if states is None:
            return pa.array(np.zeros(len(self.array), bool))
        return pc.fill_null(pc.equal(states, int(state)), False)

    def there(self) -> pa.Array:
        """Which cells the image holds, decodable or not."""
        return pc.invert(self.has_state(CellState.NOT_IN_IMAGE))

    def compared(self, operator: str, value: Any) -> pa.Array:
        """Each cell with a value. Misfit: it is none of the column's type."""
        self._check_order(operator)
        written = as_written(value) if self.kind in _DATES else None
        try:
            found = getattr(pc, operator)(*pair_of(self.array, self.kind, value))
        except Misfit:
            if written is None:
                raise
            found = pc.if_else(self.array.is_valid(), operator == "not_equal", None)
        if self.odd is None or self.kind not in _DATES or operator not in ("equal", "not_equal"):
            return found
        return self._with_odd(found, operator, written)

    def _with_odd(self, found: pa.Array, operator: str, written: str | None) -> pa.Array:
        """The same, dates that no calendar has compared as the server writes them."""
        assert self.odd is not None
        texts, equal = self.odd.texts(), operator == "equal"
        return _corrected(found, {r: (as_written(t) == written) == equal for r, t in texts.items()})

    def _check_order(self, operator: str) -> None:
        if self.kind in _UNORDERED and operator not in ("equal", "not_equal", "same"):
            raise UsageError(
                f"{printable(self.name)} is {self.type_name}, which has no order here: compare it "
                "with = or <>"
            )

    def like(self, pattern: str) -> pa.Array:
        """Whether each text fits a pattern."""
        if self.kind not in _TEXTS or not pa.types.is_string(self.plain.type):
            raise UsageError(f"LIKE is for texts, and {printable(self.name)} is {self.type_name}")
        return pc.match_like(self.plain, pattern)

    def with_other(self, operator: str, other: _Cells) -> pa.Array:
        """Each cell with that of another column in the same row."""
        self._check_order(operator)
        function = pc.equal if operator == "same" else getattr(pc, operator)
        try:
            found = function(self.plain, other.plain)
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as exc:
            raise UsageError(
                f"{printable(self.name)} is {self.type_name} and {printable(other.name)} "
                f"{other.type_name}: they cannot be compared"
            ) from exc
        if operator != "same":
            return found
        null, other_null = self.is_null(), other.is_null()
        return pc.if_else(pc.or_(null, other_null), pc.and_(null, other_null), found)
