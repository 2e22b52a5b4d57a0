"""What is known of rows, against a model in plain Python: a dictionary, one change at a time."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binlogkit._kernel.native import continuity
from binlogkit.analyses.continuity import Break, KnownRows, listed, sentence
from binlogkit.frames.schema import DIGESTS

NONE, PARTLY, GONE, DOUBT, ABSENT = 0, 2, 4, 6, 8
Image = tuple[int, int, int]
Change = tuple[Image | None, Image | None]


def batch(changes: list[Change]) -> pa.RecordBatch:
    """Changes as (digests before, digests after)."""
    sides = [
        pa.array(
            [None if c[side] is None else np.array(c[side], "<u8").tobytes() for c in changes],
            pa.binary(24),
        )
        for side in range(2)
    ]
    return pa.RecordBatch.from_arrays(sides, names=list(DIGESTS))


class Model:
    """The rule, said the long way."""

    def __init__(self, complete: bool) -> None:
        self.complete = complete
        self.strays = self.compared = 0
        self.lacking: list[tuple[int, int]] = []
        self.rows: dict[int, list[int]] = {}

    def take(self, changes: list[Change]) -> list[tuple[int, Break, int]]:
        found: list[tuple[int, Break, int]] = []
        self.lacking = []
        if any(was is not None and not was[0] & 1 for was, _ in changes):
            self.rows, self.complete, self.strays = {}, False, 0
            return []
        for i, (was, now) in enumerate(changes):
            old = was[0] if was is not None and was[0] & 1 else None
            new = now[0] if now is not None and now[0] & 1 else None
            if was is not None and old is not None:
                known = self.rows.get(old)
                if known is None or known[0] == GONE:
                    if (known is not None or self.complete) and not self.strays:
                        found.append((i, Break.APPEARED, old))
                        self.compared += 1
                elif any(k & 1 and w & 1 and k != w for k, w in zip(known, was[1:], strict=True)):
                    found.append((i, Break.CHANGED, old))
                    self.compared += 1
                elif any(w & 1 and k == PARTLY for k, w in zip(known, was[1:], strict=True)):
                    self.lacking.append((i, old))
                else:
                    shown = [(k, w) for k, w in zip(known, was[1:], strict=True) if w != ABSENT]
                    self.compared += bool(shown) and all(k & w & 1 for k, w in shown)
                if now is None or now[0] == PARTLY or (new is not None and new != old):
                    self.rows[old] = [GONE, GONE]
                else:
                    before = self.rows.get(old, [PARTLY, PARTLY])
                    self.rows[old] = [
                        n if n & 1 else PARTLY if n != ABSENT else w if w & 1 else b
                        for n, w, b in zip(now[1:], was[1:], before, strict=True)
                    ]
                    continue
            self.strays += now is not None and new is None
            if now is not None and new is not None:
                known = self.rows.get(new)
                if known is not None and known[0] not in (GONE, DOUBT):
                    found.append((i, Break.MADE_AGAIN, new))
                self.rows[new] = [n if n & 1 else PARTLY for n in now[1:]]
        return found

    def doubt(self, changes: list[Change]) -> None:
        for image in (image for change in changes for image in change):
            if image is not None and image[0] & 1:
                self.rows[image[0]] = [DOUBT, DOUBT]


KEYS = st.integers(0, 12).map(lambda n: 2 * (n << 40 ^ n) + 1)
VALUES = st.one_of(st.integers(0, 2).map(lambda n: 2 * n + 1), st.sampled_from([PARTLY, ABSENT]))
BEFORE = st.tuples(st.one_of(KEYS, st.just(ABSENT)), VALUES, VALUES)
AFTER = st.tuples(st.one_of(KEYS, st.sampled_from([ABSENT, PARTLY])), VALUES, VALUES)
CHANGES = st.one_of(
    st.tuples(st.none(), AFTER), st.tuples(BEFORE, AFTER), st.tuples(BEFORE, st.none())
)


@settings(max_examples=150, deadline=None)
@given(
    parts=st.lists(st.tuples(st.booleans(), st.lists(CHANGES, max_size=30)), max_size=8),
    complete=st.booleans(),
)
def test_it_is_what_the_model_says(parts: list[tuple[bool, list[Change]]], complete: bool) -> None:
    rows, model = KnownRows(), Model(complete)
    rows.forget(empty=complete)
    for doubted, changes in parts:
        if doubted:
            rows.doubt(batch(changes))
            model.doubt(changes)
        else:
            assert rows.feed(batch(changes)) == model.take(changes)
            assert (rows.compared, rows.lacking) == (model.compared, model.lacking)


def keyless_model(changes: list[Change]) -> list[tuple[int, Break, int]]:
    """The rule for tables without a key, of which all rows are known."""
    rows: Counter[int] = Counter()
    found, sure = [], True
    for i, (was, now) in enumerate(changes):
        if was is not None:
            if sure and not rows[was[0]]:
                found.append((i, Break.APPEARED, was[0]))
            rows[was[0]] = max(0, rows[was[0]] - 1)
        if now is not None and now[0] & 1:
            rows[now[0]] += 1
        sure = sure and (now is None or now[0] & 1 == 1)
    return found


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.lists(
            st.tuples(
                st.one_of(st.none(), st.tuples(KEYS, VALUES, VALUES)),
                st.one_of(st.none(), st.tuples(st.one_of(KEYS, KEYS, KEYS), VALUES, VALUES), AFTER),
            ),
            max_size=40,
        ),
        max_size=5,
    )
)
def test_equal_rows_of_a_table_without_a_key_are_counted(parts: list[list[Change]]) -> None:
    rows = KnownRows()
    rows.keyless = True
    rows.forget(empty=True)
    found, before = [], 0
    for changes in parts:
        found += [(before + i, how, key) for i, how, key in rows.feed(batch(changes))]
        before += len(changes)
    assert found == keyless_model([change for changes in parts for change in changes])


def test_without_a_key_nothing_is_compared_unless_all_rows_are_known() -> None:
    rows = KnownRows()
    rows.keyless = True
    gone: list[Change] = [((7, 3, 1), None)]
    assert rows.feed(batch(gone)) == [] and rows.compared == 0
    rows.forget(empty=True)
    assert rows.feed(batch(gone)) == [(0, Break.APPEARED, 7)] and rows.compared == 1
    rows.doubt(batch(gone))
    assert rows.feed(batch(gone)) == []
    rows.forget(empty=True)
    assert rows.feed(batch([((ABSENT, 3, 1), None)])) == [] and not rows.complete


@pytest.mark.parametrize("complete", [False, True])
def test_many_rows_that_come_and_go(complete: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """They grow, in a file too; those that are gone are let go where they need not be known."""
    monkeypatch.setattr("binlogkit.analyses.continuity.IN_MEMORY", 1 << 16)
    rows, model = KnownRows(), Model(complete)
    rows.forget(empty=complete)
    rng = np.random.default_rng(1)
    for _ in range(20):
        keys = rng.integers(0, 1 << 60, 1000, np.uint64).tolist()
        made: list[Change] = [(None, (2 * key + 1, 3, 1)) for key in keys]
        gone: list[Change] = [((2 * key + 1, 3, 1), None) for key in keys[:900]]
        odd: list[Change] = [((2 * key + 1, 5, 1), None) for key in keys[890:902]]
        for changes in (made, gone, odd):
            assert rows.feed(batch(changes)) == model.take(changes)
    places = len(rows._memory) // 16
    assert places == (8192 if complete else 32768)
    assert rows.compared == 20 * 912


def test_changes_of_one_side_only() -> None:
    """A batch without any image on a side has no buffer for it."""
    rows = KnownRows()
    assert rows.feed(batch([(None, (7, 3, 1))])) == []
    assert rows.feed(batch([((7, 3, 1), None)])) == []
    assert rows.feed(batch([((7, 3, 1), None)])) == [(0, Break.APPEARED, 7)]
    assert rows.feed(batch([((7, 3, 1), (9, 3, 1)), ((9, 5, 1), None)]).slice(1)) == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"memory": bytearray(16 * 12)},
        {"memory": bytearray(16)},
        {"tally": bytearray(24)},
        {"after": b"\0" * 48},
        {"start": -1},
    ],
)
@pytest.mark.parametrize("equal", [False, True])
def test_wrong_sizes_are_refused(wrong: dict[str, Any], equal: bool) -> None:
    given: dict[str, Any] = {
        "memory": bytearray(16 * 16), "tally": bytearray(32), "before": b"\0" * 24,
        "after": b"\0" * 24, "start": 0,
    } | wrong  # fmt: skip
    with pytest.raises(ValueError):
        continuity.take_changes(**given, complete=True, equal=equal)


def test_a_change_since_which_the_table_was_renamed_is_told_without_values() -> None:
    assert sentence(Break.CHANGED, {}, " by a at 4") == "it is not as it was left by a at 4"
    told = sentence(Break.CHANGED, {"n": (1, 2)}, " by a at 4")
    assert told == "left as n=1 by a at 4, it is found as n=2"


def test_odd_names_are_written_as_commands_take_them() -> None:
    assert listed({"a b": 1, "a=b": 2, "`c`": 3}) == "a b=1, `a=b`=2, ```c```=3"
