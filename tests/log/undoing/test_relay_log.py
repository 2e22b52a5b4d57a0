"""Relay logs that are written to be played: what is in them, as the log's own reader sees it."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

import binlogkit as bk
from binlogkit.errors import DamageError, InputError, ServerError
from binlogkit.log.undoing.relay_log import Played, definers, stays, write_relay_log
from binlogkit.sources.server import disposable
from binlogkit_fixtures import golden

CELLS = ["5.7-row-full", "8.0-row-minimal", "8.0-row-compressed"]


def relay(log: bk.Log, version: int = 80031, **how: object) -> tuple[Played, bytes]:
    out = io.BytesIO()
    played = write_relay_log(log.carriers, out, version, **how)  # type: ignore[arg-type]
    assert played.size == len(out.getvalue())
    return played, out.getvalue()


def rows(log: bk.Log) -> list[object]:
    return [(r["op"], r["db"], r["table"], r["before"], r["after"]) for r in log.row_records()]


def opened(cell: str, scenario: str) -> bk.Log:
    return bk.open([str(file) for file in golden.case(cell, scenario).binlogs])


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("cascades_logged", [False, True])
def test_all_rows_are_there(cell: str, cascades_logged: bool) -> None:
    """Payloads are unpacked where rows events get their flag."""
    log = opened(cell, "transactions")
    _, data = relay(log, cascades_logged=cascades_logged)
    again = bk.open(data)
    assert rows(again) == rows(log)
    assert not again.damages
    events = list(again.event_records())
    assert {"ROTATE_EVENT", "STOP_EVENT", "PREVIOUS_GTIDS_LOG_EVENT"}.isdisjoint(
        event["type"] for event in events
    )
    if cascades_logged:
        assert "TRANSACTION_PAYLOAD_EVENT" not in {event["type"] for event in events}


@pytest.mark.parametrize("cell", CELLS)
def test_a_transaction_is_left_out(cell: str) -> None:
    log = opened(cell, "transactions")
    found = [row for row in log.transaction_records() if row["rows"]]
    gone = found[len(found) // 2]
    _, data = relay(log, without=[(gone["file"], gone["pos"], gone["end_pos"])])
    left = list(bk.open(data).transaction_records())
    assert gone["gtid"] not in {row["gtid"] for row in left}
    assert sum(row["rows"] for row in left) == sum(row["rows"] for row in found) - gone["rows"]


def test_statements_that_reach_out_are_left_out() -> None:
    """Before 8.0.18 also those that only an account could be kept from."""
    log = opened("5.7-statement-full", "statements")
    texts = [row["query"] for row in log.statements().to_dict("records")]
    assert any("LOAD DATA" in text for text in texts)
    kinds = {told.split(" ")[0] for told in relay(log)[0].left_out}
    assert kinds == {"CREATE", "DROP", "GRANT", "REVOKE", "ANALYZE", "OPTIMIZE", "FLUSH"}


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("INSERT INTO t VALUES ('INTO OUTFILE')", True, True),
        ("SELECT 1 INTO/**/OUTFILE 'x'", False, True),
        ("CREATE TABLE t (a INT) DATA DIRECTORY = '/x'", False, True),
        ("CREATE FUNCTION f RETURNS STRING SONAME 'x.so'", False, True),
        ("CREATE TRIGGER t BEFORE INSERT ON t FOR EACH ROW SET @@global.general_log = 1", False,
         True),
        ("/*!50000 SET GLOBAL a = 1 */", False, False),
        ("SHUTDOWN", False, False),
        ("INSTALL PLUGIN a SONAME 'a'", False, False),
        ("CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (HOST 'x')", False, False),
        ("GRANT ALL ON *.* TO a", False, False),
        ("CHANGE MASTER TO MASTER_HOST = 'x'", False, False),
    ],
)  # fmt: skip
def test_which_statements_stay(text: str, old: bool, new: bool) -> None:
    assert (stays(text, 0, 50722), stays(text, 0, 80031)) == (old, new)


def test_a_place_in_it_is_one_in_the_log() -> None:
    log = opened("8.0-row-full", "transactions")
    played, data = relay(log)
    for event in bk.open(data).event_records():
        if event["type"] == "XID_EVENT":
            file, _, pos = played.place(event["pos"]).rpartition(" at ")
            told = [e for e in log.event_records() if (e["file"], e["pos"]) == (file, int(pos))]
            assert [one["type"] for one in told] == ["XID_EVENT"]


def test_damage_and_what_is_no_whole_log_are_errors(tmp_path: Path) -> None:
    data = golden.case("8.0-row-full", "transactions").binlogs[0].read_bytes()
    with pytest.raises(DamageError):
        relay(bk.open(data[:-7], on_damage="report"))
    old = Path(__file__).parents[2] / "_data" / "5.6-row-full"
    assert relay(bk.open(sorted(old.rglob("*.0000*"))[0].read_bytes()))[0].size
    with pytest.raises(InputError, match="format description"):
        relay(bk.open(b"\xfebin" + data[4 + 119 + 4 + 4 :][:0] + _first_rows(data)))


def _first_rows(data: bytes) -> bytes:
    """The bytes of a log from its second event on."""
    size = int.from_bytes(data[4 + 9 : 4 + 13], "little")
    return data[4 + size :]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CREATE DEFINER=`a``b`@`%` TRIGGER", {("a`b", "%")}),
        ("CREATE DEFINER = 'a'@localhost VIEW", {("a", "localhost")}),
        ("CREATE definer=eve PROCEDURE", {("eve", "%")}),
        ("CREATE TABLE t (definer INT)", set()),
    ],
)
def test_definers(text: str, expected: set[tuple[str, str]]) -> None:
    assert definers(text) == expected


def test_without_a_server_the_error_says_what_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disposable, "entry_points", lambda group: [])
    log = opened("8.0-row-full", "transactions")
    with pytest.raises(ServerError, match=r"install binlogkit's fixtures package.*servers"):
        log.undo(mode="force").prove()
