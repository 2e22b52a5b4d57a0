"""Writing to current-state tables: the library's MERGE, or Spark's, and rewriting."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from binlogkit.errors import WriteError
from binlogkit.rows.filters import backquoted
from binlogkit.spark.landing.landing_path import LandingPath
from binlogkit.spark.landing.tables import APPLICATION, CONFIGURATION, batch_of, opened

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from pyspark.sql import SparkSession

#: The column that marks rows to be deleted in rows to be merged.
GONE = "_gone"
#: A commit's name for the facts about the rows; Spark's DESCRIBE HISTORY shows it.
METADATA = "userMetadata"
#: Merges rows into a table as it was read, by its key, under a batch's number; returns how many it
#: inserted, updated and deleted, None if another merge came first.
Merge: TypeAlias = """Callable[
    [DeltaTable, LandingPath, pa.Table, Sequence[str], int, Mapping[str, Any]], Merged | None
]"""
Merged: TypeAlias = tuple[int, int, int]
_SPARK = "spark.databricks.delta."


def known_of(folder: LandingPath) -> dict[str, Any] | None:
    """The facts in the last commit of rows; None if no commit has them any more.

    The library's own history is empty where a path has # or ? (deltalake 1.6.6).
    """
    table = opened(folder)
    for version in range(-1 if table is None else table.version(), -1, -1):
        path = folder / f"_delta_log/{version:020}.json"
        if not path.exists():
            return None
        for action in map(json.loads, path.data().splitlines()):
            stored = action.get("commitInfo", {}).get(METADATA)
            if stored is not None:
                found: dict[str, Any] = json.loads(stored)
                return found
    return None


def _properties(number: int, known: Mapping[str, Any]) -> Any:
    from deltalake.transaction import CommitProperties, Transaction

    return CommitProperties(
        app_transactions=[Transaction(APPLICATION, number)],
        custom_metadata=facts(known),
    )


def facts(known: Mapping[str, Any]) -> dict[str, str]:
    """The facts about the rows, as a commit has them."""
    return {METADATA: json.dumps(dict(known))}


def write_anew(folder: LandingPath, rows: pa.Table, number: int, known: Mapping[str, Any]) -> bool:
    """Write all rows of a table. Returns False if it has the batch already. WriteError."""
    from deltalake import write_deltalake
    from deltalake.exceptions import CommitFailedError

    table = opened(folder)
    if table is not None and batch_of(table, folder) > number:
        return False
    folder.make()
    with folder.asked(WriteError), suppress(CommitFailedError):  # another one was faster
        write_deltalake(
            folder.uri if table is None else table, rows, mode="overwrite",
            schema_mode="overwrite", commit_properties=_properties(number, known),
            configuration=CONFIGURATION if table is None else None,
            storage_options=folder.options,
        )  # fmt: skip
        return True
    return False


def merge_here(
    table: DeltaTable,
    folder: LandingPath,
    rows: pa.Table,
    key: Sequence[str],
    number: int,
    known: Mapping[str, Any],
) -> Merged | None:
    """The library's MERGE, in this process. WriteError.

    Streamed, since otherwise it skips files by bounds in which decimals of 20 digits are floats,
    and misses their rows (deltalake 1.6.6).
    """
    from deltalake.exceptions import CommitFailedError

    same = " AND ".join(f"t.{quoted(name)} = s.{quoted(name)}" for name in key)
    with folder.asked(WriteError), suppress(CommitFailedError):
        found = (
            table.merge(
                rows, same, source_alias="s", target_alias="t", streamed_exec=True,
                commit_properties=_properties(number, known),
            )
            .when_matched_delete(f"s.{GONE}")
            .when_matched_update_all(except_cols=[GONE])
            .when_not_matched_insert_all(f"NOT s.{GONE}", except_cols=[GONE])
            .execute()
        )  # fmt: skip
        inserted, updated, deleted = (
            int(found[f"num_target_rows_{done}"]) for done in ("inserted", "updated", "deleted")
        )
        return inserted, updated, deleted
    return None


def quoted(name: str) -> str:
    """A name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def merges(spark: SparkSession) -> bool:
    """Whether a session has Delta's extension."""
    return "io.delta" in (spark.conf.get("spark.sql.extensions", None) or "")


def merge_on(spark: SparkSession) -> Merge:
    """Spark's MERGE, in a session with Delta's extension (docs/spark.md says which versions).

    Of a landing in a folder: a store would have to be known to Spark's Java, too.
    """

    def merge(
        table: DeltaTable,  # noqa: ARG001  Spark reads it itself
        folder: LandingPath,
        rows: pa.Table,
        key: Sequence[str],
        number: int,
        known: Mapping[str, Any],
    ) -> Merged | None:
        names = [backquoted(name) for name in key]
        same = " AND ".join(f"t.{name} = s.{name}" for name in names)
        stamps = {
            "write.txnAppId": APPLICATION,
            "write.txnVersion": str(number),
            "commitInfo.userMetadata": json.dumps(dict(known)),
        }
        for name, value in stamps.items():
            spark.conf.set(_SPARK + name, value)
        try:
            spark.createDataFrame(rows).createOrReplaceTempView("binlogkit_merged")
            [found] = spark.sql(
                f"MERGE INTO delta.{backquoted(folder.uri)} t "
                f"USING binlogkit_merged s ON {same} WHEN MATCHED AND s.{GONE} THEN DELETE "
                f"WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED AND NOT s.{GONE} THEN INSERT *"
            ).collect()
        finally:
            spark.catalog.dropTempView("binlogkit_merged")
            for name in stamps:
                spark.conf.unset(_SPARK + name)
        return found.num_inserted_rows, found.num_updated_rows, found.num_deleted_rows

    return merge
