"""A query whose rows Spark writes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

SECONDS = 120


class Sink:
    """A query whose rows come into Parquet files; its checkpoint and index lie beside them."""

    def __init__(
        self,
        spark: SparkSession,
        logs: Path | str,
        out: Path,
        schema: str | None = None,
        **options: str,
    ) -> None:
        self._spark, self._logs, self._out = spark, logs, out
        self._schema = schema
        self._options = {"index": str(out / "index"), **options}

    def begin(self, **trigger: Any) -> StreamingQuery:
        stream = self._spark.readStream.format("binlog").options(**self._options)
        if self._schema is not None:
            stream = stream.schema(self._schema)
        return (
            stream.load(str(self._logs))
            .writeStream.format("parquet")
            .option("checkpointLocation", str(self._out / "checkpoint"))
            .option("path", str(self._out / "rows"))
            .trigger(**trigger)
            .start()
        )

    def run(self) -> list[Any]:
        """All that is there now; how far each batch came."""
        query = self.begin(availableNow=True)
        try:
            assert query.awaitTermination(SECONDS), query.lastProgress
        finally:
            query.stop()
        return list(query.recentProgress)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """What was read, as Spark counts it: files that its log names."""
        frame = self._spark.read.parquet(str(self._out / "rows"))
        found = frame.toArrow().to_pylist()
        return sorted(found, key=key_of)


def key_of(row: dict[str, Any]) -> Any:
    return row.get("_sequence") or (
        row["file"],
        row["pos"],
        row.get("inner") or 0,
        row.get("row") or 0,
    )
