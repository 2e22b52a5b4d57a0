"""The data source in a real Spark session, against the same logs read by a Log."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw
import pyarrow as pa
import pytest

import binlogkit as bk
from binlogkit.frames.arrow_types import carried_schema
from binlogkit.spark.carried import carry
from binlogkit.spark.source import BinlogDataSource
from binlogkit_fixtures import golden
from tests.answers.binlogkit_answers.series import in_files
from tests.spark.as_written import rows_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

TYPES = golden.case("8.0-row-full", "types")
TWO_FILES = golden.case("8.0-row-full", "transactions")


def load(spark: SparkSession, source: Any, **options: str) -> DataFrame:
    paths = [str(p) for p in source] if isinstance(source, (list, tuple)) else str(source)
    return spark.read.format("binlog").options(**options).load(paths)


def collected(frame: DataFrame) -> list[dict[str, Any]]:
    """The rows in the order of the partitions, nested rows as dictionaries."""
    return [row.asDict(recursive=True) for row in frame.collect()]


@pytest.mark.parametrize("each", [3, pytest.param(1, marks=pytest.mark.campaign)])
@pytest.mark.gate(1)
def test_every_row_of_the_golden_set_is_the_logs(spark: SparkSession, each: int) -> None:
    paths = [path for case in golden.cases() for path in case.binlogs][::each]
    want = rows_of(bk.open([str(path) for path in paths]))
    frame = load(spark, paths)
    assert frame.columns == want.column_names
    assert frame.rdd.getNumPartitions() == len(paths)
    assert collected(frame) == want.to_pylist()


@pytest.mark.parametrize("each", [5, pytest.param(2, marks=pytest.mark.campaign)])
def test_large_logs_are_several_partitions(spark: SparkSession, each: int) -> None:
    logs = (path for case in golden.cases() for path in case.binlogs)
    paths = [path for path in logs if path.stat().st_size > 9000][::each]
    want = rows_of(bk.open([str(path) for path in paths]))
    frame = load(spark, paths, splitBytes="3000")
    assert frame.rdd.getNumPartitions() > 1.5 * len(paths)  # some are one large transaction
    assert collected(frame) == want.to_pylist()


def table_values(table: str, source: Path) -> pa.Table:
    """A table's changes as a Log reads them, in the types that Spark carries."""
    changes = bk.open(source).changes(table)
    schema = carried_schema(changes.schema)
    return pa.Table.from_batches([carry(b, schema) for b in changes.to_batches()], schema)


@pytest.mark.parametrize(
    "table", ["integers", "decimals", "times", "datetimes", "timestamps", "enums", "documents"]
)
@pytest.mark.gate(2)
def test_typed_rows_hold_every_value(spark: SparkSession, table: str) -> None:
    want = table_values(f"types.{table}", TYPES.path)
    got = load(spark, TYPES.path, table=f"types.{table}").toArrow()
    assert got.schema.names == want.schema.names
    for name in want.schema.names:
        assert got.column(name).to_pylist() == want.column(name).to_pylist(), name


def test_typed_fields_tell_what_mysql_calls_them(spark: SparkSession) -> None:
    from pyspark.sql.types import StructType

    image = load(spark, TYPES.path, table="types.integers").schema["after"].dataType
    assert isinstance(image, StructType)
    facts = {field.name: (field.dataType.simpleString(), field.metadata) for field in image.fields}
    kind, metadata = facts["u64"]
    assert kind == "decimal(20,0)"
    assert metadata["mysql_type"] == "bigint unsigned"
    assert metadata["name_origin"] == "ddl"


def test_a_changelog_merged_by_the_key_is_the_state(spark: SparkSession) -> None:
    """The last image of each key by ``_sequence``, as Spark's own window finds it."""
    case, table = golden.case("8.0-row-full", "transactions"), "bank.account"
    read = spark.read.format("binlog").option("what", "changelog").option("table", table)
    read.option("splitBytes", "1000").load(str(case.path)).createOrReplaceTempView("changes")
    found = spark.sql("""
        select * except (at, _change_type) from (
          select id, balance, _change_type,
            row_number() over (partition by id order by _sequence desc) as at from changes)
        where at = 1 and _change_type in ('insert', 'update_postimage') order by id
    """).toPandas()
    state = bk.open(case.path).state(table).frame()[["id", "balance"]]
    assert len(state) > 1
    assert found.astype(str).to_dict("records") == (
        state.sort_values("id").astype(str).to_dict("records")
    )


def test_a_frame_that_is_filtered_stays_whole(spark: SparkSession) -> None:
    """docs/spark.md, Pushed filters: a pushed filter would leak into the other queries."""
    frame = load(spark, TWO_FILES.path)
    total = frame.count()
    inserts = frame.where("op = 'insert'")
    others = frame.where("op <> 'insert'")
    assert 0 < inserts.count() < total
    assert frame.count() == total
    assert inserts.union(others).count() == total


@pytest.mark.gate
def test_filters_are_options(spark: SparkSession) -> None:
    log = bk.open(TWO_FILES.path)
    table = log.table_names()[0]
    options = {"op": "insert", "where": "id=1", "excludeTable": table, "startPosition": "470"}
    want = rows_of(log, op="insert", where="id=1", exclude_table=table, start_position=470)
    assert want.num_rows > 0
    assert collected(load(spark, TWO_FILES.path, **options)) == want.to_pylist()


