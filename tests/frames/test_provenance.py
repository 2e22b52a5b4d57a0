"""What is known of transactions, and what of it is forgotten on the way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import binlogkit as bk
from binlogkit.frames import share_decoding
from binlogkit.frames.transaction_facts import COMMIT, GTID, TransactionFacts
from binlogkit.rows.window import TRANSACTIONS, PythonFacts
from binlogkit.sources import chunks
from tests.fuzz.binlogkit_fuzz import seeds

_XID = 16


def records(first: int, count: int, *, open_last: bool = False) -> np.ndarray[Any, Any]:
    found = np.zeros(count, TRANSACTIONS)
    found["number"] = np.arange(first, first + count)
    found["xid"] = found["number"] + 1000
    found["has"] = _XID
    if open_last:
        found["open"][-1] = 1
        found["has"][-1] = 0
    return found


def xids(known: TransactionFacts, *numbers: int) -> list[int | None]:
    return known.columns(np.array(numbers))["xid"].to_list()


def test_an_open_transaction_is_known_when_it_comes_again() -> None:
    known = TransactionFacts()
    known.add(records(0, 3, open_last=True), PythonFacts())
    assert [known.ended(n) for n in (-1, 0, 1, 2)] == [True, True, True, False]
    known.add(records(2, 1, open_last=True), PythonFacts())
    assert not known.ended(2)
    known.add(records(2, 4), PythonFacts())
    assert known.ended(2)
    assert xids(known, 0, 2, 5) == [1000, 1002, 1005]
    assert xids(known, 1) == [1001]


@pytest.mark.parametrize("xid", [77, None])
def test_an_xid_that_was_read_ahead(xid: int | None) -> None:
    known = TransactionFacts()
    known.add(records(0, 3, open_last=True), PythonFacts())
    assert not known.ended(2)
    known.take_xid(2, xid)
    assert known.ended(2)
    assert xids(known, 1, 2) == [1001, xid]
    known.add(records(2, 1), PythonFacts())
    assert xids(known, 2) == [1002 if xid is None else xid]


def test_the_record_of_a_transaction() -> None:
    known = TransactionFacts()
    assert known.last == -1
    known.add(records(0, 3, open_last=True), PythonFacts())
    known.add(records(2, 4), PythonFacts())
    assert [int(known.record(n)["xid"]) for n in (0, 2, 5)] == [1000, 1002, 1005]
    assert known.last == 5


def test_the_gtid_and_commit_time_of_events() -> None:
    known, facts = TransactionFacts(), PythonFacts(gtids={1: ("u:tag:7", 99)})
    found = records(0, 3)
    found["has"] |= GTID | COMMIT
    found["gno"], found["commit_timestamp"] = 5, 123
    known.add(found, facts)
    numbers = np.array([1, -1, 0, 1])
    gtids = ["u:tag:7", None, "00000000-0000-0000-0000-000000000000:5", "u:tag:7"]
    assert known.of_events("gtid", numbers) == gtids
    assert known.of_events("commit_timestamp", numbers) == [99, None, 123, 99]


def test_nothing_is_asked_for_any_more() -> None:
    known = TransactionFacts()
    known.add(records(0, 2), PythonFacts())
    known.reset()
    known.add(records(2, 1), PythonFacts())
    assert xids(known, 2) == [1002]


def test_forgetting_keeps_what_is_asked_for() -> None:
    known = TransactionFacts()
    for first in range(0, 1000, 10):
        facts = PythonFacts({first: (f"u:tag:{first}", None)})
        known.add(records(first, 10), facts)
        known.forget(first)
        assert xids(known, first, first + 9) == [1000 + first, 1009 + first]
        assert known.of_events("gtid", np.array([first])) == [f"u:tag:{first}"]
        assert len(known._facts.gtids) < 5
        assert len(facts.gtids) == 1  # others have it too
        assert len(known._records) < 15


def test_a_log_that_is_read_by_small_windows_is_not_remembered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However long it is: what is kept is that of rows that were not handed over."""
    kept: list[int] = []
    forget = TransactionFacts.forget

    def seen(known: TransactionFacts, number: int) -> None:
        forget(known, number)
        kept.append(len(known._records))

    monkeypatch.setattr(TransactionFacts, "forget", seen)
    monkeypatch.setattr(chunks, "SIZE", 500)
    monkeypatch.setattr(share_decoding, "SHARE_BYTES", 1)
    monkeypatch.setattr(share_decoding, "SHARE_BYTES_A_TABLE", 0)
    log = seeds.logs()["8.0-row-full/transactions/binlog.000001"]
    rows = sum(b.batch.num_rows for b in bk.open([log] * 5, duplicates="keep").batches())
    assert rows > 200
    assert max(kept) < 40
