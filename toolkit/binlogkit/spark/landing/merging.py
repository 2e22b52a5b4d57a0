"""Writing to current-state tables: the library's MERGE, or Spark's, and rewriting."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from binlogkit.errors import WriteError
from binlogkit.spark.landing.tables import APPLICATION, CONFIGURATION, opened

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from pyspark.sql import SparkSession

#: The column that marks rows to be deleted in rows to be merged.
GONE = "_gone"
#: A commit's name for the facts about the rows; Spark's DESCRIBE HISTORY shows it.
METADATA = "userMetadata"
#: Merges rows into a table as it was read, by its key, under a batch's number; returns how many it
#: inserted, updated and deleted, None if another merge came first.
Merge: TypeAlias = (
    "Callable[[DeltaTable, Path, pa.Table, Sequence[str], int, Mapping[str, Any]], Merged | None]"
)
Merged: TypeAlias = tuple[int, int, int]
_SPARK = "spark.databricks.delta."


def known_of(folder: Path) -> dict[str, Any] | None:
    """The facts in the last commit of rows; None if no commit has them any more."""
    table = opened(folder)
    if table is None:
        return None
    for commit in table.history():
        told = commit.get(METADATA)
        if told is not None:
            found: dict[str, Any] = json.loads(told)
            return found
    return None


def _properties(number: int, known: Mapping[str, Any]) -> Any:
    from deltalake.transaction import CommitProperties, Transaction

    return CommitProperties(
        app_transactions=[Transaction(APPLICATION, number)],
        custom_metadata={METADATA: json.dumps(dict(known))},
    )


def write_anew(folder: Path, rows: pa.Table, number: int, known: Mapping[str, Any]) -> bool:
    """Write all rows of a table. Returns False if it has the batch already. WriteError."""
    from deltalake import write_deltalake
    from deltalake.exceptions import CommitFailedError, DeltaError

    table = opened(folder)
    if table is not None and (table.transaction_version(APPLICATION) or 0) > number:
        return False
    folder.mkdir(parents=True, exist_ok=True)
    try:
        write_deltalake(
            str(folder) if table is None else table, rows, mode="overwrite",
            schema_mode="overwrite", commit_properties=_properties(number, known),
            configuration=CONFIGURATION if table is None else None,
        )  # fmt: skip
    except CommitFailedError:  # another one was faster
        return False
    except (DeltaError, OSError) as exc:
        raise WriteError(str(folder), str(exc)) from exc
    return True


def merge_here(
    table: DeltaTable,
    folder: Path,
    rows: pa.Table,
    key: Sequence[str],
    number: int,
    known: Mapping[str, Any],
) -> Merged | None:
    """The library's MERGE, in this process. WriteError.

    Streamed, since otherwise it skips files by bounds in which decimals of 20 digits are floats,
    and misses their rows (deltalake 1.6.6).
    """
    from deltalake.exceptions import CommitFailedError, DeltaError

    same = " AND ".join(f"t.{quoted(name)} = s.{quoted(name)}" for name in key)
    try:
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
    except CommitFailedError:
        return None
    except (DeltaError, OSError) as exc:
        raise WriteError(str(folder), str(exc)) from exc
    inserted, updated, deleted = (
        int(found[f"num_target_rows_{done}"]) for done in ("inserted", "updated", "deleted")
    )
    return inserted, updated, deleted


def quoted(name: str) -> str:
    """A name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def merges(spark: SparkSession) -> bool:
    """Whether a session has Delta's extension."""
    return "io.delta" in (spark.conf.get("spark.sql.extensions", None) or "")


def merge_on(spark: SparkSession) -> Merge:
    """Spark's MERGE, in a session with Delta's extension (docs/spark.md says which versions)."""

    def merge(
        table: DeltaTable,  # noqa: ARG001  Spark reads it itself
        folder: Path,
        rows: pa.Table,
        key: Sequence[str],
        number: int,
        known: Mapping[str, Any],
    ) -> Merged | None:
        names = [_backquoted(name) for name in key]
        same = " AND ".join(f"t.{name} = s.{name}" for name in names)
        told = {
            "write.txnAppId": APPLICATION,
            "write.txnVersion": str(number),
            "commitInfo.userMetadata": json.dumps(dict(known)),
        }
        for name, value in told.items():
            spark.conf.set(_SPARK + name, value)
        try:
            spark.createDataFrame(rows).createOrReplaceTempView("binlogkit_merged")
            [found] = spark.sql(
                f"MERGE INTO delta.{_backquoted(str(folder.absolute()))} t "
                f"USING binlogkit_merged s ON {same} WHEN MATCHED AND s.{GONE} THEN DELETE "
                f"WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED AND NOT s.{GONE} THEN INSERT *"
            ).collect()
        finally:
            spark.catalog.dropTempView("binlogkit_merged")
            for name in told:
                spark.conf.unset(_SPARK + name)
        return found.num_inserted_rows, found.num_updated_rows, found.num_deleted_rows

    return merge


def _backquoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
