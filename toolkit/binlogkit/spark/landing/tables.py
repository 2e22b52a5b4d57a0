"""Commits files to Delta tables, each batch once, with transactions of deltalake.

A commit has the number of its batch as an application transaction. Delta accepts a number once: a
second commit of it, by a repeated or concurrent landing, fails, and its files do not count.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from binlogkit.errors import WriteError
from binlogkit.spark.landing.landing_path import LandingPath
from binlogkit.spark.landing.shape import PARTITIONS, table_schema

if TYPE_CHECKING:
    from deltalake import DeltaTable

    from binlogkit.spark.landing.writing import WrittenFile

#: The application whose transactions number batches.
APPLICATION = "binlogkit"
_ATTEMPTS = 100
#: A checkpoint every ten commits, by default every hundred: opening a table reads those since.
CONFIGURATION = {"delta.checkpointInterval": "10"}


def opened(folder: LandingPath) -> DeltaTable | None:
    """An existing table. InputError."""
    from deltalake import DeltaTable

    with folder.asked():
        there = DeltaTable.is_deltatable(folder.uri, folder.options)
        return DeltaTable(folder.uri, storage_options=folder.options) if there else None


def files_of(table: DeltaTable, folder: LandingPath) -> list[LandingPath]:
    """The files of a table that count."""
    actions = pa.table(table.get_add_actions(flatten=True))
    return [file_of(folder, path) for path in actions["path"].to_pylist()]


def file_of(folder: LandingPath, path: str) -> LandingPath:
    """A file of a table by its path in the table's log, where it is encoded as in URLs."""
    return folder / unquote(path)


def rows_of(folder: LandingPath, schema: pa.Schema) -> list[dict[str, Any]]:
    """All rows of a small table, in these columns; none if there is no table."""
    table = opened(folder)
    paths = [] if table is None else files_of(table, folder)
    found = (pq.read_table(path.source(), schema=schema) for path in paths)
    return [row for one in found for row in one.to_pylist()]


def batch_of(table: DeltaTable, folder: LandingPath) -> int:
    """The number of the last batch that a table has, 0 without one. InputError."""
    with folder.asked():
        return table.transaction_version(APPLICATION) or 0


def last_batch(folder: LandingPath) -> int:
    """The same of a table that need not exist."""
    table = opened(folder)
    return 0 if table is None else batch_of(table, folder)


def make(folder: LandingPath, schema: pa.Schema, partitions: Sequence[str]) -> None:
    """Create a table without rows, unless it exists."""
    from deltalake import Schema
    from deltalake.transaction import create_table_with_add_actions

    folder.make()
    with folder.asked(WriteError):
        create_table_with_add_actions(
            folder.uri, Schema.from_arrow(schema), [], mode="ignore", partition_by=[*partitions],
            configuration=CONFIGURATION, storage_options=folder.options,
        )  # fmt: skip


def widen(folder: LandingPath, fields: Sequence[pa.Field]) -> None:
    """Add the columns that a table lacks. WriteError: one has another type."""
    from deltalake import Schema
    from deltalake.exceptions import CommitFailedError

    for _ in range(_ATTEMPTS):
        table = opened(folder)
        assert table is not None
        known = {name.lower() for name in pa.schema(table.schema()).names}
        lacking = [one for one in fields if one.name.lower() not in known]
        if not lacking:
            return
        try:
            table.alter.add_columns(Schema.from_arrow(pa.schema(lacking)).fields)
        except CommitFailedError:  # another landing was faster
            continue
        except Exception as exc:
            raise WriteError(str(folder), folder.reason(exc)) from exc
        return
    raise WriteError(str(folder), "others commit to it all the time")


def commit(folder: LandingPath, batch: int, written: Sequence[WrittenFile]) -> bool:
    """Commit the files of a batch, unless the table has that batch already; returns whether they
    count."""
    from deltalake.exceptions import CommitFailedError
    from deltalake.transaction import CommitProperties, Transaction

    actions = additions(written)
    properties: Any = CommitProperties(app_transactions=[Transaction(APPLICATION, batch)])
    for _ in range(_ATTEMPTS):
        table = opened(folder)
        assert table is not None
        if batch_of(table, folder) >= batch:
            # The answer to a commit may get lost: then the files count, though it was refused.
            own = {str(folder / one.path) for one in written}
            return not own.isdisjoint(map(str, files_of(table, folder)))
        with folder.asked(WriteError), suppress(CommitFailedError):  # another landing was faster
            table.create_write_transaction(
                actions, "append", table.schema(), table.metadata().partition_columns,
                commit_properties=properties,
            )  # fmt: skip
            return True
    raise WriteError(str(folder), "others commit to it all the time")


def additions(written: Iterable[WrittenFile]) -> list[Any]:
    """Delta's actions that make files count."""
    from deltalake.transaction import AddAction

    return [
        AddAction(
            path=one.path, size=one.size, partition_values=one.partition,
            modification_time=one.modified, data_change=True, stats=json.dumps(one.stats),
        )
        for one in written
    ]  # fmt: skip


def land_files(folder: LandingPath, batch: int, written: Sequence[WrittenFile]) -> bool:
    """Commit files of one table and batch; the table is created or widened for them. Returns
    whether they count."""
    fields = {
        name.lower(): pa.field(name, _type(kind)) for one in written for name, kind in one.types
    }
    make(folder, table_schema(fields.values()), PARTITIONS)
    widen(folder, [*fields.values()])
    return commit(folder, batch, written)


def _type(text: str) -> pa.DataType:
    """An Arrow type from its text."""
    return _TYPES.get(text) or _decimal(text)


def _decimal(text: str) -> pa.DataType:
    precision, scale = text.removeprefix("decimal128(").removesuffix(")").split(",")
    return pa.decimal128(int(precision), int(scale))


#: All types of landed columns, except decimals.
_TYPES = {
    str(kind): kind
    for kind in (
        pa.int64(), pa.float32(), pa.float64(), pa.string(), pa.binary(), pa.date32(),
        pa.timestamp("us"), pa.timestamp("us", "UTC"),
    )
}  # fmt: skip
