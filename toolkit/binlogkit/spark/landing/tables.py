"""Files into Delta tables, each batch once: the transactions are the library's, deltalake's.

A commit carries the number of its batch as the transaction of an application. Delta lets one number
in once: a second commit of it, by a landing that was repeated or runs beside the first, fails, and
its files do not count.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from binlogkit.errors import UsageError, WriteError
from binlogkit.spark.landing.shape import PARTITIONS, table_schema

if TYPE_CHECKING:
    from deltalake import DeltaTable

    from binlogkit.spark.landing.writing import Written

#: The application in whose name batches are numbered.
APPLICATION = "binlogkit"
_ATTEMPTS = 100


def needed() -> None:
    """UsageError where deltalake is not installed."""
    try:
        import deltalake  # noqa: F401
    except ImportError as exc:
        raise UsageError("deltalake is not installed: pip install 'binlogkit[land]'") from exc


def opened(folder: Path) -> DeltaTable | None:
    """A table that is there."""
    from deltalake import DeltaTable

    return DeltaTable(folder) if DeltaTable.is_deltatable(str(folder)) else None


def last_batch(folder: Path) -> int:
    """The number of the last batch that a table has, 0 without one."""
    table = opened(folder)
    return 0 if table is None else table.transaction_version(APPLICATION) or 0


def make(folder: Path, schema: pa.Schema, partitions: Sequence[str], told: str = "") -> None:
    """A table without rows, unless it is there; ``told``: its description."""
    from deltalake import Schema
    from deltalake.transaction import create_table_with_add_actions

    folder.mkdir(parents=True, exist_ok=True)
    create_table_with_add_actions(
        str(folder), Schema.from_arrow(schema), [], mode="ignore", partition_by=[*partitions],
        description=told or None,
    )  # fmt: skip


def widen(folder: Path, fields: Sequence[pa.Field]) -> None:
    """Add the columns that a table lacks. WriteError: it has one with another type."""
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
        except CommitFailedError:  # another landing was before us
            continue
        except Exception as exc:
            raise WriteError(str(folder), str(exc)) from exc
        return
    raise WriteError(str(folder), "others commit to it all the time")


def commit(folder: Path, batch: int, written: Sequence[Written]) -> bool:
    """Let the files of a batch count, unless the table has that batch already; whether they do."""
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
        except CommitFailedError:  # another landing was before us, maybe with this batch
            continue
        return True
    raise WriteError(str(folder), "others commit to it all the time")


def land_files(folder: Path, batch: int, written: Sequence[Written]) -> bool:
    """Files of one table and batch, the table made or widened for them; whether they count."""
    fields = {
        name.lower(): pa.field(name, _type(kind)) for one in written for name, kind in one.types
    }
    make(folder, table_schema(fields.values()), PARTITIONS)
    widen(folder, [*fields.values()])
    return commit(folder, batch, written)


def _type(text: str) -> pa.DataType:
    """An Arrow type by the text that it has."""
    return _TYPES.get(text) or _decimal(text)


def _decimal(text: str) -> pa.DataType:
    precision, scale = text.removeprefix("decimal128(").removesuffix(")").split(",")
    return pa.decimal128(int(precision), int(scale))


#: All that a landed column may be, but for decimals.
_TYPES = {
    str(kind): kind
    for kind in (
        pa.int64(), pa.float32(), pa.float64(), pa.string(), pa.binary(), pa.date32(),
        pa.timestamp("us"), pa.timestamp("us", "UTC"),
    )
}  # fmt: skip
