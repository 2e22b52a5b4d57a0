"""What servers show of undo scripts: right ones, wrong ones, and logs that cannot be played."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.cli import main
from binlogkit.errors import ServerError
from binlogkit.log.undoing.proof import Proof
from binlogkit.sources.server import disposable as disposables
from binlogkit_fixtures.disposable import disposable
from binlogkit_fixtures.servers import Server, ServerSpec
from binlogkit_fixtures.servers.local import LocalServer
from tests.log.states.test_cascades_server import HISTORIES
from tests.log.undoing.test_undo_replay_server import play
from tests.servers import GTIDS, shared_server

pytestmark = pytest.mark.server

TABLES = (
    "CREATE DATABASE d",
    "CREATE TABLE d.t (id INT PRIMARY KEY, v INT, w VARCHAR(9), x DECIMAL(9,2), f FLOAT, "
    "j JSON, s TIMESTAMP(3) NULL, g INT AS (v * 2) STORED)",
    "CREATE TABLE d.bare (v INT, w VARCHAR(9))",
    "INSERT INTO d.t (id, v, w, x, f, j, s) VALUES (1, 1, 'a', 1.5, 0.1, '{\"k\": 1}', NULL), "
    "(2, 2, 'Ä\\'', NULL, NULL, NULL, '2020-01-01 00:00:00.125'), (3, 3, NULL, 0, 1, '[]', NULL)",
    "INSERT INTO d.bare VALUES (1, 'x'), (1, 'x'), (2, NULL)",
)


class Machine:
    """A server with a database, whose log is written where it is asked for."""

    def __init__(self, server: Server) -> None:
        self.server = server

    def log(self, folder: Path, *statements: str, begin: tuple[str, ...] = TABLES) -> Path:
        """The log of ``statements``, each a transaction, after those of the tables."""
        with self.server.connect(autocommit=True) as session, session.cursor() as cursor:
            cursor.execute("DROP DATABASE IF EXISTS d")
            cursor.execute("FLUSH BINARY LOGS")
            for statement in (*begin, *statements):
                cursor.execute(statement)
        return self.server.copy_binlog(self.server.binlog_names()[-1], folder)


@pytest.fixture(scope="module", params=["5.7", "8.0", "9"])
def each(request: pytest.FixtureRequest) -> Any:
    """A server of each series, for what they do each in its way."""
    with shared_server(ServerSpec(request.param, GTIDS)) as lent:
        yield Machine(lent)


@pytest.fixture(scope="module")
def machine() -> Any:
    with shared_server(ServerSpec("8.0", GTIDS)) as lent:
        yield Machine(lent)


def gtid(log: bk.Log, number: int) -> str:
    """Of a transaction with rows; negative numbers count from the end."""
    found = [row["gtid"] for row in log.transaction_records() if row["rows"]]
    return str(found[number])


def changed(proof: Proof, between: str = "undo") -> list[tuple[Any, ...]]:
    rows = proof.differences(between).to_pylist()
    return [(row["table"], row["kind"], row["key"]) for row in rows]


@pytest.mark.parametrize("image", ["FULL", "MINIMAL"])
@pytest.mark.sampled(4, 4)
@pytest.mark.gate(3)
def test_a_right_undo(each: Machine, image: str, tmp_path: Path) -> None:
    path = each.log(
        tmp_path,
        f"SET SESSION binlog_row_image = {image}",
        "UPDATE d.t SET v = v + 10, w = CONCAT('b', w), x = 7, f = 2, j = '1' WHERE id < 3",
        "DELETE FROM d.bare LIMIT 1",
        "UPDATE d.t SET s = '2021-01-01 00:00:00' WHERE id = 2",
    )
    log = bk.open(str(path))
    proof = log.undo(gtid=gtid(log, 2)).prove(server=disposable)
    assert proof.equal and proof.committed and proof.replayed
    assert proof.verdict == "committed"
    assert changed(proof) == [("t", "update", '{"id": 1}'), ("t", "update", '{"id": 2}')]
    assert proof.differences("play", "images", "replay").num_rows == 0
    held = [note for note in proof.notes if "with images only" in note]
    assert bool(held) == (image == "FULL")  # the last update's image holds what was undone
    table = {one.name: one for one in proof.tables}["d", "t"]
    assert (table.before, table.after, table.updated, table.wrong) == (3, 3, 2, 0)
    assert table.played is True
    assert proof.server == each.server.version
    assert "equal" in repr(proof) and "<b>" in proof._repr_html_()
    assert len(proof.frame("undo")) == 2


def test_a_part_of_a_transaction_and_a_table_without_a_key(
    machine: Machine, tmp_path: Path
) -> None:
    path = machine.log(
        tmp_path, "BEGIN", "DELETE FROM d.t", "DELETE FROM d.bare WHERE v = 1", "COMMIT"
    )
    proof = bk.open(str(path)).undo(op="delete", table="d.bare").prove(server=disposable)
    assert proof.equal and not proof.replayed
    assert changed(proof) == [("bare", "insert", None)] * 2
    assert "not all transactions are undone whole" in " ".join(proof.notes)


def test_a_trigger_makes_an_undo_wrong(machine: Machine, tmp_path: Path) -> None:
    """Every statement changes its row as it should, and something else as well."""
    path = machine.log(
        tmp_path,
        "CREATE TABLE d.seen (id INT PRIMARY KEY AUTO_INCREMENT, v INT)",
        "UPDATE d.t SET v = 5",
        "CREATE DEFINER = ghost@nowhere TRIGGER d.tr AFTER UPDATE ON d.t FOR EACH ROW "
        "INSERT INTO d.seen (v) VALUES (NEW.v)",
    )
    refused = bk.open(str(path)).undo(op="update").prove(server=disposable)
    assert not refused.committed and "trigger" in refused.verdict
    proof = bk.open(str(path)).undo(op="update").prove(despite_triggers=True, server=disposable)
    assert proof.committed and not proof.equal
    seen = [("seen", "insert", f'{{"id": {number}}}') for number in (1, 2, 3)]
    assert changed(proof, "replay") == seen and changed(proof, "images") == []
    assert [one.wrong for one in proof.tables if one.name == ("d", "seen")] == [3]
    part = (
        bk.open(str(path))
        .undo(op="update", where="id=1")
        .prove(despite_triggers=True, server=disposable)
    )
    assert part.committed and not part.equal and not part.replayed
    assert changed(part, "images") == seen[:1]


def test_a_trigger_refuses_an_undo(machine: Machine, tmp_path: Path) -> None:
    path = machine.log(
        tmp_path,
        "UPDATE d.t SET v = 5 WHERE id = 1",
        "CREATE TRIGGER d.tr BEFORE UPDATE ON d.t FOR EACH ROW "
        "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'not here'",
    )
    proof = bk.open(str(path)).undo(op="update").prove(despite_triggers=True, server=disposable)
    assert not proof.committed and not proof.equal
    assert "not here" in str(proof.error) and str(proof.statement).startswith("UPDATE `d`.`t`")
    assert changed(proof) == []


def test_a_refused_undo(machine: Machine, tmp_path: Path) -> None:
    path = machine.log(
        tmp_path, "UPDATE d.t SET v = 5", "UPDATE d.t SET v = 6 WHERE id = 1",
        "UPDATE d.bare SET v = 9 WHERE v = 2",
    )  # fmt: skip
    log = bk.open(str(path))
    chosen = f"{gtid(log, -3)},{gtid(log, -1)}"
    refused = log.undo(gtid=chosen).prove(server=disposable)
    assert not refused.committed and not refused.equal and refused.error is None
    assert "1 change was refused" in refused.verdict
    forced = log.undo(gtid=chosen, mode="force").prove(server=disposable)
    assert forced.equal and not any(one.wrong for one in forced.tables)


def test_columns_that_later_changes_set(machine: Machine, tmp_path: Path) -> None:
    """What is kept is no fault, also of a row that has another key since."""
    path = machine.log(
        tmp_path, "UPDATE d.t SET v = v + 10, w = 'x', x = 9, s = '2020-01-02 00:00:00'",
        "UPDATE d.t SET w = 'y' WHERE id = 1", "UPDATE d.t SET id = 7, x = 8 WHERE id = 2",
        "UPDATE d.t SET f = 5 WHERE id = 3",
    )  # fmt: skip
    log = bk.open(str(path))
    proof = log.undo(gtid=gtid(log, -4), mode="merge").prove(server=disposable)
    assert proof.verdict == "committed, 2 columns kept" and proof.equal
    found = [json.loads(row["after"]) for row in proof.differences("undo").to_pylist()]
    told = [[row[column] for column in ("id", "v", "w", "x", "g")] for row in found]
    assert sorted(told) == [
        [1, 1, "y", "1.50", 2], [3, 3, None, "0.00", 6], [7, 2, "Ä'", "8.00", 4],
    ]  # fmt: skip


def test_a_log_that_begins_after_its_tables(machine: Machine, tmp_path: Path) -> None:
    """It is refused, and played where a dump says what was there."""
    machine.log(tmp_path)
    path = machine.log(
        tmp_path, "UPDATE d.t SET v = 5 WHERE id = 1", begin=(*TABLES, "FLUSH BINARY LOGS")
    )
    with pytest.raises(ServerError, match=r"cannot play the log .*--schema FILE\.sql") as caught:
        bk.open(str(path), schema_from=None).undo(op="update").prove(server=disposable)
    assert caught.value.code in (1049, 1146)
    schema = tmp_path / "schema.sql"
    schema.write_text(";\n".join((*TABLES[:1], "USE d", *TABLES[1:3])) + ";\n", "utf-8")
    with pytest.raises(ServerError, match=r"binlog\.\d+ at \d+.*rows included") as caught:
        bk.open(str(path), schema=schema).undo(op="update").prove(server=disposable)
    assert caught.value.code == 1032
    schema.write_text(";\n".join((*TABLES[:1], "USE d", *TABLES[1:])) + ";\n", "utf-8")
    proof = bk.open(str(path), schema=schema).undo(op="update").prove(server=disposable)
    assert proof.equal and proof.replayed
    assert {one.played for one in proof.tables if one.updated} == {None}


def test_a_log_that_reaches_out(each: Machine, tmp_path: Path) -> None:
    """Statements of accounts and the server are left out, and no definer may do more than data."""
    path = each.log(
        tmp_path,
        "CREATE USER eve@localhost IDENTIFIED BY 'secret'",
        "UPDATE d.t SET v = 5 WHERE id = 1",
        "CREATE DEFINER = root@localhost TRIGGER d.tr BEFORE UPDATE ON d.t FOR EACH ROW "
        "SET GLOBAL general_log_file = '/tmp/eve'",
        "DROP USER eve@localhost",
    )
    proof = bk.open(str(path)).undo(op="update").prove(despite_triggers=True, server=disposable)
    told = " ".join(proof.notes)
    assert "secret" not in repr(proof.record())
    if each.server.version.startswith("5.7"):  # applies all with all rights
        assert proof.equal and "3, CREATE USER" in told and "CREATE DEFINER" in told
    else:
        assert not proof.committed and "denied" in str(proof.error) and "2, CREATE USER" in told


def test_the_server_is_gone(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also after an error, and when the user stops it."""
    monkeypatch.setenv("BINLOGKIT_RUNNER", "local")
    path = machine.log(tmp_path, "UPDATE d.t SET v = 5 WHERE id = 1")
    made: list[LocalServer] = []

    def provider(version: str, options: Mapping[str, str | None]) -> Server:
        server = disposable(version, options)
        assert isinstance(server, LocalServer)
        assert server.data_folder.is_dir() and server.host == "127.0.0.1"
        made.append(server)
        return server

    undo = bk.open(str(path)).undo(op="update")
    assert undo.prove(server=provider).equal

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(disposables.Stage, "run", stopped)
    with pytest.raises(KeyboardInterrupt):
        undo.prove(server=provider)
    assert len(made) == 3
    assert not any(server.data_folder.exists() for server in made)


