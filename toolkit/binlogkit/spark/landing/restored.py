"""Flat rows as changes: images, states, provenance, as ``log.changes()`` gives them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from binlogkit.analyses.point_in_time.boundary import Boundary
from binlogkit.analyses.point_in_time.codes import Integers
from binlogkit.analyses.point_in_time.conversion import defined_field
from binlogkit.constants import TableId
from binlogkit.frames.arrays import one_array
from binlogkit.frames.fields.rows import PROVENANCE
from binlogkit.frames.flat_cells import flat_name, raw_of, states_of
from binlogkit.frames.flat_states import cast_to
from binlogkit.frames.schema import OPS, batch_schema, with_key
from binlogkit.frames.tables import united
from binlogkit.rows.filters import written_table_name
from binlogkit.rows.resolve import key_of
from binlogkit.spark.landing.numbering import PLACES, Numbering, Places
from binlogkit.spark.masks import Masks
from binlogkit.spark.splits.changelog import SEQUENCE_BYTES

if TYPE_CHECKING:
    from binlogkit.rows.schema import TableDefinition


_ROWS = 1 << 16  # of a batch
_NAMES = pa.schema([("_file", pa.string()), ("_sequence", pa.binary())])


class Restored:
    """Flat rows of a landed table, of which one or two are a change.

    ``versions``: of the table, an empty batch each.
    """

    def __init__(
        self,
        name: TableId,
        rows: pa.Table,
        versions: list[pa.RecordBatch],
        numbering: Numbering,
        masks: Masks,
    ) -> None:
        self._name, self._numbering, self._masks = name, numbering, masks
        rows, second = by_change(rows)
        self._rows = rows = rows.combine_chunks()
        self._versions = versions
        starts = np.flatnonzero(~second)
        pairs = np.append(second[1:], False)[starts] if len(second) else second
        inserts = np.asarray(pc.equal(rows["_change_type"], "insert"))[starts]
        self._starts = starts
        self._ops = np.where(pairs, 1, np.where(inserts, 0, 2))
        self._before = np.where(self._ops == 0, -1, starts)
        self._after = np.where(self._ops == 2, -1, starts + pairs)

    def __len__(self) -> int:
        return len(self._starts)

    @cached_property
    def places(self) -> Places:
        """The places that order the changes."""
        starts = pa.array(self._starts)
        own = {name: self._rows[name].take(starts) for name in PLACES}
        return self._numbering.places(own)

    @property
    def odd(self) -> list[str]:
        """The columns of which ``_cells`` says something."""
        named = pc.struct_field(pc.list_flatten(self._rows["_cells"]), "column")
        names: list[str] = pc.unique(named).to_pylist()
        return names

    def left(self, chosen: np.ndarray[Any, Any]) -> pa.Table:
        """The flat rows of changes, in order: for each the row that it left, else the one that it
        deleted."""
        after = self._after[chosen]
        return self._rows.take(pa.array(np.where(after < 0, self._starts[chosen], after)))

    def united(self) -> pa.Schema:
        """The schema of all versions, without what is masked. SchemaError: their types have no
        common type."""
        schema = united(self._versions, written_table_name(*self._name)).schema
        fields = list(schema.field("before").type)
        plain = [one for one in fields if not self._masks.masks_column(*self._name, one.name)]
        return schema if len(plain) == len(fields) else batch_schema(plain, schema.metadata)

    def batches(
        self, seqs: np.ndarray[Any, Any], boundaries: Sequence[Boundary]
    ) -> Iterator[pa.RecordBatch]:
        """The changes with the columns that the table had, as far as its ``boundaries`` show."""
        order = np.argsort(seqs)
        edges = np.searchsorted(seqs[order], [b.seq for b in boundaries]).tolist()
        runs = zip([None, *boundaries], [0, *edges], [*edges, len(seqs)], strict=True)
        for boundary, start, stop in runs:
            known = None if boundary is None else self._defined(boundary.definition)
            for at in range(start, stop, _ROWS):
                table = self._in(seqs, known, order[at : min(at + _ROWS, stop)])
                yield from table.combine_chunks().to_batches()

    def _in(
        self, seqs: np.ndarray[Any, Any], known: pa.Schema | None, chosen: np.ndarray[Any, Any]
    ) -> pa.Table:
        """Changes in the known schema, else in that of all versions."""
        if known is not None:
            with suppress(pa.ArrowInvalid):  # values do not fit: the rows show other columns
                return self.table(seqs, known, chosen)
        return self.table(seqs, self.united(), chosen)

    def _defined(self, definition: TableDefinition | None) -> pa.Schema | None:
        """The schema of a definition, None if the rows have other columns."""
        if definition is None:
            return None
        fields = [defined_field(column) for column in definition.columns]
        if not {*self._rows.column_names}.issuperset(flat_name(field.name) for field in fields):
            return None
        schema = batch_schema(fields, self._versions[0].schema.metadata)
        return with_key(schema, key_of(definition)[0])

    def table(
        self,
        seqs: np.ndarray[Any, Any],
        schema: pa.Schema,
        chosen: np.ndarray[Any, Any] | None = None,
    ) -> pa.Table:
        """The canonical changes, in order, with the columns that were read.

        ``seqs``: the number of each; ``chosen``: which of them.
        """
        chosen = np.argsort(seqs) if chosen is None else chosen
        starts = pa.array(self._starts[chosen])
        known = self._numbering
        at = known.transactions(*(part[chosen] for part in self.places[:2]))
        commits = np.append(known.commits, -1)[at]
        db, table = (pa.repeat(name, len(starts)) for name in self._name)
        columns: dict[str, Any] = {
            "seq": pa.array(seqs[chosen]),
            "tx": pa.array(np.append(known.tx, -1)[at], mask=at < 0),
            "commit_timestamp": pa.array(commits, mask=commits < 0),
            "op": pa.array(OPS).take(pa.array(self._ops[chosen])),
            "db": db,
            "table": table,
        }
        for field in PROVENANCE:
            own = f"_{field.name}"
            if field.name not in columns and own in self._rows.column_names:
                columns[field.name] = self._rows[own].take(starts)
        raw = []
        for number, (image, rows) in enumerate((("before", self._before), ("after", self._after))):
            columns[image] = self._image(rows[chosen], schema)
            cells = self._rows["_cells"].take(pa.array(rows[chosen], mask=rows[chosen] < 0))
            columns[f"{image}_state"], forms = states_of(one_array(cells), columns[image])
            raw.append(forms.append_column("image", pa.repeat(number, len(forms))))
        columns["raw"] = raw_of(raw, len(chosen), schema.field("raw").type)
        there = pa.schema([f for f in schema if f.name in columns], schema.metadata)
        return pa.table([cast_to(columns[f.name], f.type) for f in there], schema=there)

    def _image(self, places: np.ndarray[Any, Any], schema: pa.Schema) -> pa.StructArray:
        fields, gone = list(schema.field("before").type), places < 0
        children = [
            cast_to(_taken(self._rows[own], places), one.type)
            if (own := flat_name(one.name)) in self._rows.column_names
            else pa.nulls(len(places), one.type)
            for one in fields
        ]
        return pa.StructArray.from_arrays(
            [one_array(c) for c in children],
            fields=fields, mask=pa.array(gone),
        )  # fmt: skip


#: Rows, and the numbers of their changes.
Ordered: TypeAlias = tuple[Restored, Integers]


def _taken(column: pa.ChunkedArray, places: np.ndarray[Any, Any]) -> pa.ChunkedArray:
    """The values at places, NULL at -1."""
    gone, size = places < 0, len(places)
    if gone.all():
        return pa.chunked_array([pa.nulls(size, column.type)])
    if not gone.any() and places[-1] - places[0] == size - 1 and (np.diff(places) == 1).all():
        return column.slice(int(places[0]), size)
    return column.take(pa.array(places, mask=gone))


def by_change(rows: pa.Table) -> tuple[pa.Table, NDArray[np.bool_]]:
    """Flat rows, those of a change one after the other, and which are the second image of the
    change before.

    Two servers whose logs were begun in one second, with one number, have the same sequences.
    """
    sequence = rows["_sequence"]
    if not pc.all(pc.less_equal(sequence[:-1], sequence[1:])).as_py():
        rows = rows.take(pc.sort_indices(sequence))
    second = _same_but_image(rows["_sequence"])
    if not second.any():
        return rows, second
    other = _of_other_logs(rows)
    if np.any(second & other):
        names = rows.select(["_file", "_sequence"]).cast(_NAMES)
        rows = rows.take(pc.sort_indices(names, [(one, "ascending") for one in _NAMES.names]))
        second, other = _same_but_image(rows["_sequence"]), _of_other_logs(rows)
    return rows, second & ~other


def _of_other_logs(rows: pa.Table) -> NDArray[np.bool_]:
    """Which rows are of another log than the one before."""
    files = one_array(rows["_file"])
    if not pa.types.is_dictionary(files.type):
        files = files.dictionary_encode()
    codes = np.asarray(files.indices)
    return np.append(False, codes[1:] != codes[:-1])


def _same_but_image(sequence: pa.ChunkedArray) -> NDArray[np.bool_]:
    """Which differ from the one before in the last byte only."""
    size = len(sequence)
    if not size:
        return np.zeros(0, bool)
    values = pa.concat_arrays(sequence.chunks).cast(pa.binary())
    _, ends, data = values.buffers()  # all have one length
    first = np.frombuffer(ends, np.int32)[values.offset]
    octets = np.frombuffer(data, np.uint8)[first : first + size * SEQUENCE_BYTES]
    whole = octets.reshape(size, SEQUENCE_BYTES)[:, :-1]
    keys = np.ascontiguousarray(whole).view(np.dtype((np.void, SEQUENCE_BYTES - 1))).ravel()
    return np.append(False, keys[1:] == keys[:-1])
