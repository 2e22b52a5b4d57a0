"""The order of what landed of several servers, against the numbers of its transactions."""

from __future__ import annotations

from pathlib import Path

import pytest

from binlogkit.spark.landing.journal import read_journal
from binlogkit.spark.landing.landing_path import Folder
from binlogkit.spark.landing.ledger import Ledger
from binlogkit.spark.landing.order import Order
from binlogkit.spark.landing.spans import Landed
from binlogkit_fixtures import golden
from tests.analyses.verify.conftest import joined, pieces_of
from tests.spark.landing.landings import failed_over, land, landed, third_of


def ordered(out: Path, at: tuple[str, int] | None = None) -> tuple[list[int], list[bytes]] | None:
    """The numbers of all rows' transactions in order, and of those at a position or after it; None
    if nothing orders them."""
    ledger, spans = Ledger(Folder(out)), read_journal(Folder(out))[2]
    order = Order.of(ledger, Landed(spans, parts=ledger.parts))
    found = None if order is None else order.runs(at)
    if found is None:
        return None
    rows = [row for of in landed(out).values() for row in of]
    places = []
    for row in rows:
        [run] = [
            one
            for one in found[0]
            if one.source == row["_source"] and one.low <= row["_sequence"] < one.high
        ]
        places.append((run.place + row["_sequence"], int(row["_gtid"].rpartition(":")[2])))
    places.sort()
    return [number for _, number in places], [place for place, _ in places if place >= found[1]]


@pytest.mark.parametrize("first", ["source", "replica", "alone"])
@pytest.mark.parametrize("names", [["shop", "shop"], [None, None], ["a", "b"]])
def test_a_failover(first: str, names: list[str | None], tmp_path: Path) -> None:
    [log] = golden.case("8.0-row-full", "incident").binlogs
    source, replica = failed_over(log, tmp_path)
    whole = replica.read_bytes()
    if first != "source":
        replica.write_bytes(third_of(replica) if first == "replica" else whole)
        land([replica], tmp_path / "out", name=names[1])
        replica.write_bytes(whole)
    land([source], tmp_path / "out", name=names[0])
    land([replica], tmp_path / "out", name=names[1])
    rows = landed(tmp_path / "out", "shop/orders")["shop/orders"]
    place = rows[len(rows) // 2]
    at = place["_file"], place["_pos"]
    found = ordered(tmp_path / "out", at)
    assert found is not None
    numbers, since = found
    assert numbers == sorted(numbers)
    number = int(place["_gtid"].rpartition(":")[2])
    later = sum(one > number for one in numbers)
    assert later <= len(since) <= later + numbers.count(number)


def test_logs_that_were_begun_in_one_second(tmp_path: Path) -> None:
    """With one number: ``_sequence`` does not tell whose a change is, but the source may."""
    [log] = golden.case("8.0-row-full", "incident").binlogs
    logs = failed_over(log, tmp_path, before=0, number=7)
    for out, names in (("one", ("shop", "shop")), ("two", ("a", "b"))):
        for path, name in zip(logs, names, strict=True):
            land([path], tmp_path / out, name=name)
    assert ordered(tmp_path / "one") is None
    found = ordered(tmp_path / "two")
    assert found is not None and found[0] == sorted(found[0]) != []


def test_an_xa_transaction_in_two_logs(tmp_path: Path) -> None:
    logs = golden.case("8.0-row-full-metadata", "transactions").binlogs
    first, second = (pieces_of(log.read_bytes()) for log in logs)
    whole = tmp_path / "whole.000001"
    whole.write_bytes(joined([*first[:-1], *second[2:]]))
    _, replica = failed_over(whole, tmp_path)
    for path in (replica, whole):
        land([path], tmp_path / "out", name="s")
    assert ordered(tmp_path / "out") is None
