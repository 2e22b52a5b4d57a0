"""Rows of ours as mysqlbinlog prints them, a batch at a time.

What stands after a value (its type, metadata and whether it may be NULL) is taken from rows that
were judged one by one; what is rendered so is compared as bytes, so a row of another form than
these is judged one by one, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.analyses._cells import states_of
from binlogkit.analyses.conformance.cell import TableVersion
from binlogkit.analyses.conformance.column_tokens import Mask, column_tokens
from binlogkit.analyses.conformance.printed import PrintedRow
from binlogkit.frames.schema import CellState

Counts = npt.NDArray[np.int64]

_HEADS = {
    "insert": b"### INSERT INTO ",
    "update": b"### UPDATE ",
    "delete": b"### DELETE FROM ",
}
_IMAGES = (("before", b"### WHERE\n"), ("after", b"### SET\n"))
_IS_NULL = b" is_null="
_NOTHING = pa.scalar(b"", pa.binary())


@dataclass(slots=True)
class RowForm:
    """How the rows of a version of a table are printed, as far as it was seen.

    ``facts``: the version, as the rules see it; ``columns``: by index what mysqlbinlog says of the
    column's type, and its whole comment up to whether the cell is NULL; ``seen``: grows with it.
    """

    facts: TableVersion
    columns: dict[int, tuple[str, bytes]] = field(default_factory=dict)
    seen: int = 0

    def learn(self, row: PrintedRow) -> None:
        """Look at a row that was judged."""
        for image in (row.before, row.after):
            for index, cell in (image or {}).items():
                comment, found, _ = cell.comment.rpartition(_IS_NULL)
                if found and self.columns.get(index) != (cell.type, comment):
                    self.columns[index] = (cell.type, comment)
                    self.seen += 1


@dataclass(frozen=True, slots=True)
class SingleDigits:
    """FLOAT cells, of which the text lacks some digits: ``values`` as they are stored, four
    bytes each; ``there``: which are in the image and not NULL."""

    image: str
    column: int
    values: npt.NDArray[np.float32]
    there: Mask


@dataclass(frozen=True, slots=True)
class RowTexts:
    """``data[offsets[i]:offsets[i + 1]]``: row i; ``odd``: rows that are judged one by one.

    ``cells``: how many each row has; ``rules``: how many of each row's a rule explains.
    """

    data: memoryview
    offsets: npt.NDArray[np.int32]
    odd: Mask
    cells: Counts
    rules: Mapping[str, Counts]
    digits: tuple[SingleDigits, ...]


def row_texts(batch: pa.RecordBatch, form: RowForm) -> RowTexts | None:
    """The rows of a batch; None where none can be rendered."""
    name = _one(batch, "db"), _one(batch, "table")
    columns = batch.schema.field("after").type
    if None in name or len({column.name for column in columns}) < columns.num_fields:
        return None
    return _Rows(batch, form).made(b".".join(b"`%s`" % _escaped(str(part)) for part in name))


def _one(batch: pa.RecordBatch, name: str) -> str | None:
    """What all rows have in a column, None where they differ."""
    found = batch.column(name).unique().to_pylist()
    return found[0] if len(found) == 1 and isinstance(found[0], str) else None


def _escaped(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape").replace(b"`", b"``")


def absent_cells(batch: pa.RecordBatch, image: str) -> Mask | None:
    """Which cells are not in an image, by row and column; None: all are."""
    states = states_of(batch, image)
    return None if states is None else states == CellState.NOT_IN_IMAGE


class _Rows:
    def __init__(self, batch: pa.RecordBatch, form: RowForm) -> None:
        rows = batch.num_rows
        self.batch = batch
        self.form = form
        self.parts: list[Any] = []
        self.odd = np.zeros(rows, bool)
        self.cells = np.zeros(rows, np.int64)
        self.rules: dict[str, Counts] = {}
        self.digits: list[SingleDigits] = []

    def made(self, table: bytes) -> RowTexts:
        verbs = map(_HEADS.get, self.batch.column("op").dictionary.to_pylist())
        heads = [None if verb is None else verb + table + b"\n" for verb in verbs]
        self.parts.append(pa.array(heads, pa.binary()).take(self.batch.column("op").indices))
        for image, mark in _IMAGES:
            self._image(image, mark)
        texts = pc.binary_join_element_wise(*self.parts, _NOTHING, _NOTHING)
        _, offsets, data = texts.buffers()
        ends = np.frombuffer(offsets, np.int32)[texts.offset :][: len(texts) + 1]
        whole = memoryview(b"" if data is None else data)
        self.odd |= ~np.asarray(texts.is_valid())
        return RowTexts(whole, ends, self.odd, self.cells, self.rules, tuple(self.digits))

    def _image(self, image: str, mark: bytes) -> None:
        struct = self.batch.column(image)
        there = np.asarray(struct.is_valid())
        if not there.any():
            return
        self.parts.append(_where(there, pa.scalar(mark, pa.binary())))
        absent = absent_cells(self.batch, image)
        self.odd |= there & self._special(image)
        before = self.cells.copy()
        for index, column in enumerate(struct.type):
            cells = there if absent is None else there & ~absent[:, index]
            if cells.any():
                self._column(image, index, column, struct.field(index), cells)
                self.cells += cells
        # Nothing but `VALUES ()` is printed of an image without cells.
        self.odd |= there & (self.cells == before)

    def _special(self, image: str) -> Mask:
        """Rows with cells that are neither a value nor NULL nor absent."""
        states = states_of(self.batch, image)
        if states is None:
            return np.zeros(self.batch.num_rows, bool)
        return np.asarray((states > CellState.NOT_IN_IMAGE).any(axis=1))

    def _column(
        self, image: str, index: int, column: pa.Field, array: pa.Array, cells: Mask
    ) -> None:
        known, facts = self.form.columns.get(index), self.form.facts.columns
        tokens = None
        if known is not None and index < len(facts) and facts[index].name == column.name:
            tokens = column_tokens(array, column, known[0], facts[index])
        if known is None or tokens is None:
            self.odd |= cells
            return
        start, comment = b"###   @%d=" % (index + 1), known[1] + _IS_NULL
        text = pc.binary_join_element_wise(start, tokens.texts, comment + b"0 */\n", _NOTHING)
        if text.null_count:
            text = text.fill_null(start + b"NULL" + comment + b"1 */\n")
        self.parts.append(_where(cells, text))
        if tokens.odd is not None:
            self.odd |= tokens.odd & cells
        for rule, mask in tokens.rules:
            counts = self.rules.setdefault(rule, np.zeros(len(cells), np.int64))
            counts += mask & cells
        if tokens.digits:
            values = np.asarray(array.fill_null(0), np.float32)
            valid = cells & np.asarray(array.is_valid())
            self.digits.append(SingleDigits(image, index, values, valid))


def _where(rows: Mask, text: Any) -> Any:
    return text if rows.all() else pc.if_else(pa.array(rows), text, _NOTHING)
