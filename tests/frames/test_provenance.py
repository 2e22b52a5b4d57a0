"""What is known of transactions, and what of it is forgotten on the way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from binlogkit.rows.stretches import TRANSACTIONS, Facts
from binlogkit_fuzz import seeds

import binlogkit as bk
from binlogkit.frames import shares
from binlogkit.frames.known import Known
from binlogkit.rows.transactions import Transaction
from binlogkit.sources import chunks

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


def xids(known: Known, *numbers: int) -> list[int | None]:
    return known.columns(np.array(numbers))["xid"].to_list()


def transaction(number: int, xid: int | None) -> Transaction:
    return Transaction(number, "f", 4, "f", 9, 1, 0, 0, xid=xid)


def test_an_open_transaction_is_known_when_it_comes_again() -> None:
    known = Known()
    known.add(records(0, 3, open_last=True), Facts())
    assert [known.ended(n) for n in (-1, 0, 1, 2)] == [True, True, True, False]
    known.add(records(2, 1, open_last=True), Facts())
    assert not known.ended(2)
    known.add(records(2, 4), Facts())
    assert known.ended(2)
    assert xids(known, 0, 2, 5) == [1000, 1002, 1005]
    assert xids(known, 1) == [1001]


@pytest.mark.parametrize("as_transaction", [True, False])
def test_an_end_that_was_read_ahead(as_transaction: bool) -> None:
    known = Known()
    known.add(records(0, 3, open_last=True), Facts())
    ahead: Any = transaction(1, 5) if as_transaction else records(0, 3, open_last=True)
    assert not known.take_ahead(ahead, 2)
    ahead = transaction(2, 77) if as_transaction else records(2, 1)
    assert known.take_ahead(ahead, 2)
    assert known.ended(2)
    assert xids(known, 1, 2) == [1001, 77 if as_transaction else 1002]


def test_what_was_read_event_by_event_counts() -> None:
    known = Known()
    known.add(records(0, 2, open_last=True), Facts())
    known.take(transaction(1, None))
    known.close()
    assert known.ended(1)
    assert xids(known, 0, 1) == [1000, None]
    known.reset()
    known.add(records(2, 1), Facts())
    assert xids(known, 2) == [1002]


def test_forgetting_keeps_what_is_asked_for() -> None:
    known, facts = Known(), Facts()
    for first in range(0, 1000, 10):
        known.add(records(first, 10), facts)
        facts.gtids[first] = (f"u:tag:{first}", None)
        known.forget(first)
        assert xids(known, first, first + 9) == [1000 + first, 1009 + first]
        assert len(facts.gtids) < 5
        assert sum(map(len, known._parts)) < 50


def test_a_log_that_is_read_by_small_windows_is_not_remembered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However long it is: what is kept is that of rows that were not handed over."""
    kept: list[int] = []
    forget = Known.forget

    def seen(known: Known, number: int) -> None:
        forget(known, number)
        kept.append(sum(map(len, known._parts)))

    monkeypatch.setattr(Known, "forget", seen)
    monkeypatch.setattr(chunks, "SIZE", 500)
    monkeypatch.setattr(shares, "SHARE_BYTES", 1)
    monkeypatch.setattr(shares, "SHARE_BYTES_A_TABLE", 0)
    log = seeds.logs()["8.0-row-full/transactions/binlog.000001"]
    rows = sum(b.batch.num_rows for b in bk.open([log] * 5).batches())
    assert rows > 200
    assert max(kept) < 40
