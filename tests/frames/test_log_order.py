"""Batches of one table whose rows alternate."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest

from binlogkit.frames.log_order import in_log_order

CASES: dict[str, tuple[Sequence[Sequence[int]], list[tuple[int, list[int]]]]] = {
    "apart": ([[1, 2], [3]], [(0, [1, 2]), (1, [3])]),
    "the later first, and an empty one": ([[5, 6], [], [1]], [(2, [1]), (0, [5, 6])]),
    "in turns": ([[1, 2, 5], [3], [4, 6]], [(0, [1, 2]), (1, [3]), (2, [4]), (0, [5]), (2, [6])]),
    "none": ([], []),
}


@pytest.mark.parametrize("what", CASES)
def test_their_parts(what: str) -> None:
    given, wanted = CASES[what]
    batches = [_batch(seqs) for seqs in given]
    found = [*in_log_order(batches)]
    assert [(number, batch["seq"].to_pylist()) for number, batch in found] == wanted
    for _, batch in found:
        batch.validate(full=True)
        assert batch["gtid"].to_pylist() == [f"g{seq}" for seq in batch["seq"].to_pylist()]
        assert {*batch["gtid"].dictionary.to_pylist()} == {*batch["gtid"].to_pylist()}


def _batch(seqs: Sequence[int]) -> pa.RecordBatch:
    gtids = pa.array([f"g{seq}" for seq in seqs], pa.string()).dictionary_encode()
    return pa.RecordBatch.from_pydict({"seq": pa.array(seqs, pa.int64()), "gtid": gtids})
