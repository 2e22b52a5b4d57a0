"""A changelog whose columns are masked as a landing's are.

Which columns are is decided where the schema is made: by the names that the logs give to a masked
column. From there on each field of the schema says its own mask, and a column that is dropped is
none of it. Spark is not in here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import pyarrow as pa

from binlogkit.constants import TableId
from binlogkit.errors import UsageError
from binlogkit.frames.flat_cells import own_name
from binlogkit.log.index import Joined
from binlogkit.rows.filters import TableName
from binlogkit.rows.schema import TableSchema
from binlogkit.spark.carried import fit
from binlogkit.spark.masks import (
    MASK,
    OURS,
    Mask,
    Masks,
    applies,
    masked_batch,
    parse_masks,
)
from binlogkit.spark.options import ScanOptions
from binlogkit.spark.renames import follow
from binlogkit.spark.splits.changelog import changelog, changelog_schema
from binlogkit.spark.splits.commits import Commits

#: This field has one wherever there are masks: statements may hold any value.
_QUERY = "_query"


def masks_of(asked: ScanOptions, joined: Joined, versions: Sequence[TableSchema]) -> Masks:
    """The masks of a scan, under all names that the logs give to their columns.

    UsageError: one is for no column of the table, or for another table, or a version's columns have
    no known names. SchemaError: see :meth:`Masks.check`. InputError: the key's file.
    """
    masks = parse_masks(asked.mask, asked.mask_key_file)
    if masks.cleared:
        raise UsageError("clear is for landings that had a mask")
    for mask in masks.masks if versions else ():
        if not any(applies(mask.table, *version.name) for version in versions):
            raise UsageError(f"the mask {mask.text} is for another table than {asked.table}")
    if not masks.masks or not versions:
        return masks
    if not all(version.named for version in versions):
        raise UsageError(
            f"{asked.table} has masks, and the names of its columns are not known: give schema or "
            "schemaFrom"
        )
    found = follow(masks, joined)
    for version in versions:
        found.check(version)
    return found


def masked_schema(schema: pa.Schema, masks: Masks, tables: Iterable[TableId]) -> pa.Schema:
    """The columns of a changelog as they are read; UsageError: a mask is for none of them.

    ``tables``: those that the scan's table name means.
    """
    if not masks.masks:
        return schema
    tables, fields, used = [*tables], [], set[Mask]()
    for one in schema:
        found = () if one.name in OURS else (masks.mask_of(*table, one.name) for table in tables)
        own = [mask for mask in found if mask is not None]
        used.update(own)
        if one.name == _QUERY:
            one = one.with_metadata({MASK: "drop"})
        if any(mask.how == "drop" for mask in own):
            continue
        if own:
            one = pa.field(one.name, own[0].kind(one.type), metadata={MASK: own[0].action})
        fields.append(one)
    for mask in masks.masks:
        if mask not in used:
            raise UsageError(f"the mask {mask.text} is for no column of the table")
    return pa.schema(fields)


def check_masked(asked: ScanOptions, schema: pa.Schema) -> None:
    """UsageError: a scan with masks has a schema that was not made for them, or a condition on a
    column that is masked."""
    if not asked.mask:
        return
    marked = _masks_in(schema)
    if _QUERY not in marked:
        raise UsageError("with mask the source makes the schema: take columns with select()")
    plain = {own_name(name).lower() for name in schema.names if name not in marked}
    for column in asked.wanted().where.columns:
        if column.lower() not in plain:
            raise UsageError(f"where names {column}, which is masked or no column of the table")


def _masks_in(schema: pa.Schema) -> dict[str, Mask]:
    """The masks that a schema's fields say."""
    found = dict[str, Mask]()
    for one in schema:
        action = (one.metadata or {}).get(MASK, b"").decode()
        if action:
            how, _, length = action.partition(":")
            found[one.name] = Mask(TableName(None, ""), one.name, how, int(length or 0))
    return found


class Masking:
    """Flat rows in the columns of ``schema``, masked as its fields say; ``asked`` has the key.

    InputError: the key's file cannot be read.
    """

    def __init__(self, schema: pa.Schema, asked: ScanOptions) -> None:
        self._schema = schema
        self._masks: Mapping[str, Mask] = _masks_in(schema)
        self._key = parse_masks(asked.mask, asked.mask_key_file).key

    def changelog(self, batch: pa.RecordBatch, commits: Commits) -> Iterator[pa.RecordBatch]:
        """See :func:`binlogkit.spark.splits.changelog.changelog`."""
        if not self._masks:
            yield from changelog(batch, self._schema, commits)
            return
        own = changelog_schema(batch.schema.field("before").type)
        plain = pa.schema(
            own.field(one.name) if one.name in self._masks and one.name in own.names else one
            for one in self._schema
        )
        hidden = {*own.names} - {*self._schema.names}
        for flat in changelog(batch, plain, commits):
            made = masked_batch(flat, self._masks, self._key, hidden)
            columns = [fit(made.column(one.name), one.type, one.name) for one in self._schema]
            yield pa.RecordBatch.from_arrays(columns, schema=self._schema)
