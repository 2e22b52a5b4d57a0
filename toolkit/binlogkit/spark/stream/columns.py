"""The columns of a stream: where its table gets others, the query ends before a row has them.

Spark takes a query's columns when it is begun. A row of a later version of the table would lose
what the version has in others, as after ADD COLUMN or RENAME COLUMN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from binlogkit.errors import SchemaError
from binlogkit.frames.arrow_types import carried_schema
from binlogkit.frames.fields.rows import CHANGELOG
from binlogkit.frames.layouts import empty_batch
from binlogkit.log.index import Joined
from binlogkit.rows.filters import written_table_name
from binlogkit.rows.schema import TableSchema
from binlogkit.spark.masks import Masks
from binlogkit.spark.options import ScanOptions
from binlogkit.spark.splits.changelog import changelog_schema
from binlogkit.spark.splits.masked import masks_of
from binlogkit.spark.splits.plan import names_unknown

_AGAIN = "begin the query again with the same checkpoint"


@dataclass(frozen=True, slots=True)
class Columns:
    """``schema``: of the stream; ``inferred``: from the logs, else a user's choice of columns."""

    schema: pa.Schema
    inferred: bool = True

    def check(
        self,
        asked: ScanOptions,
        joined: Joined,
        versions: Sequence[TableSchema],
        reads: Callable[[int, int], bool],
    ) -> None:
        """SchemaError: a batch has rows of a version with other columns; ``versions``: of the
        table, in order; ``reads``: whether it reads an offset of a part.

        A column that goes, or another choice of columns, is no reason: the rows lack nothing that
        was asked for. It is one where a chosen column goes as a new one comes.
        """
        known = self._known(asked)
        if known is None:
            return
        masks, before, last = Masks(), set[str](), dict[str, pa.DataType]()
        if all(version.named for version in versions):  # else reading them is an error
            masks = masks_of(asked, joined, versions)
        for version in versions:
            own = _columns(asked, version, masks)
            part, file, pos = joined.shown[id(version)]
            if reads(part, pos):
                asked_for = known.keys() - {one.name for one in CHANGELOG}
                lacking = own.keys() - known.keys() if self.inferred else asked_for - own.keys()
                if lacking and not version.named:
                    raise SchemaError(names_unknown(joined, version))
                where = f"{written_table_name(*version.name)} has column {{}} in {file} at {pos}"
                old = known.keys() if self.inferred else known.keys() | before
                new = [name for name in own if name not in old]
                if new and (self.inferred or (last.keys() & known.keys()) - own.keys()):
                    chosen = "" if self.inferred else ", with it in .schema(…)"
                    text = "which the stream does not have (ALTER TABLE came before it)"
                    raise SchemaError(f"{where.format(new[0])}, {text}: {_AGAIN}{chosen}")
                for name, kind in own.items():
                    changed = self.inferred or last.get(name, kind) != kind
                    if name in known and changed and not _holds(known[name], kind):
                        text = f"of type {kind}, which does not go into the stream's {known[name]}"
                        chosen = f", with a type for {name} in .schema(…) into which both go"
                        raise SchemaError(f"{where.format(name)} {text}: {_AGAIN}{chosen}")
            before |= own.keys()
            last = own

    def _known(self, asked: ScanOptions) -> dict[str, pa.DataType] | None:
        """The table's columns in the stream; None if it has no image of it."""
        if not asked.typed:
            return None
        if asked.kind == "changelog":
            return {one.name: one.type for one in self.schema}
        images = [name for name in ("before", "after") if name in self.schema.names]
        known = {one.name: one.type for name in images for one in self.schema.field(name).type}
        return known if images else None


def _columns(asked: ScanOptions, version: TableSchema, masks: Masks) -> dict[str, pa.DataType]:
    """A version's columns as a stream has them."""
    image = empty_batch(version).schema.field("before").type
    if asked.kind != "changelog":
        return {one.name: one.type for one in carried_schema(pa.schema([*image]))}
    own = [masks.of(*version.name, one) for one in image]
    flat = changelog_schema([one for one in own if one is not None])
    return {one.name: one.type for one in [*flat][len(CHANGELOG) :]}


def _holds(wide: pa.DataType, narrow: pa.DataType) -> bool:
    """Whether a type has all values of another."""
    if wide in (narrow, pa.string()):
        return True
    fields = [pa.schema([pa.field("", kind)]) for kind in (wide, narrow)]
    try:
        return bool(pa.unify_schemas(fields, promote_options="permissive").types[0] == wide)
    except pa.ArrowException:
        return False
