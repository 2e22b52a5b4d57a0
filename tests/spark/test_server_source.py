"""A running server as Spark's source: ``mysql://…`` as the path."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import binlogkit as bk
from binlogkit_fixtures.servers import Server, ServerSpec
from tests.servers import shared_server
from tests.spark.as_written import rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.server]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """8.0 with two logs and rows in both."""
    with shared_server(ServerSpec("8.0", {"binlog-row-metadata": "FULL"})) as running:
        running.query("CREATE DATABASE shop")
        running.query("CREATE TABLE shop.t (a INT PRIMARY KEY, b VARCHAR(20))")
        running.query("INSERT INTO shop.t VALUES (1, 'one'), (2, 'two')")
        running.query("FLUSH BINARY LOGS")
        running.query("UPDATE shop.t SET b = 'zwei' WHERE a = 2")
        yield running


@pytest.fixture
def url(server: Server, tmp_path: Path) -> str:
    """The server, with the option file that holds the password: every worker can read it."""
    options = tmp_path / "my.cnf"
    options.write_text(f"[client]\nuser = root\npassword = '{server.password}'\n")
    options.chmod(0o600)
    return f"mysql://127.0.0.1:{server.port}/%s?defaults-file={options}"


@pytest.mark.gate
def test_all_logs_of_a_server(spark: SparkSession, url: str) -> None:
    found = spark.read.format("binlog").load(url % "").toPandas()
    asked = ["file", "pos", "op", "after"]
    assert found[asked].to_dict("records") == rows_of(bk.open(url % "")).select(asked).to_pylist()
    assert list(found["op"]) == ["insert", "insert", "update"]
    assert len(set(found["file"])) == 2


def test_one_table_typed(spark: SparkSession, url: str) -> None:
    frame = spark.read.format("binlog").option("table", "shop.t").load(url % "binlog.000002")
    assert [(row.op, row.after.a, row.after.b) for row in frame.collect()] == [
        ("update", 2, "zwei")
    ]


def test_what_is_wrong_is_told_without_the_secret(
    spark: SparkSession, server: Server, url: str
) -> None:
    for path, words in (
        (url % "binlog.000099", "the server has no such log"),
        (f"mysql://root:{server.password}@127.0.0.1/", "does not belong on a command line"),
    ):
        with pytest.raises(Exception, match=words) as caught:
            spark.read.format("binlog").load(path).collect()
        assert server.password not in str(caught.value)
