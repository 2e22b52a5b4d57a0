"""Changes of one table as flat rows, one per image: the form of change data feeds.

An insert is one row and a delete another, an update its two images; one that changes the key is a
delete and an insert, since a merge by the key needs that. Uncommitted changes are left out, and XA
transactions come where they were committed. Spark is not in here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.analyses._cells import states_of
from binlogkit.frames.arrow_types import carried_schema
from binlogkit.frames.fields.field import arrow_schema
from binlogkit.frames.fields.rows import CHANGELOG
from binlogkit.frames.flat_cells import STATES, flat_name
from binlogkit.frames.schema import OPS, CellState
from binlogkit.spark.carried import fit
from binlogkit.spark.splits.commits import Commits

INSERT, UPDATE, DELETE = range(len(OPS))
#: The values of ``_change_type``.
TYPES = ("insert", "update_preimage", "update_postimage", "delete")
_PREIMAGE, _POSTIMAGE = 1, 2
_SEQUENCE = np.dtype(
    [
        ("begun", ">u4"), ("number", ">u4"), ("commit", ">u8"), ("pos", ">u8"), ("inner", ">u4"),
        ("row", ">u4"), ("image", "u1"),
    ]
)  # fmt: skip
#: Of a ``_sequence``: the last byte distinguishes the images of a change.
SEQUENCE_BYTES = _SEQUENCE.itemsize


def sequence_from(begun: int, number: int, commit: int) -> bytes:
    """The smallest ``_sequence`` of what was committed from a position of a file on."""
    return b"".join(
        (begun.to_bytes(4, "big"), number.to_bytes(4, "big"), commit.to_bytes(8, "big"))
    )


def changelog_schema(image: Iterable[pa.Field]) -> pa.Schema:
    """The flat schema of a table whose images have these fields, in types that Spark carries.

    Columns called as one of ours: see :func:`binlogkit.frames.flat_cells.flat_name`.
    """
    fields = [one.with_name(flat_name(one.name)) for one in image]
    return carried_schema(pa.schema([*arrow_schema(CHANGELOG), *fields]))


def changelog(
    batch: pa.RecordBatch, schema: pa.Schema, commits: Commits
) -> Iterator[pa.RecordBatch]:
    """The rows of a canonical batch that were committed, with the columns of ``schema``.

    A column of another version of the table is *not in the image* here, one that ``schema`` lacks
    is left out. SchemaError: a value does not fit its type.
    """
    rows = np.flatnonzero(commits.committed(batch))
    if not len(rows):
        return
    if len(rows) < batch.num_rows:
        batch = batch.take(pa.array(rows))
    yield _Flat(batch, commits).batch(schema)


class _Flat:
    """A batch whose rows have become one or two: ``rows`` of each, from which ``after`` image."""

    def __init__(self, batch: pa.RecordBatch, commits: Commits) -> None:
        self._batch, self._commits = batch, commits
        facts = batch.schema.metadata
        self._table = ".".join(json.loads(facts[b"binlogkit:table"]))
        self._key = list(map(flat_name, json.loads(facts[b"binlogkit:key"])))
        own = batch.schema.field("before").type
        self._fields = {flat_name(f.name): i for i, f in enumerate(own)}
        codes = pc.index_in(batch.column("op"), pa.array(OPS))
        self._ops = np.asarray(codes).astype(np.int8)
        updates = self._ops == UPDATE
        self.rows = np.repeat(np.arange(len(batch)), 1 + updates)
        second = np.append(False, self.rows[1:] == self.rows[:-1])
        self.after = (self._ops[self.rows] == INSERT) | second
        self._moved = np.zeros(len(batch), bool)
        if updates.any():
            self._moved[updates] = self._key_changed()[updates]

    def batch(self, schema: pa.Schema) -> pa.RecordBatch:
        """The flat rows."""
        made: dict[str, Callable[[], pa.Array]] = {
            "_change_type": self._types,
            "_commit_version": self._versions,
            "_commit_timestamp": self._timestamps,
            "_sequence": self._sequences,
            "_cells": lambda: self._cells(
                [n for n in schema.names if n not in _OURS and n not in self._fields]
            ),
        }
        columns = []
        for field in schema:
            own = field.name[1:]
            if field.name in made:
                column = made[field.name]()
            elif field.name in _OWN:
                column = self._spread(self._batch.column(own))
            elif field.name in self._fields:
                column = self._values(self._fields[field.name])
            else:
                column = pa.nulls(len(self.rows), field.type)
            columns.append(fit(column, field.type, f"{self._table}.{field.name}"))
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    # ---- columns ------------------------------------------------------------------------------

    def _spread(self, column: pa.Array) -> pa.Array:
        return column if len(column) == len(self.rows) else column.take(pa.array(self.rows))

    def _values(self, i: int) -> pa.Array:
        """A column of the table, each row's cell from its image."""
        before, after = (self._batch.column(image).field(i) for image in ("before", "after"))
        if self.after.all():
            return after
        if not self.after.any():
            return before
        if pa.types.is_dictionary(before.type):
            before, after = before.dictionary_decode(), after.dictionary_decode()
        both = pa.concat_arrays([before, after])
        return both.take(pa.array(self.rows + len(before) * self.after))

    def _types(self) -> pa.Array:
        ops = self._ops[self.rows]
        codes = np.where(ops == INSERT, 0, np.where(ops == DELETE, 3, _PREIMAGE))
        codes[(ops == UPDATE) & self.after] = _POSTIMAGE
        moved = self._moved[self.rows]
        codes[moved] = np.where(self.after[moved], 0, 3)
        return pa.array(TYPES).take(pa.array(codes))

    def _versions(self) -> pa.Array:
        return self._spread(pa.array(self._commits.versions(self._batch)))

    def _timestamps(self) -> pa.Array:
        moments = self._commits.timestamps(self._batch)
        return self._spread(pa.array(moments).cast(pa.timestamp("us", "UTC")))

    def _sequences(self) -> pa.Array:
        places = np.zeros(len(self._batch), _SEQUENCE)
        self._commits.places(self._batch, places)
        places["pos"] = np.asarray(self._batch.column("pos"))
        # Outside a payload 0, in one from 1 on.
        places["inner"] = np.asarray(self._batch.column("inner").fill_null(-1)) + 1
        places["row"] = np.asarray(self._batch.column("row"))
        places = places[self.rows]
        places["image"] = self.after
        width = pa.binary(_SEQUENCE.itemsize)
        fixed = pa.Array.from_buffers(width, len(places), [None, pa.py_buffer(places.tobytes())])
        return fixed.cast(pa.binary())

    def _key_changed(self) -> np.ndarray[Any, Any]:
        """Whether both images have a column of the key, with different values."""
        changed = np.zeros(len(self._batch), bool)
        before, after = (states_of(self._batch, image) for image in ("before", "after"))
        for name in self._key:
            if name not in self._fields:  # it was not requested
                continue
            i = self._fields[name]
            old, new = (self._batch.column(image).field(i) for image in ("before", "after"))
            if pa.types.is_dictionary(old.type):
                old, new = old.dictionary_decode(), new.dictionary_decode()
            equal = np.asarray(pc.fill_null(pc.equal(old, new), False))
            equal |= np.asarray(old.is_null()) & np.asarray(new.is_null())
            there = np.ones(len(equal), bool)
            for states in (before, after):
                if states is not None:
                    there &= states[:, i] != CellState.NOT_IN_IMAGE
            # A cell without a plain value may differ: a delete and an insert are right then, too.
            doubtful = self._doubtful(before, i) | self._doubtful(after, i)
            changed |= there & (~equal | doubtful)
        return changed

    def _doubtful(self, states: np.ndarray[Any, Any] | None, i: int) -> np.ndarray[Any, Any]:
        if states is None:
            return np.zeros(len(self._batch), bool)
        found: np.ndarray[Any, Any] = states[:, i] > CellState.NOT_IN_IMAGE
        return found

    # ---- cells that are no plain value --------------------------------------------------------

    def _cells(self, others: Sequence[str]) -> pa.Array:
        """Collect the cells. ``others``: columns of other versions of the table, which no image has
        here."""
        kind = arrow_schema(CHANGELOG).field("_cells").type
        absent = [_cell(name, CellState.NOT_IN_IMAGE) for name in others]
        before, after = (states_of(self._batch, image) for image in ("before", "after"))
        if before is None and after is None:
            return pa.repeat(pa.scalar(absent or None, kind), len(self.rows))
        none = np.zeros((len(self._batch), len(self._fields)), np.uint8)
        states = np.where(
            self.after[:, None],
            (none if after is None else after)[self.rows],
            (none if before is None else before)[self.rows],
        )
        states[states == CellState.NULL] = CellState.VALUE
        patterns, which = _patterns(states)
        raw, names = self._batch.column("raw"), [*self._fields]
        lists = [[*_pattern(pattern, names), *absent] or None for pattern in patterns]
        special: np.ndarray[Any, Any] = np.any(patterns > CellState.NOT_IN_IMAGE, axis=1)
        own = special[which]
        for at in np.flatnonzero(own).tolist():
            given = raw[int(self.rows[at])].as_py() or ()
            cells = {c["column"]: c for c in given if c["image"] == int(self.after[at])}
            which[at] = len(lists)
            lists.append([*_pattern(states[at], names, cells), *absent])
        return pa.array(lists, kind).take(pa.array(which))


