"""Plans in columns and as a frame; the plans of a whole log, made on demand.

A log's changes are kept in memory. Plans have one order over many tables and kinds. Changes are
taken from their batches in chunks of that order, so that the plans need little memory.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.analyses._cells import Cells
from binlogkit.analyses._change import CHANGE
from binlogkit.analyses.references import Reference
from binlogkit.analyses.undoing.unchecked import Check
from binlogkit.constants import TableId
from binlogkit.frames.fields.field import arrow_type, fields
from binlogkit.frames.generic import json_texts
from binlogkit.frames.schema import table_of
from binlogkit.frames.text_columns import Mask, Part, joined

PLANS = fields(
    ("step", "int64", "order of execution: rising"),
    *CHANGE,
    ("db", "string", "database"),
    ("table", "string", "table"),
    ("kind", "string", "what the statement does: insert, update or delete"),
    ("set", "list<item>", "columns to write; an item has column, value (JSON), type, generated"),
    ("keep", "list<string>", "columns written as they are: ON UPDATE CURRENT_TIMESTAMP may be "
     "theirs"),
    ("where", "list<item>", "what finds the row and guards it, items as in set"),
    ("unreferred", "list<reference>", "foreign keys by which as many rows must refer to it as are "
     "to follow (none by most), since the server changes or deletes such rows, or refuses because "
     "of them: db, table, columns, referenced columns, rows"),
    ("unchecked", "list<check>", "foreign keys that the server does not check for the statement, "
     "since the script does in the end: whether a reference dangles that has the values which it "
     "removes, or (written) those which it writes, unless that one dangled before; orphans: how "
     "many dangled before to what it removes, and may again"),
    ("limit_one", "boolean", "several rows may be equal in every column that is compared: only one "
     "is meant"),
    ("refused", "string?", "why there is no statement, null if there is one"),
    ("skipped", "boolean", "whether it was left out on request, since later changes depend on it"),
    ("later", "list<item>", "columns that it does not restore, since later changes set them, with "
     "their values (mode merge)"),
    ("note", "string?", "what the statement does not check or restore, null if nothing"),
)  # fmt: skip
_ITEM = pa.struct(
    {"column": pa.string(), "value": pa.string(), "type": pa.string(), "generated": pa.bool_()}
)
_REFERENCE = pa.struct(
    [("db", pa.string()), ("table", pa.string()), ("columns", pa.list_(pa.string())),
     ("referenced", pa.list_(pa.string())), ("rows", pa.int64())]
)  # fmt: skip
_CHECK = pa.struct(
    [*list(_REFERENCE)[:3], ("parent_db", pa.string()), ("parent_table", pa.string()),
     _REFERENCE.field("referenced"), ("written", pa.bool_()), ("dangled", pa.bool_()),
     ("orphans", pa.int64())]
)  # fmt: skip
_NESTED = {
    "list<item>": pa.list_(_ITEM),
    "list<reference>": pa.list_(_REFERENCE),
    "list<check>": pa.list_(_CHECK),
}
#: The Arrow schema of :data:`PLANS`.
PLAN_SCHEMA = pa.schema([(o.name, _NESTED.get(o.type) or arrow_type(o.type)) for o in PLANS])


#: Why there is no statement where nothing is to be done; the second is followed by the outcome.
NO_CHANGE, NOT_COMMITTED = "no column changes", "its transaction was not committed: "
#: Likewise in the mode merge.
KEPT = "later changes set every column that it set"
#: Likewise, after a column's name (reports/_literals.py says where that was tried).
NOT_NULL = " held NULL, and is NOT NULL since"
ERROR_VALUE = " held ENUM's error value (index 0), which no strict server takes"


@dataclass(frozen=True, slots=True)
class Chosen:
    """A column in statements; ``rows``: in which of them."""

    kind: str
    generated: bool
    cells: Cells
    rows: Mask

    @property
    def name(self) -> str:
        """The column's name."""
        return str(self.cells.field.name)

    def special(self) -> Iterator[tuple[int, str]]:
        """The rows in whose statements its value is none of the array's, and those texts."""
        for row, value in sorted(self.cells.special.items()):
            if self.rows[row]:
                yield row, value

    def json(self) -> pa.StringArray:
        """The values as JSON text, of the rows in whose statements the column is."""
        places = np.flatnonzero(self.rows)
        array = self.cells.array.take(pa.array(places))
        texts = json_texts(array, self.cells.field).fill_null("null")
        special = {row: json.dumps(text, ensure_ascii=False) for row, text in self.special()}
        if not special:
            return texts
        odd = np.isin(places, list(special))
        return pc.replace_with_mask(texts, pa.array(odd), pa.array(list(special.values())))


