"""Undo of some transactions among others: the tables are what they are without these.

A generated history is undone in part on the server that ran it. Against that stands a replay: the
real mysqlbinlog reads the log of the same history without the transactions that the script took
back, and the server applies the rest. The replay has MINIMAL images, so that an update sets nothing
but what it changed. ``BINLOGKIT_HISTORIES`` says how many histories of each kind; a campaign is
``BINLOGKIT_HISTORIES=90 pytest -m "" tests/log/test_undo_replay_server.py``.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pymysql
import pytest

import binlogkit as bk
from binlogkit.reports.sql import SqlOptions, script
from binlogkit.sources import mysqlbinlog
from binlogkit_fixtures.clock import start_server
from binlogkit_fixtures.servers import Server, ServerSpec
from tests.log.test_cascades_server import HISTORIES, NAMES, begin, statement_of

pytestmark = [pytest.mark.server, pytest.mark.oracle]

STEPS = 45


@pytest.fixture(scope="module", params=["5.7", "8.0", "9"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server of each series, with GTIDs; foreign keys act below the log up to 9.5."""
    options = {"log-bin": "binlog", "gtid-mode": "ON", "enforce-gtid-consistency": "ON"}
    with start_server(ServerSpec(request.param, options), "auto", "real")[0] as found:
        yield found


def play(server: Server, cursor: Any, image: str, seed: object, folder: Path) -> Path:
    """Run a history of transactions of one to three statements; its log."""
    chance = random.Random(str(seed))
    begin(cursor, image)
    for _ in range(STEPS):
        cursor.execute("BEGIN")
        for _ in range(chance.choice((1, 1, 2, 3))):
            statement = statement_of(chance)
            if statement.startswith("REPLACE") and server.version.startswith("9."):
                continue  # 9.7.4 leaves rows of a second level behind, so that keys lead nowhere
            try:
                cursor.execute(statement)
            except pymysql.err.MySQLError:
                continue
        cursor.execute("COMMIT")
    return server.copy_binlog(server.binlog_names()[-1], folder)


def numbers(log: bk.Log) -> list[str]:
    """The GTIDs of the transactions in a log, in order."""
    return [str(row["gtid"]) for row in log.transaction_records()]


def rows(cursor: Any) -> dict[str, list[Any]]:
    """What the tables hold."""
    found = {}
    for name in NAMES:
        cursor.execute(f"SELECT * FROM {name}")
        found[name] = sorted(cursor.fetchall(), key=repr)
    return found


def replayed(cursor: Any, log: Path, without: list[str], *, logged: bool) -> dict[str, list[Any]]:
    """What the tables hold after the log without some transactions; ``logged``: what foreign keys
    did is in the log, so that the replay has none."""
    cursor.execute("DROP DATABASE u")
    excluded = [f"--exclude-gtids={','.join(without)}"] if without else []
    lines = mysqlbinlog.read(log, options=["--base64-output=auto", "--skip-gtids", *excluded])
    text = b"".join(lines).decode().split("DELIMITER /*!*/;\n")[1].split("DELIMITER ;")[0]
    for statement in text.split("/*!*/;"):
        plain = [line for line in statement.splitlines() if not line.startswith(("#", "/*!\\C"))]
        if any(plain):
            text = "\n".join(plain)
            cursor.execute(re.sub(", FOREIGN KEY .*", ")", text) if logged else text)
    found = rows(cursor)
    cursor.execute("SET foreign_key_checks = 1, unique_checks = 1, sql_mode = DEFAULT")
    return found


@pytest.mark.parametrize("mode", ["skip", "cascade"])
@pytest.mark.parametrize("image", ["FULL", "MINIMAL"])
@pytest.mark.parametrize("seed", range(HISTORIES))
def test_some_transactions(
    server: Server, image: str, mode: str, seed: int, tmp_path: Path
) -> None:
    chance = random.Random(f"{mode}/{image}/{seed}")
    (tmp_path / "minimal").mkdir()
    with server.connect(autocommit=True) as connection, connection.cursor() as cursor:
        minimal = play(server, cursor, "MINIMAL", seed, tmp_path / "minimal")
        first = rows(cursor)
        log = bk.open(str(play(server, cursor, image, seed, tmp_path)))
        assert rows(cursor) == first  # the same history
        own, theirs = numbers(log), numbers(bk.open(str(minimal)))
        assert len(own) == len(theirs)
        changed = [str(row["gtid"]) for row in log.transaction_records() if row["rows"]]
        chosen = chance.sample(changed, min(len(changed), 1 + chance.randrange(4)))
        plans = log.undo(gtid=",".join(chosen), by_transaction=True, mode=mode)
        left = {plan["gtid"] for plan in plans if plan["refused"]}
        undone = {plan["gtid"] for plan in plans if not plan["refused"]}
        assert not left & undone
        assert {p["refused"] for p in plans if p["refused"] and not p["skipped"]} == set()
        if mode == "cascade":
            assert undone >= set(chosen)
        verdict: tuple[Any, ...] = ()
        for line in script(plans, SqlOptions(commit=True)):
            if not line.startswith("--"):
                cursor.execute(line.rstrip(";\n"))
                verdict = (cursor.fetchall() or [verdict])[0]
        if undone:
            assert verdict[-1].startswith("committed")
        found = rows(cursor)
        of_theirs = dict(zip(own, theirs, strict=True))
        assert found == replayed(
            cursor,
            minimal,
            [of_theirs[gtid] for gtid in undone],
            logged=server.version.startswith("9."),
        )
