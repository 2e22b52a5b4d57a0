"""An index of a store's objects: those that are known cost no request, and no secret is in it."""

from __future__ import annotations

from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

import binlogkit as bk
from binlogkit.log.index import Index
from binlogkit.spark import index
from tests.sources.carried import KEYS
from tests.sources.stores.conftest import SECRET, Bucket
from tests.sources.stores.gate import Gate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def _texts(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_objects_that_are_known_cost_no_request(
    gate: Gate, bucket: Bucket, options: dict[str, Any], tmp_path: Path
) -> None:
    for number in range(5):
        bucket.put(f"logs/binlog.00000{number}", KEYS.read_bytes())
    url, folder = f"s3://{bucket.name}/logs/", tmp_path / "index"
    told = bk.index(url, folder, storage_options=options)
    assert (told.knew, told.read, told.left) == (0, 5, {})
    gate.forget()
    assert bk.index(url, folder, storage_options=options).knew == 5
    assert [r for r in gate.requests if "logs/binlog" in r.path.partition("?")[0]] == []
    bucket.put("logs/binlog.000002", KEYS.read_bytes() + b"\0")
    assert bk.index(url, folder, storage_options=options).knew == 4
    assert SECRET.encode() not in _texts(folder)


@pytest.mark.spark
def test_tasks_have_what_opens_the_store(
    spark: SparkSession, bucket: Bucket, options: dict[str, Any], tmp_path: Path
) -> None:
    url = bucket.put("logs/binlog.000001", KEYS.read_bytes())
    told = index(spark, url, tmp_path / "index", storage_options=options)
    assert (told.read, told.left) == (1, {})
    log = bk.open(url, storage_options=options)
    assert Index(tmp_path / "index").unknown(log.carriers) == []
    assert SECRET.encode() not in _texts(tmp_path / "index")


def test_the_secret_in_a_url_is_in_no_index(tmp_path: Path) -> None:
    served = tmp_path / "served"
    served.mkdir()
    (served / "binlog.000001").write_bytes(KEYS.read_bytes())
    handler = partial(SimpleHTTPRequestHandler, directory=str(served))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/binlog.000001?token={SECRET}"
        told = [bk.index(url, tmp_path / "index") for _ in range(2)]
        server.shutdown()
    assert [(one.knew, one.read, one.left) for one in told] == [(0, 1, {}), (1, 0, {})]
    assert SECRET.encode() not in _texts(tmp_path / "index")