@dataclass(frozen=True, slots=True)
class PlanColumns:
    """Plans of one ``kind``, a row each.

    ``changes``: the source, in a batch's columns; ``set`` and ``where``: empty for refused rows;
    ``refused`` and ``note``: null if there is none; ``keep``: which columns stay as they are in
    which rows; ``unreferred``: foreign keys by which only so many rows may refer to which rows;
    ``skipped``: which refused ones are left out on request; ``later``: columns that are not
    restored, as later changes left them; ``left``: columns of rows on whose changes later ones
    depend, as the log leaves them, where that is certain; ``unchecked``: what the script checks in
    the server's place.
    """

    changes: pa.RecordBatch
    backwards: bool
    kind: str
    set: Sequence[Chosen]
    where: Sequence[Chosen]
    limit_one: Mask
    refused: pa.StringArray
    note: pa.StringArray
    keep: Sequence[tuple[str, Mask]] = ()
    unreferred: Sequence[tuple[Reference, Mask]] = ()
    skipped: Mask | None = None
    later: Sequence[Chosen] = ()
    left: Sequence[Chosen] = ()
    unchecked: Sequence[tuple[Check, Mask]] = ()

    @property
    def table(self) -> TableId:
        """Database and table."""
        return table_of(self.changes)

    def frame(self) -> pa.RecordBatch:
        """The plans as :data:`PLANS` says."""
        changes, rows = self.changes, self.changes.num_rows
        seq = changes["seq"]
        made = {
            "step": pc.negate(seq) if self.backwards else seq,
            "kind": pa.repeat(self.kind, rows),
            "set": _items(self.set, rows),
            "keep": _listed(self.keep, rows, pa.string(), str),
            "where": _items(self.where, rows),
            "unreferred": _listed(self.unreferred, rows, _REFERENCE, attrgetter("record")),
            "unchecked": _listed(self.unchecked, rows, _CHECK, attrgetter("record")),
            "limit_one": pa.array(self.limit_one),
            "refused": self.refused,
            "skipped": pa.array(_none(rows) if self.skipped is None else self.skipped),
            "later": _items(self.later, rows),
            "note": self.note,
        }
        arrays = []
        for field in PLAN_SCHEMA:
            array = made.get(field.name)
            if array is None and field.name in changes.schema.names:
                array = changes[field.name].cast(field.type)
            arrays.append(pa.nulls(rows, field.type) if array is None else array)
        return pa.RecordBatch.from_arrays(arrays, schema=PLAN_SCHEMA)


class Reasons:
    """Why rows are not undone: for each the first reason given, in ``texts``."""

    def __init__(self, texts: pa.StringArray) -> None:
        self.texts = texts

    def add(self, rows: Mask, *parts: Part) -> None:
        """Refuse ``rows``."""
        if not rows.any():
            return
        text = pc.if_else(pa.array(rows), joined(parts, len(rows)), pa.scalar(None, pa.string()))
        self.texts = pc.coalesce(self.texts, text)

    def none(self) -> Mask:
        """The rows that are not refused."""
        if self.texts.null_count == len(self.texts):
            return np.ones(len(self.texts), np.bool_)
        return np.array(self.texts.is_null(), np.bool_)


