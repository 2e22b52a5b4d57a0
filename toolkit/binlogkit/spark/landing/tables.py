"""Commits files to Delta tables, each batch once, with transactions of deltalake.

A commit has the number of its batch as an application transaction. Delta accepts a number once: a
second commit of it, by a repeated or concurrent landing, fails, and its files do not count.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa

from binlogkit.errors import UsageError, WriteError, not_installed
from binlogkit.spark.landing.shape import PARTITIONS, table_schema

if TYPE_CHECKING:
    from deltalake import DeltaTable

    from binlogkit.spark.landing.writing import Written

#: The application whose transactions number batches.
APPLICATION = "binlogkit"
_ATTEMPTS = 100
#: A checkpoint every ten commits, by default every hundred: opening a table reads those since.
CONFIGURATION = {"delta.checkpointInterval": "10"}
#: What a path for deltalake (1.6.6) cannot have: it decodes escapes, and takes the rest for syntax.
_UNTAKEN = re.compile(r"[\x00-\x1f\[\]\\^|\ud800-\udfff]|%[0-9A-Fa-f]{2}")


def needed() -> None:
    """UsageError where deltalake is not installed."""
    try:
        import deltalake  # noqa: F401
    except ImportError as exc:
        raise UsageError(not_installed("deltalake", "land")) from exc


def opened(folder: Path) -> DeltaTable | None:
    """An existing table. UsageError: the library cannot have a table there."""
    from deltalake import DeltaTable

    if _UNTAKEN.search(str(folder)):
        raise UsageError(
            "a landing's path has no control character, no [ ] \\ ^ |, no % before two hex "
            f"digits, and is UTF-8: not {str(folder)!r}"
        )
    return DeltaTable(folder) if DeltaTable.is_deltatable(str(folder)) else None


def files_of(table: DeltaTable, folder: Path) -> list[Path]:
    """The files of a table that count."""
    actions = pa.table(table.get_add_actions(flatten=True))
    return [file_of(folder, path) for path in actions["path"].to_pylist()]


def file_of(folder: Path, path: str) -> Path:
    """A file of a table by its path in the table's log, where it is encoded as in URLs."""
    return folder / unquote(path)


def last_batch(folder: Path) -> int:
    """The number of the last batch that a table has, 0 without one."""
    table = opened(folder)
    return 0 if table is None else table.transaction_version(APPLICATION) or 0


def make(folder: Path, schema: pa.Schema, partitions: Sequence[str]) -> None:
    """Create a table without rows, unless it exists."""
    from deltalake import Schema
    from deltalake.transaction import create_table_with_add_actions

    folder.mkdir(parents=True, exist_ok=True)
    create_table_with_add_actions(
        str(folder), Schema.from_arrow(schema), [], mode="ignore", partition_by=[*partitions],
        configuration=CONFIGURATION,
    )  # fmt: skip


def widen(folder: Path, fields: Sequence[pa.Field]) -> None:
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
            raise WriteError(str(folder), str(exc)) from exc
        return
    raise WriteError(str(folder), "others commit to it all the time")


def commit(folder: Path, batch: int, written: Sequence[Written]) -> bool:
    """Commit the files of a batch, unless the table has that batch already; returns whether they
    count."""
    from deltalake.exceptions import CommitFailedError
    from deltalake.transaction import AddAction, CommitProperties, RemoveAction, Transaction

    actions: list[AddAction | RemoveAction] = [
        AddAction(
            path=one.path, size=one.size, partition_values=one.partition,
            modification_time=one.modified, data_change=True, stats=json.dumps(one.stats),
        )
        for one in written
    ]  # fmt: skip
    properties: Any = CommitProperties(app_transactions=[Transaction(APPLICATION, batch)])
    for _ in range(_ATTEMPTS):
        table = opened(folder)
        assert table is not None
        if (table.transaction_version(APPLICATION) or 0) >= batch:
            return False
        try:
            table.create_write_transaction(
                actions, "append", table.schema(), table.metadata().partition_columns,
                commit_properties=properties,
            )  # fmt: skip
        except CommitFailedError:  # another landing was faster, maybe with this batch
            continue
        return True
    raise WriteError(str(folder), "others commit to it all the time")


def land_files(folder: Path, batch: int, written: Sequence[Written]) -> bool:
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
