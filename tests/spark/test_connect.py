"""A Spark Connect server reads, lands and folds what this process does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.cli import run
from binlogkit.spark.landing import Landing
from binlogkit_fixtures import golden
from tests.spark.clusters import connect_server

pytestmark = [pytest.mark.spark, pytest.mark.slow]

CASE = golden.case("8.0-row-full", "transactions")
TABLE = "bank.account"

ASKS = """
import json, sys
import binlogkit as bk
from binlogkit.spark import session

spark = session(master=sys.argv[1])

def read(**options):
    return spark.read.format("binlog").options(**options).load(sys.argv[2])

kinds = ("rows", "transactions", "statements", "boundaries", "events")
minutes = bk.audit.by_minute(read(records="changes")).collect()
state = bk.point_in_time.replay(read(table=sys.argv[3]), key=["id"])
print(json.dumps({
    "session": type(spark).__module__,
    "counts": {kind: read(records=kind).count() for kind in kinds},
    "minutes": [(row["minute"], row["rows"]) for row in minutes],
    "state": [row["values"]["id"] for row in state.rows.collect()],
}))
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with connect_server(tmp_path_factory.mktemp("connect") / "server") as url:
        yield url


def client(*arguments: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own: one that has a classic session cannot have one of Connect's."""
    return subprocess.run(
        [sys.executable, *arguments], env={**os.environ, "PYSPARK_PYTHON": "none"},
        capture_output=True, text=True, check=False, timeout=400,
    )  # fmt: skip


def test_frames_and_analyses_are_those_of_this_process(server: str) -> None:
    done = client("-c", ASKS, server, str(CASE.path), TABLE)
    assert done.returncode == 0, done.stderr[-4000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert found["session"].startswith("pyspark.sql.connect")
    log = bk.open(CASE.path)
    assert found["counts"] == {
        "rows": len(log.rows()), "transactions": len(log.transactions()),
        "statements": len(log.statements()), "boundaries": len(log.boundaries()),
        "events": len(log.events()),
    }  # fmt: skip
    minutes = bk.audit.by_minute(log.rows())["rows"].tolist()
    assert [rows for _, rows in sorted(found["minutes"])] == minutes
    assert len(minutes) > 1
    rows = log.state(TABLE).rows["values"].to_pylist()
    assert sorted(found["state"]) == sorted(row["id"] for row in rows) != []


def test_commands_take_its_address(server: str, tmp_path: Path) -> None:
    lake, out = tmp_path / "lake", tmp_path / "state.jsonl"
    for words in (
        ("land", str(CASE.path), "--out", str(lake)),
        ("state", str(lake), "--table", TABLE, "--output", str(out)),
    ):
        done = client("-m", "binlogkit", *words, "--engine", "spark", "--master", server)
        assert done.returncode == 0, done.stderr[-4000:]
    wanted = tmp_path / "wanted.jsonl"
    assert run(["state", str(CASE.path), "--table", TABLE, "--output", str(wanted)]) == 0
    assert out.read_text() == wanted.read_text() != ""
    assert TABLE in Landing(lake).tables()
    for more in (("audit", "--format", "jsonl"), ("undo", "--where", "id=1")):
        asked = (*more, str(lake), "--table", TABLE, "--output")
        done = client("-m", "binlogkit", *asked, str(out), "--engine", "spark", "--master", server)
        assert run([*asked, str(wanted)]) == done.returncode, done.stderr[-4000:]
        here, there = (
            [line for line in path.read_text().splitlines() if not line.startswith("-- made by")]
            for path in (wanted, out)
        )
        assert here == there != []


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("sc://127.0.0.1:1", "sc://127.0.0.1: no Spark Connect server"),
        ("sc://127.0.0.1:99999", "sc://127.0.0.1: no Spark Connect server"),
        ("spark://127.0.0.1:1,127.0.0.1:99999", "spark://127.0.0.1: no Spark master"),
    ],
)
def test_no_server_is_one_sentence(url: str, server: str, tmp_path: Path) -> None:
    done = client(
        "-m", "binlogkit", "land", str(CASE.path), "--out", str(tmp_path / "lake"),
        "--engine", "spark", "--master", url,
    )  # fmt: skip
    assert done.returncode == 2
    assert f"{server} answers there" in done.stderr
    assert "Traceback" not in done.stderr