def test_order_and_transactions_are_numbered_through_all_files(spark: SparkSession) -> None:
    log = bk.open(TWO_FILES.path)
    table = next(t for t in log.table_names() if len(set(log.rows(t)["file"])) == 2)
    want = log.changes(table)
    got = load(spark, TWO_FILES.path, table=table).select("file", "seq", "tx").collect()
    assert [row.seq for row in got] == want.column("seq").to_pylist()
    assert [row.tx for row in got] == want.column("tx").to_pylist()
    assert len({row.file for row in got}) == 2


def test_sql_reads_a_glob(spark: SparkSession) -> None:
    spark.sql(
        "CREATE OR REPLACE TEMP VIEW inserted USING binlog "
        f"OPTIONS (path '{TWO_FILES.path}/binlog.00000[0-9]', op 'insert')"
    )
    found = spark.sql("SELECT `table`, count(*) AS n FROM inserted GROUP BY `table`").collect()
    want = bk.open(TWO_FILES.path).rows(op="insert")["table"].value_counts().to_dict()
    assert {row["table"]: row.n for row in found} == want


def test_columns_can_be_chosen_with_a_schema(spark: SparkSession) -> None:
    reader = spark.read.format("binlog")
    frame = reader.schema("op string, pos bigint, xid bigint").load(str(TWO_FILES.path))
    want = bk.open(TWO_FILES.path).rows(engine="pyarrow").select(["op", "pos", "xid"])
    assert frame.columns == ["op", "pos", "xid"]
    assert collected(frame) == want.to_pylist()

    reader = spark.read.format("binlog").option("table", "types.integers")
    typed = reader.schema("after struct<u64: decimal(20,0), s8: int>, after_state array<tinyint>")
    image = table_values("types.integers", TYPES.path).column("after").to_pylist()
    assert collected(typed.load(str(TYPES.path))) == [
        {"after": a and {"u64": a["u64"], "s8": a["s8"]}, "after_state": None} for a in image
    ]


@pytest.mark.gate
def test_an_analysis_says_the_same_on_spark_and_on_pandas(spark: SparkSession) -> None:
    log = bk.open(TWO_FILES.path)

    def by_table(frame: Any) -> list[tuple[Any, ...]]:
        counted = (
            nw.from_native(frame)
            .lazy()
            .group_by("db", "table", "op")
            .agg(nw.len().alias("rows"), nw.col("pos").min().alias("first"))
            .sort("db", "table", "op")
        )
        return list(counted.collect("pyarrow").select("db", "table", "op", "rows", "first").rows())

    assert by_table(load(spark, TWO_FILES.path)) == by_table(log.rows())

    table = log.table_names()[0]
    on_spark = bk.audit.by_table(load(spark, TWO_FILES.path, table=table))
    on_arrow = bk.audit.by_table(log.changes(table))
    assert collected(on_spark) == on_arrow.to_pylist()

    everything = bk.audit.by_table(load(spark, TWO_FILES.path, records="changes"))
    counts = {f"{row['db']}.{row['table']}": row["rows"] for row in collected(everything)}
    rows = log.rows()
    assert counts == (rows["db"] + "." + rows["table"]).value_counts().to_dict()


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """Two files, the second damaged in the middle."""
    for path in TWO_FILES.binlogs:
        shutil.copy(path, tmp_path)
    second = tmp_path / TWO_FILES.binlogs[1].name
    data = bytearray(second.read_bytes())
    data[len(data) // 2] ^= 0xFF
    second.write_bytes(data)
    return tmp_path


@pytest.mark.gate
def test_damage_fails_the_query_with_file_and_offset_or_is_told(
    spark: SparkSession, damaged: Path
) -> None:
    from pyspark.errors import PythonException

    (damage,) = collected(load(spark, damaged, records="damages"))
    assert damage["error"] == "ChecksumError"
    with pytest.raises(PythonException) as caught:
        load(spark, damaged).count()
    place = f"{damaged}/{TWO_FILES.binlogs[1].name} at {damage['pos']}"
    assert f"binlogkit.errors.ChecksumError: {place} in field checksum: " in str(caught.value)

    kept = load(spark, damaged, onDamage="report")
    assert kept.count() == len(bk.open(damaged, on_damage="report").rows())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tabel": "shop.orders"}, "UsageError: the binlog source has no option 'tabel'"),
        ({"table": "no.such"}, r"UsageError: these logs have no row change of no\.such"),
    ],
)
def test_a_mistake_is_told_when_the_frame_is_made(
    spark: SparkSession, options: dict[str, str], message: str
) -> None:
    from pyspark.errors import AnalysisException

    with pytest.raises(AnalysisException, match=message):
        load(spark, TWO_FILES.path, **options)


def test_gaps_are_a_frame_and_a_warning(spark: SparkSession, tmp_path: Path) -> None:
    """The second of three files is left out, of which the last is not read to plan the others."""
    [log] = golden.case("8.0-row-full", "keys").binlogs
    files = list(in_files(log.read_bytes(), 3).items())
    for name, data in (files[0], files[2]):
        (tmp_path / name).write_bytes(data)
    expected = bk.open(str(tmp_path))
    rows = expected.rows(engine="pyarrow").num_rows
    assert expected.gaps
    gaps = collected(load(spark, tmp_path, records="gaps"))
    assert [(g["code"], g["file"], g["pos"], g["found"]) for g in gaps] == [
        (g.code, g.file, g.pos, g.found) for g in expected.gaps
    ]
    assert len(collected(load(spark, tmp_path))) == rows
    assert collected(load(spark, log, records="gaps")) == []
    # Spark does this in a process of its own, whose warnings come out with Java's messages.
    source = BinlogDataSource({"path": str(tmp_path)})
    with pytest.warns(bk.errors.GapWarning, match="changes may be missing") as told:
        source.reader(source.schema())
    assert all(str(gap) in str(told[0].message) for gap in expected.gaps)
