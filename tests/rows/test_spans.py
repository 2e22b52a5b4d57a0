"""Transactions that a relay log cuts in two, and logs that begin in the middle of one."""

from __future__ import annotations

import zlib
from pathlib import Path

import binlogkit as bk

DATA = Path(__file__).with_name("_data") / "5.6.24-relay"
FILES = sorted(str(path) for path in DATA.glob("relay.0*"))


def test_a_transaction_goes_on_in_the_next_relay_logs() -> None:
    log = bk.open(FILES)
    *_, whole, cut = log.transaction_records()
    assert (whole["file"], whole["end_file"]) == (FILES[0], FILES[-1])
    assert (whole["outcome"], whole["inserts"], whole["xid"] is None) == ("committed", 100, False)
    assert (cut["file"], cut["outcome"]) == (FILES[-1], "cut")
    rows = [r for r in log.row_records() if r["gtid"] == whole["gtid"]]
    assert [r["after"]["id"] for r in rows] == list(range(100))  # type: ignore[index]
    assert {r["file"] for r in rows} == set(FILES)
    assert {r["xid"] for r in rows} == {whole["xid"]}
    assert log.damages == []


def test_a_state_has_the_whole_transaction_or_nothing_of_it() -> None:
    log = bk.open(FILES)
    ends = {t["gtid"]: t for t in log.transaction_records()}
    whole = next(t for t in ends.values() if t["inserts"] == 100)
    before = log.state("truth.t", at=(whole["end_file"], whole["end_pos"] - 1))
    after = log.state("truth.t", at=(whole["end_file"], whole["end_pos"]))
    assert (before.rows.num_rows, after.rows.num_rows) == (0, 100)
    assert before.determined
    assert after.determined


def test_rows_without_a_table_map_are_told_once_and_stop_nothing() -> None:
    log = bk.open(FILES[-1])
    events = list(log.event_records())
    assert [e["type"] for e in events].count("WRITE_ROWS_EVENT") > 2
    (damage,) = log.damages
    assert "no TABLE_MAP_EVENT" in str(damage)
    rows = list(log.row_records())
    assert {r["after"]["@1"] for r in rows} <= set(range(100, 200))  # type: ignore[index]
    assert len(log.damages) == 1


def test_another_series_of_binary_logs_goes_on_with_nothing() -> None:
    """A crashed server's next log is no continuation: only relay logs are."""
    crashed = Path(FILES[0]).read_bytes()
    flags = 4 + 17  # of the format description, in which the relay flag is
    plain = crashed[:flags] + b"\0\0" + crashed[flags + 2 :]
    crc = 4 + int.from_bytes(plain[13:17], "little")
    body = plain[4 : crc - 4]
    plain = plain[: crc - 4] + zlib.crc32(body).to_bytes(4, "little") + plain[crc:]
    log = bk.open([plain, Path(FILES[1]).read_bytes()])
    assert [t["outcome"] for t in log.transaction_records()][-2:] == ["cut", "cut"]
