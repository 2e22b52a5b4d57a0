"""Keys of rows as texts: the same text for the same value, whatever version of the table wrote it.

A key is a JSON list of its columns' values as records have them. Texts are compared by their bytes:
a collation is not known here.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.errors import UsageError, printable
from binlogkit.frames.arrays import one_text, plain_type
from binlogkit.frames.arrow_types import field_facts
from binlogkit.frames.generic import json_texts
from binlogkit.frames.schema import CellState
from binlogkit.frames.user_values import Misfit, as_written, pair_of
from binlogkit.rows.filter_args import joined_by_commas

_IMAGES = ("before", "after")


def key_texts(batch: pa.RecordBatch, image: str, key: Sequence[str]) -> pa.Array:
    """The key in each image of a batch; null where there is none, or not all of it is there.

    What an image after leaves out of the key is that of the image before.
    """
    names = [field.name for field in batch[image].type]
    if not key or not set(key) <= set(names):
        return pa.nulls(batch.num_rows, pa.string())
    parts: list[Any] = []
    for name in key:
        parts += [one_text("," if parts else "["), _cells(batch, image, names.index(name))]
    return pc.binary_join_element_wise(*parts, one_text("]"), "")


def _cells(batch: pa.RecordBatch, image: str, column: int) -> pa.Array:
    """The cells of a column as JSON text, null where there is none."""
    struct = batch[image]
    field = struct.type.field(column)
    texts = _texts(pc.struct_field(struct, [column]), field)
    states = batch[f"{image}_state"]
    if states.null_count == len(states):
        return texts
    state = pc.fill_null(pc.list_element(states, column), int(CellState.VALUE))
    odd = pc.equal(state, int(CellState.NO_ARROW_VALUE))
    if pc.any(odd).as_py():
        own = (_IMAGES.index(image), column)
        texts_of_odd = [
            json.dumps(as_written(cell["text"]) or cell["text"])  # a date that no calendar has
            for cells in batch["raw"].filter(odd).to_pylist()
            for cell in cells
            if (cell["image"], cell["column"]) == own
        ]
        texts = pc.replace_with_mask(texts, odd, pa.array(texts_of_odd, pa.string()))
    absent = pc.equal(state, int(CellState.NOT_IN_IMAGE))
    if image == "before" or not pc.any(absent).as_py():
        return texts
    return pc.if_else(absent, _cells(batch, "before", column), texts)


def _texts(array: pa.Array, field: pa.Field) -> pa.Array:
    if field_facts(field).get("kind") == "set" and not pa.types.is_integer(array.type):
        array = pair_of(array, "set", "")[0]
    return json_texts(array, field)


def values_of(given: Any, key: Sequence[str], table: str) -> list[Any]:
    """The values of a key's columns: ``given``, or of several columns a list, or texts that are
    joined by commas (``"a,b"`` in quotes where one has some). UsageError: not as many."""
    values = list(given) if isinstance(given, (tuple, list)) else [given]
    if isinstance(given, str) and len(key) > 1:
        values = joined_by_commas(given)
    if len(values) != len(key):
        columns = ", ".join(map(printable, key))
        raise UsageError(
            f"the key of {table} is {columns}: give {len(key)} values, not {len(values)}"
        )
    return values


def asked_text(batch: pa.RecordBatch, key: Sequence[str], values: Sequence[Any]) -> str | None:
    """The text of a key that a user names, compared by the columns' types as ``where`` does; None
    where the batch's table has no such columns or they hold no such value.

    UsageError: a value that is none of its column's type.
    """
    image = batch["after"].type
    names = [field.name for field in image]
    if not set(key) <= set(names):
        return None
    found = [_asked(image.field(names.index(n)), v) for n, v in zip(key, values, strict=True)]
    return None if None in found else f"[{','.join(map(str, found))}]"


def _asked(field: pa.Field, value: Any) -> str | None:
    facts = field_facts(field)
    kind = facts.get("kind", "text")
    try:
        _, scalar = pair_of(pa.array([], field.type), kind, value)
    except Misfit as exc:
        written = as_written(value) if kind in ("date", "datetime", "timestamp") else None
        if written is not None:
            return json.dumps(written)
        why = f"{field.name} is {facts.get('mysql_type', '')}, compared with {exc}"
        raise UsageError(printable(f"{field.name}={value}: {why}")) from None
    if scalar.type != plain_type(field.type) and kind != "set":
        return None  # not representable in the column
    text = json_texts(pa.array([scalar.as_py()], scalar.type), field)[0].as_py()
    return None if text is None else str(text)