def status(*words: str) -> Any:
    """A command's exit status."""
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    return ended.value.code


def test_the_command(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    path = str(machine.log(tmp_path, "UPDATE d.t SET v = 5 WHERE id = 1", "DELETE FROM d.bare"))
    monkeypatch.setattr(disposables, "offered", lambda: disposable)
    script = tmp_path / "undo.sql"
    assert status("undo", path, "--op", "delete", "--prove", "--output", str(script)) == 0
    out, err = capfd.readouterr()
    assert "The tables are what they should be." in out and "statements are executed" in err
    assert script.read_text("ascii").startswith("-- undo")
    assert status("undo", path, "--table", "d.t", "--op", "insert", "--prove=json") == 1
    told = json.loads(capfd.readouterr().out)
    assert told["equal"] is False and told["verdict"].startswith("rolled back: 1 change")


@pytest.mark.parametrize("image", ["FULL", "MINIMAL"])
@pytest.mark.parametrize("seed", range(HISTORIES))
@pytest.mark.sampled(2, 2)
def test_histories(each: Machine, image: str, seed: int, tmp_path: Path) -> None:
    """Generated transactions over tables with foreign keys; ``BINLOGKIT_CAMPAIGNS=1``: all."""
    chance = random.Random(f"{image}/{seed}")
    with each.server.connect(autocommit=True) as session, session.cursor() as cursor:
        path = play(each.server, cursor, image, seed, tmp_path)
    log = bk.open(str(path))
    numbers = [str(row["gtid"]) for row in log.transaction_records() if row["rows"]]
    chosen = ",".join(chance.sample(numbers, 3))
    plans = log.undo(gtid=chosen, by_transaction=True, mode="cascade")
    proof = plans.prove(server=disposable)
    assert proof.equal, proof.record()
    assert proof.replayed
