"""GTIDs that were met."""

from __future__ import annotations

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
