"""GTIDs that were met."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from binlogkit.events.gtid_set import GtidSet
from binlogkit.rows.gtid_ledger import GtidLedger

ORIGINS = ("3e11fa47-71ca-11e1-9e33-c80aa9429562", "7950f91c-2f13-11ed-b2a8-52540099600c:tag")
ranges = st.lists(st.tuples(st.integers(1, 50), st.integers(0, 9)), max_size=4)
sets = st.dictionaries(st.sampled_from(ORIGINS), ranges).map(
    lambda by: GtidSet({o: [(at, at + more) for at, more in own] for o, own in by.items()})
)


@given(sets, sets)
def test_what_is_in_common(one: GtidSet, other: GtidSet) -> None:
    ledger = GtidLedger()
    ledger.add_set(one)
    assert ledger.to_set() == one
    assert ledger.common(other) == other.intersect(one)


@given(sets, sets)
def test_a_set_stays_what_it_was_while_ledgers_of_it_grow(one: GtidSet, other: GtidSet) -> None:
    before, both = str(one), GtidSet.parse(",".join(filter(None, map(str, (one, other)))))
    ledgers = GtidLedger(one), GtidLedger()
    ledgers[1].add_set(one)
    assert all(ledger.to_set() == one for ledger in ledgers)
    for ledger in ledgers:
        ledger.add_set(other)
        assert ledger.to_set() == both
    known = ledgers[0].add(ORIGINS[0], np.array([1]))
    assert bool(known[0]) == (f"{ORIGINS[0]}:1" in both)
    assert f"{ORIGINS[0]}:1" in ledgers[0].to_set()
    assert str(one) == before and ledgers[1].to_set() == both
