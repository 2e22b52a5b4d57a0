"""Landed tables as the typed changes that analyses take, as ``log.changes()`` gives them.

What a landed table does not hold of a change (its transaction's number, types narrower than a long)
follows from the ledger beside it. The logs are not needed.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from binlogkit.errors import InputError, SchemaError
from binlogkit.frames.fields.rows import PROVENANCE
from binlogkit.frames.layouts import empty_batch
from binlogkit.frames.schema import OPS, CellState
from binlogkit.frames.tables import united
from binlogkit.log.index import Index, Joined
from binlogkit.log.index.transactions import joined_transactions
from binlogkit.rows.filters import Filters, parse_table_name, written_table_name
from binlogkit.spark.changelog import STATES
from binlogkit.spark.landing.landing import LEDGER
from binlogkit.spark.landing.reading import folders, landed

_STATES = {word: int(state) for state, word in STATES.items()}


class Landing:
    """What has landed in a folder: :meth:`transactions`, and the :meth:`changes` of tables."""

    def __init__(self, out: str | Path) -> None:
        self._out = Path(out)
        index = Index(self._out / LEDGER)
        self._parts = index.besides([], ["transactions"])
        self._joined = Joined(self._parts)
        if not self._parts:
            raise InputError(str(out), "nothing has landed there")

    def tables(self) -> list[str]:
        """The tables that have landed, ``db.table``."""
        names = [n for n in self._joined.schemas if any(True for _ in folders(self._out, n))]
        return sorted(written_table_name(*name) for name in names)

    @cached_property
    def _files(self) -> list[str]:
        return [name for part in self._parts for name in part.names]

    @cached_property
    def _transactions(self) -> pa.Table:
        return joined_transactions(self._parts, self._joined, Filters(), self._files)

    def transactions(self) -> pa.Table:
        """The transactions of all logs of the ledger, as ``log.transactions()`` has them."""
        return self._transactions

    def changes(self, table: str) -> pa.Table:
        """The committed changes of a table as ``log.changes(table)`` has them, in log order.

        ``seq`` counts them. SchemaError: versions of the table have no columns in common;
        UsageError, InputError: as of :func:`binlogkit.spark.landing.landed`.
        """
        rows = landed(self._out, table)
        name = parse_table_name(table)
        assert name.db is not None
        if len(list(folders(self._out, (name.db, name.table)))) > 1:
            raise SchemaError(f"versions of {table} have types that have nothing in common")
        versions = self._joined.schemas[name.db, name.table]
        schema = united([empty_batch(version) for version in versions], table).schema
        return _Restored(rows, schema, self).table()

    def places(self, files: pa.ChunkedArray, pos: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The row in the transactions' table of those that hold events, -1 without one."""
        found = np.full(len(pos), -1)
        ledger = self._transactions
        theirs = np.array(ledger["file"].to_pylist(), object)
        starts, ends = (np.asarray(ledger[n]) for n in ("pos", "end_pos"))
        names = np.array(files.to_pylist(), object)
        for file in dict.fromkeys(names.tolist()):
            own, rows = np.flatnonzero(names == file), np.flatnonzero(theirs == file)
            order = rows[np.argsort(starts[rows], kind="stable")]
            at = np.searchsorted(starts[order], pos[own], side="right") - 1
            inside = (at >= 0) & (pos[own] < ends[order[np.maximum(at, 0)]])
            found[own] = np.where(inside, order[np.maximum(at, 0)], -1)
        return found

    def order(self, files: pa.ChunkedArray) -> np.ndarray[Any, Any]:
        """The number of each file among all."""
        numbers = {name: i for i, name in enumerate(self._files)}
        return np.array([numbers[name] for name in files.to_pylist()])


