"""The canonical schema of a batch of row changes.

A batch is a ``pyarrow.RecordBatch`` with one row per row change of one version of one table. Its
columns are declared in ``frames/fields/rows.py``: where it comes from, its place in the order of
the log, the two images as structs (null where the event has none), and what the values alone
cannot say:

``before_state``, ``after_state``
    ``list<uint8>``, one :class:`CellState` per column; **null where every cell of the image is a
    value or NULL**, or where there is no image.
``raw``
    ``list<struct<image, column, bytes, text>>``, null where no cell needs it: for UNDECODABLE the
    stored ``bytes`` and the reason as ``text``; for NO_ARROW_VALUE the stored ``bytes`` and the
    server's ``text`` of the value; for JSON_DIFF the ``bytes`` of the diff and its JSON ``text``
    (a list of ``{"op", "path", "value"}``). ``image`` is 0 for before and 1 for after, ``column``
    the index in the struct.

Field metadata (all keys bytes, prefix ``binlogkit:``) of each image field: ``mysql_type``,
``scale`` (fraction digits or DECIMAL scale), ``kind`` (see :data:`KINDS`), ``name_origin``,
``sign_origin``, ``charset``, ``charset_origin``, ``labels_origin``; ``unsigned`` is ``1`` or ``0``.
Schema metadata: ``binlogkit:table`` (JSON list of db and table), ``binlogkit:schema_version``,
``binlogkit:key`` (JSON list of names), ``binlogkit:key_kind``, ``binlogkit:key_origin``, where it
rests on suppositions ``binlogkit:supposed`` (JSON list of their names), and where its server logs
some of its rows twice ``binlogkit:twice`` (``point_in_time/repeats.py``).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from enum import IntEnum
from functools import lru_cache
from typing import TYPE_CHECKING

from binlogkit.constants import TableId
from binlogkit.frames.fields import rows as fields
from binlogkit.frames.fields.field import arrow_schema, names
from binlogkit.rows.schema import Supposition

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray


class CellState(IntEnum):
    """What a cell of an image is."""

    VALUE = 0
    NULL = 1
    NOT_IN_IMAGE = 2
    UNDECODABLE = 3
    NO_ARROW_VALUE = 4
    JSON_DIFF = 5


OPS = ("insert", "update", "delete")

# The value of an image field's `binlogkit:kind`: how its Arrow values read as MySQL values.
KINDS = (
    "integer",  # (u)int8 … (u)int64
    "float",  # float32
    "double",  # float64
    "decimal",  # decimal128 up to 38 digits, decimal256 above
    "bit",  # uint64
    "year",  # int16
    "date",  # date32
    "time",  # duration[us]
    "datetime",  # timestamp[us]
    "timestamp",  # timestamp[us, UTC]
    "text",  # string
    "binary",  # binary
    "enum",  # dictionary<int32, string>, or uint16 when the labels are not known
    "set",  # string (labels joined by commas), or uint64 when the labels are not known
    "json",  # string, the server's own text
    "geometry",  # binary: SRID + WKB as stored
    "vector",  # binary: little-endian floats as stored
)

#: The digests of the images, three of 64 bits each (``_kernel/native/digests.pxd``): columns that
#: batches have for readers that ask for them.
DIGESTS = ("before_digests", "after_digests")

PROVENANCE = names(fields.PROVENANCE)


def batch_schema(
    image: Sequence[pa.Field], metadata: dict[bytes, bytes] | None = None
) -> pa.Schema:
    """The schema of a batch whose two images have the fields ``image``; strings of the provenance
    are dictionary-encoded."""
    import pyarrow as pa

    schema, images = _batch_fields(), pa.struct(image)
    for name in ("before", "after"):
        schema = schema.set(schema.get_field_index(name), pa.field(name, images))
    return schema.with_metadata(metadata)


@lru_cache(1)
def _batch_fields() -> pa.Schema:
    return arrow_schema(fields.BATCH, encoded=True)


@lru_cache(1)
def common_types() -> dict[str, pa.DataType]:
    """The types of a batch's columns, but for the images."""
    return {f.name: f.type for f in _batch_fields() if f.name not in ("before", "after")}


def beyond_ascii(texts: pa.Array) -> pa.Array:
    """Which texts are more than ASCII, and so others in another character set."""
    import pyarrow.compute as pc

    return pc.invert(pc.string_is_ascii(texts)).fill_null(False)


def supposed_of(name: TableId, images: pa.StructArray) -> Iterator[Supposition]:
    """What is supposed of the values in images of a table: of text beyond ASCII whose character
    set is unknown, and of negative numbers that nothing shows to be signed."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for i, field in enumerate(images.type):
        facts = field.metadata or {}
        if facts.get(b"binlogkit:charset_origin") == b"assumed" and str(field.type) == "string":
            if pc.any(beyond_ascii(images.field(i))).as_py():
                yield Supposition.of_charset(*name, field.name)
            continue
        signed = facts.get(b"binlogkit:sign_origin") == b"assumed"
        if signed and pa.types.is_integer(field.type):
            lowest = pc.min(images.field(i)).as_py()
            if lowest is not None and lowest < 0:
                yield Supposition.of_sign(*name, field.name)


def key_columns(schema: pa.Schema) -> list[str]:
    """The names of the columns that identify a row in batches of a schema; none: it has no key, or
    says nothing of one."""
    found: list[str] = json.loads((schema.metadata or {}).get(b"binlogkit:key", b"[]"))
    return found


def generated_columns(image: pa.StructType) -> dict[str, bytes]:
    """The generated columns of images, each with its kind, ``virtual`` or ``stored``."""
    facts = ((f.name, (f.metadata or {}).get(b"binlogkit:generated")) for f in image)
    return {name: kind for name, kind in facts if kind}


def shared_key(schemas: Sequence[pa.Schema]) -> tuple[str, ...]:
    """The columns that identify a row in all of some versions of a table: those of all their keys;
    none if one of them has no key, or says nothing of one."""
    keys = [key_columns(schema) for schema in schemas]
    return tuple(dict.fromkeys(name for key in keys for name in key)) if all(keys) else ()


def with_key(schema: pa.Schema, key: Sequence[str]) -> pa.Schema:
    """The schema with another key."""
    metadata = schema.metadata or {}
    return schema.with_metadata({**metadata, b"binlogkit:key": json.dumps(key).encode()})


def table_of(batch: pa.RecordBatch) -> TableId:
    """The database and the table of a batch of changes, which has some."""
    return batch["db"][0].as_py(), batch["table"][0].as_py()


def state_matrix(states: pa.ListArray, columns: int) -> NDArray[np.uint8]:
    """The states of cells, a row for each list, a column for each cell; zeros where it is NULL."""
    import numpy as np

    there = np.flatnonzero(np.asarray(states.is_valid()))
    found = np.zeros((len(states), columns), np.uint8)
    found[there] = np.asarray(states.flatten()).reshape(len(there), columns)
    return found


def undecodable_cells(batch: pa.RecordBatch) -> int:
    """How many cells of a batch could not be decoded."""
    count = 0
    for name in ("before_state", "after_state"):
        states = batch.column(name)
        if states.null_count < len(states):
            import pyarrow.compute as pc

            flat = states.flatten()
            count += pc.sum(pc.equal(flat, int(CellState.UNDECODABLE))).as_py() or 0
    return count
