"""The order of logs of several servers."""

from __future__ import annotations

import pyarrow as pa
import pytest

from binlogkit.events.gtid_set import GtidSet
from binlogkit.log.index import Part
from binlogkit.log.index.replication import replicated_order
from binlogkit.rows.series import Head

_UUIDS = {name: f"{name * 8}-{name * 4}-{name * 4}-{name * 4}-{name * 12}" for name in "abc"}


def gtids(text: str) -> list[str]:
    """``a1 a2`` of some servers."""
    return [f"{_UUIDS[one[0]]}:{one[1:]}" for one in text.split()]


def part(text: str) -> Part:
    """``NAME: what it has after: what came before``; the server is the name's first letter."""
    name, own, before = (piece.strip() for piece in text.split(":"))
    head = Head(name, None, ord(name[0]), False, 0, GtidSet.of(gtids(before)))
    ledger = {"transactions": pa.table({"gtid": pa.array(gtids(own), pa.string())})}
    return Part((name,), head=head, gtids=GtidSet.of(gtids(own)), ledger=ledger)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        # Another server took over.
        (["y: b1 b2: a1 a2", "x: a1 a2:"], "x y"),
        # What it follows is in a log that ends like it.
        (["x1: a1:", "y3: b2: a1 a2 b1", "x2: a2 b1 b2: a1"], "x1 x2 y3"),
        # Each log that overlaps another one comes once what it follows is there.
        (["y1: a1 a2:", "y2: b1: a1 a2", "x1: a1:", "x2: a2 b1 b2: a1"], "x1 y1 y2 x2"),
        # It was made from a dump: PREVIOUS_GTIDS is empty, but its own numbers show what came.
        (["y: a3 a4:", "x: a1 a2 a3 a4:"], "x y"),
        (["y: a3:", "x: a1 a2:"], "x y"),
        # Nothing of its own does, but another log has something before the same transactions.
        (["z: c1 b1:", "y1: a2 a3:", "y2: c1 b1: a2 a3", "x: a1 a2 a3 c1 b1:"], "x y1 z y2"),
        # Servers of their own stay as they are.
        (["y: b1:", "x: a1:"], "y x"),
        (["y: b1: b2", "x: a1:", "z: c3:"], "y x z"),
        (["y: :", "x: :"], "y x"),
    ],
)
def test_the_order_of_servers_that_replicate(given: list[str], expected: str) -> None:
    found = replicated_order([part(one) for one in given])
    assert " ".join(one.names[0] for one in found) == expected


def test_logs_that_end_alike_come_as_asked() -> None:
    logs = [part(one) for one in ("x: a1 a2:", "y: a1 a2:")]
    assert [one.names[0] for one in replicated_order(logs)] == ["x", "y"]
    later = {"x": 2, "y": 1}
    found = replicated_order(logs, lambda one: later[one.names[0]])
    assert [one.names[0] for one in found] == ["y", "x"]