class _Restored:
    """Flat rows, of which one or two are a change."""

    def __init__(self, rows: pa.Table, schema: pa.Schema, landing: Landing) -> None:
        self._rows, self._schema, self._landing = rows.combine_chunks(), schema, landing
        keys = np.array([bytes(key)[:-1] for key in rows["_sequence"].to_pylist()], object)
        second = np.append(False, keys[1:] == keys[:-1])[: len(keys)]
        starts = np.flatnonzero(~second)
        pairs = np.append(second[1:], False)[starts] if len(keys) else second
        types = np.array(rows["_change_type"].to_pylist(), object)[starts]
        self._starts = starts
        self._ops = np.where(pairs, 1, np.where(types == "insert", 0, 2))
        self._before = np.where(self._ops == 0, -1, starts)
        self._after = np.where(self._ops == 2, -1, starts + pairs)

    def table(self) -> pa.Table:
        """The canonical changes."""
        starts = pa.array(self._starts)
        files = self._rows["_file"].take(starts)
        pos = np.asarray(self._rows["_pos"].take(starts))
        places = self._landing.places(files, pos)
        own = self._landing.transactions().take(pa.array(places, mask=places < 0))
        inner = np.asarray(self._rows["_inner"].take(starts).fill_null(-1))
        row = np.asarray(self._rows["_row"].take(starts))
        order = np.lexsort([row, inner, pos, self._landing.order(files)])
        ranks = np.empty(len(order), np.int64)
        ranks[order] = np.arange(len(order))
        columns: dict[str, Any] = {
            "seq": pa.array(ranks),
            "tx": own["tx"],
            "commit_timestamp": own["commit_timestamp"],
            "op": pa.array(OPS).take(pa.array(self._ops)),
            "db": self._constant(0),
            "table": self._constant(1),
        }
        for field in PROVENANCE:
            if field.name not in columns:
                columns[field.name] = self._rows[f"_{field.name}"].take(starts)
        raw: list[list[dict[str, Any]]] = [[] for _ in self._starts]
        for number, (image, places) in enumerate(
            (("before", self._before), ("after", self._after))
        ):
            columns[image] = self._image(places)
            columns[f"{image}_state"] = self._states(places, columns[image], number, raw)
        columns["raw"] = pa.array([cells or None for cells in raw], self._schema.field("raw").type)
        made = [_cast(columns[field.name], field.type) for field in self._schema]
        return pa.table(made, schema=self._schema).take(pa.array(order))

    def _constant(self, which: int) -> pa.Array:
        import json

        names = json.loads(self._schema.metadata[b"binlogkit:table"])
        return pa.array([names[which]] * len(self._starts), pa.string())

    def _image(self, places: np.ndarray[Any, Any]) -> pa.StructArray:
        fields = list(self._schema.field("before").type)
        indices, gone = pa.array(places, mask=places < 0), places < 0
        children = [
            _cast(self._rows[one.name].take(indices), one.type)
            if one.name in self._rows.column_names
            else pa.nulls(len(places), one.type)
            for one in fields
        ]
        return pa.StructArray.from_arrays(
            [c.combine_chunks() if isinstance(c, pa.ChunkedArray) else c for c in children],
            fields=fields, mask=pa.array(gone),
        )  # fmt: skip

    def _states(
        self, places: np.ndarray[Any, Any], image: pa.StructArray, number: int,
        raw: list[list[dict[str, Any]]],
    ) -> pa.Array:  # fmt: skip
        names = {one.name: i for i, one in enumerate(image.type)}
        lists: list[list[int] | None] = [None] * len(places)
        taken = self._rows["_cells"].take(pa.array(places, mask=places < 0)).to_pylist()
        for at, cells in enumerate(taken):
            if cells is None:
                continue
            nulls = [not image.field(i)[at].is_valid for i in range(len(names))]
            states = [int(CellState.NULL) if null else int(CellState.VALUE) for null in nulls]
            for cell in cells:
                i = names[cell["column"]]
                states[i] = _STATES[cell["state"]]
                if cell["bytes"] is not None or cell["text"] is not None:
                    told = {"bytes": cell["bytes"], "text": cell["text"]}
                    raw[at].append({"image": number, "column": i, **told})
            lists[at] = states
        return pa.array(lists, pa.list_(pa.uint8()))


def _cast(column: Any, kind: pa.DataType) -> Any:
    if column.type == kind:
        return column
    if pa.types.is_dictionary(kind):
        return column.cast(kind.value_type).dictionary_encode().cast(kind)
    return column.cast(kind)