_OURS = frozenset(field.name for field in CHANGELOG)
#: The columns that a batch has under the same name without the underscore.
_OWN = frozenset(
    field.name for field in CHANGELOG if field.name not in (
        "_change_type", "_commit_version", "_commit_timestamp", "_sequence", "_cells"
    )
)  # fmt: skip


def _patterns(
    states: np.ndarray[Any, Any],
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The distinct rows of a matrix, and which of them each row is."""
    rows = np.ascontiguousarray(states)
    packed = rows.view(np.dtype((np.void, max(rows.shape[1], 1)))).ravel()
    _, firsts, which = np.unique(packed, return_index=True, return_inverse=True)
    return rows[firsts], which.astype(np.int64)


def _pattern(
    states: np.ndarray[Any, Any], names: Sequence[str], cells: dict[int, Any] | None = None
) -> Iterator[dict[str, Any]]:
    """The cells of a row that are no plain values."""
    for i in np.flatnonzero(states).tolist():
        yield _cell(names[i], CellState(int(states[i])), (cells or {}).get(i) or {})


def _cell(name: str, state: CellState, form: Mapping[str, Any] | None = None) -> dict[str, Any]:
    form = form or {}
    return {
        "column": name, "state": STATES[state], "bytes": form.get("bytes"),
        "text": form.get("text"),
    }  # fmt: skip