def batch_mappings(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    """The plans of a frame's batch as mappings, values in the contract's form."""
    rows: list[dict[str, Any]] = batch.to_pylist()
    items = [item for row in rows for part in ("set", "where", "later") for item in row[part]]
    values = json.loads(f"[{','.join(item['value'] for item in items)}]")
    for item, value in zip(items, values, strict=True):
        item["value"] = value
    return rows


def _items(columns: Sequence[Chosen], rows: int) -> pa.ListArray:
    """For each row the columns in its statement, in their order."""
    places = [np.flatnonzero(column.rows) for column in columns]
    of_rows = np.concatenate([np.zeros(0, np.int64), *places])
    ordinals = np.repeat(np.arange(len(columns)), [len(place) for place in places])
    order = np.argsort(of_rows, kind="stable")
    values = pa.concat_arrays([pa.array([], pa.string()), *(c.json() for c in columns)])
    facts: list[tuple[Any, ...]] = [(c.name, c.kind, c.generated) for c in columns]
    names, kinds, generated = zip(*facts, strict=True) if facts else ((), (), ())
    which = pa.array(ordinals[order])
    items = pa.StructArray.from_arrays(
        [
            pa.array(names, pa.string()).take(which),
            values.take(pa.array(order)),
            pa.array(kinds, pa.string()).take(which),
            pa.array(generated, pa.bool_()).take(which),
        ],
        fields=list(_ITEM),
    )
    ends = np.cumsum(np.bincount(of_rows, minlength=rows))
    offsets = pa.array(np.concatenate([[0], ends]), pa.int32())
    return pa.ListArray.from_arrays(offsets, items, type=pa.list_(_ITEM))


def _listed(
    known: Sequence[tuple[Any, Mask]], rows: int, kind: pa.DataType, form: Callable[[Any], Any]
) -> pa.ListArray:
    """For each row the things that hold for it."""
    found: list[list[Any]] = [[] for _ in range(rows if known else 0)]
    for thing, those in known:
        for row in np.flatnonzero(those).tolist():
            found[row].append(form(thing))
    empty = pa.array([[]], pa.list_(kind))
    return pa.array(found, empty.type) if known else pa.repeat(empty[0], rows)


def _none(rows: int) -> Mask:
    return np.zeros(rows, np.bool_)


def no_texts(rows: int) -> pa.StringArray:
    """Texts of which there are none."""
    return pa.nulls(rows, pa.string())


Places = npt.NDArray[np.int64]


#: Plans by the column, each with the places of its rows in the chunk.
Chunk = list[tuple["Places", "PlanColumns"]]

# Rows of a chunk, and rows of each piece; a few rows of a piece take as long as one.
_ROWS, _ROWS_OF_PIECE = 1 << 13, 64
_TEXT = 64 << 20  # bytes that the texts of a chunk's statements may have
_PER_BYTE, _PER_NAME, _PER_COLUMN = 6, 3, 64  # a statement's text, compared with its row's values
_VALUES = ("before", "after", "raw")


@dataclass(frozen=True, slots=True)
class Piece:
    """Some changes; ``plans``: makes plans for a part of them, with the numbers of their rows."""

    batch: pa.RecordBatch
    plans: Callable[[pa.RecordBatch], Iterable[tuple[Places, PlanColumns]]]

    def cost(self) -> int:
        """The approximate size of a statement's text in bytes."""
        schema = self.batch.schema
        names = schema.field("after").type.names if "after" in schema.names else ()
        named = sum(_PER_NAME * len(name.encode()) + _PER_COLUMN for name in names)
        rows = max(1, int(self.batch.num_rows))
        return _PER_COLUMN + named + _PER_BYTE * size_of(self.batch) // rows


def size_of(batch: pa.RecordBatch) -> int:
    """Bytes of the values of changes."""
    return sum(int(batch[name].nbytes) for name in _VALUES if name in batch.schema.names)


class Plans(Sequence[dict[str, Any]]):
    """Plans in the order of their execution, as mappings of :data:`.undo.PLANS`."""

    def __init__(self, pieces: Iterable[Piece], *, backwards: bool) -> None:
        self._pieces = list(pieces)
        sizes = [piece.batch.num_rows for piece in self._pieces]
        self._starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        self._costs = np.array([piece.cost() for piece in self._pieces], np.int64)
        seqs = [np.zeros(0, np.int64), *(p.batch["seq"].to_numpy() for p in self._pieces)]
        steps = np.concatenate(seqs)
        self._order = np.argsort(-steps if backwards else steps, kind="stable")

    def __len__(self) -> int:
        return len(self._order)

    @property
    def tables(self) -> set[TableId]:
        """The tables of the changes, by their last names."""
        return {table_of(piece.batch) for piece in self._pieces if piece.batch.num_rows}

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, index: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        if isinstance(index, slice):
            return list(in_order(self._chunks(self._order[index])))
        return next(in_order(self._chunks(self._order[[index]])))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return in_order(self.chunks())

    def __repr__(self) -> str:
        return f"<{len(self)} plans>"

    def counts(self) -> dict[str, int]:
        """How many have a statement, are refused, and are left out on request; how many columns
        keep what later changes set."""
        made = [plans for chunk in self.chunks() for _, plans in chunk]
        none = sum(len(p.refused) - p.refused.null_count for p in made)
        left = sum(0 if p.skipped is None else int(p.skipped.sum()) for p in made)
        kept = sum(int(column.rows.sum()) for p in made for column in p.later)
        found = {"refused": none - left, "skipped": left, "columns kept": kept}
        return {"statements": len(self) - none, **found}

    def chunks(self) -> Iterator[Chunk]:
        """All plans by the column, in chunks whose texts are small unless a single row is large."""
        return self._chunks(self._order)

    def _chunks(self, order: Places) -> Iterator[Chunk]:
        while len(order):
            ids = order[: max(_ROWS, _ROWS_OF_PIECE * len(self._pieces))]
            text = np.cumsum(self._costs[self._piece_of(ids)])
            ids = ids[: max(1, int(np.searchsorted(text, _TEXT)))]
            order = order[len(ids) :]
            yield from self._made(ids)

    def _piece_of(self, ids: Places) -> Places:
        return np.searchsorted(self._starts, ids, "right") - 1

    def _made(self, ids: Places) -> Iterator[Chunk]:
        """The plans of some rows; in halves if the rows are larger than most."""
        pieces = self._piece_of(ids)
        taken = []
        for number in np.unique(pieces).tolist():
            places = np.flatnonzero(pieces == number)
            piece = self._pieces[number]
            batch = piece.batch.take(pa.array(ids[places] - self._starts[number]))
            taken.append((places, piece, batch))
        half = len(ids) // 2
        if half and sum(size_of(batch) for _, _, batch in taken) * _PER_BYTE > 2 * _TEXT:
            yield from self._made(ids[:half])
            yield from self._made(ids[half:])
            return
        yield [
            (places[rows], columns)
            for places, piece, batch in taken
            for rows, columns in piece.plans(batch)
        ]


def in_order(chunks: Iterable[Chunk]) -> Iterator[dict[str, Any]]:
    """The plans of chunks as mappings."""
    for chunk in chunks:
        plans = [plan for _, columns in chunk for plan in batch_mappings(columns.frame())]
        for place in np.argsort(np.concatenate([rows for rows, _ in chunk])).tolist():
            yield plans[place]
