"""What the driver holds while Spark's tasks fold a state: megabytes of its Python process.

    python tests/benchmarks/spark_state_memory.py LOG --table DB.T --key COLUMN --times N

The table's changes are taken ``N`` times, each time with other values of a whole-numbered key and
places of their own behind the ones before. Executors are processes of their own (local-cluster),
and Spark ends what would send more than 100 MB of results to the driver. Prints the number of
changes and rows, seconds, and how much the driver's Python took beyond what it had when its session
stood.
"""

from __future__ import annotations

import argparse
import resource
import time
from typing import Any

from pyspark.sql import functions as sql

from binlogkit.analyses.point_in_time import replay
from binlogkit.spark import session

_SETTINGS = {
    "spark.driver.maxResultSize": "100m",
    "spark.sql.shuffle.partitions": "16",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "50000",
}


def repeated(frame: Any, key: str, times: int) -> Any:
    """Changes ``times`` over."""
    copies = frame.sparkSession.range(times).withColumnRenamed("id", "_copy")
    whole = frame.crossJoin(copies)
    for image in ("before", "after"):
        moved = sql.col(image)[key] + (sql.col("_copy") * 1_000_000).cast("int")
        there = sql.col(image).isNotNull()
        whole = whole.withColumn(
            image, sql.when(there, sql.col(image).withField(key, moved.cast("int")))
        )
    return whole.withColumn("seq", sql.col("seq") + sql.col("_copy") * (1 << 48)).drop("_copy")


def peak() -> float:
    """Megabytes that this process took at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("log")
    parser.add_argument("--table", required=True)
    parser.add_argument("--key", required=True)
    parser.add_argument("--times", type=int, default=1)
    given = parser.parse_args()
    spark = session(master="local-cluster[2,1,2048]", memory="600m", config=_SETTINGS)
    frame = spark.read.format("binlog").option("table", given.table).load(given.log)
    whole = repeated(frame, given.key, given.times)
    changes, idle = whole.count(), peak()
    begun = time.monotonic()
    state = replay(whole, key=[given.key], table=tuple(given.table.split(".", 1)))
    assert state.folded is not None
    seconds = time.monotonic() - begun
    told = f"{changes:,} changes, {state.folded.result.rows:,} rows, {seconds:.0f} s"
    print(f"{told}; the driver: {peak() - idle:.0f} MB beyond {idle:.0f} MB", flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
