"""Transactions on their way through servers that replicate from each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

import binlogkit as bk
from binlogkit.analyses import audit
from binlogkit.analyses.audit.hops import HOPS
from binlogkit_fixtures import golden

UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
SECOND = 1_000_000
Rows = Callable[[Any], list[dict[str, Any]]]


def test_the_way_begins_at_the_origin_and_follows_the_commits(
    make_transactions: Callable[..., pa.Table], convert: Callable[[pa.Table], Any], rows_of: Rows
) -> None:
    def at(source: str, commit: int, **more: Any) -> dict[str, Any]:
        told = {"gtid": f"{UUID}:1", "original_commit_timestamp": 5 * SECOND}
        return {"source": source, "commit_timestamp": commit * SECOND, **told, **more}

    ledger = convert(
        make_transactions(
            [
                at("c", 9),
                at("early", 4),  # its clock is behind
                at("other", 9, gtid=f"{UUID}:2"),
                at("a", 5),
                at("b", 7),
            ]
        )
    )
    found = audit.hops(ledger)
    assert type(found) is type(ledger)
    rows = rows_of(found)
    assert list(rows[0]) == [o.name for o in HOPS]
    assert [(r["gtid"][-1], r["source"], r["delay"]) for r in rows] == [
        ("1", "a", 0),
        ("1", "early", -SECOND),
        ("1", "b", 2 * SECOND),
        ("1", "c", 4 * SECOND),
        ("2", "other", 4 * SECOND),
    ]


def test_what_makes_a_transaction_known_again(
    make_transactions: Callable[..., pa.Table], convert: Callable[[pa.Table], Any], rows_of: Rows
) -> None:
    """Its GTID; else its origin's id and commit time; 0 is that of an origin before 8.0.1."""
    now = {"commit_timestamp": 8 * SECOND}
    ledger = convert(
        make_transactions(
            [
                {"source": "a", "server_id": 1, "original_commit_timestamp": 8 * SECOND, **now},
                {"source": "x", "server_id": 2, "original_commit_timestamp": 8 * SECOND, **now},
                {"source": "b", "server_id": 1, "original_commit_timestamp": 8 * SECOND, **now},
                {"source": "lost", "server_id": 1, "original_commit_timestamp": 0, **now},
                {"source": "lost", "server_id": 1},
                {"source": "c", "gtid": f"{UUID}:1", "original_commit_timestamp": 0, **now},
                {"source": "d", "gtid": f"{UUID}:1"},
            ]
        )
    )
    assert [(r["source"], r["delay"]) for r in rows_of(audit.hops(ledger))] == [
        ("a", 0), ("b", 0), ("x", 0), ("c", None), ("d", None),
    ]  # fmt: skip


#: Each transaction of ring.sql, and the servers that it went through, its origin first.
RING = {
    "8080:1": "abc", "8080:2": "abc", "8080:3": "abc", "8002:1": "bca", "8003:1": "cab",
    "8002:2": "bca", "8080:4": "abc", "8003:2": "cab",
}  # fmt: skip


def test_a_real_ring() -> None:
    """Each has what all have made; only what began at b behind the gap came to a minutes late. The
    relay logs of a have what the two others began: its own came back to it, and was dropped."""
    cases = [golden.case("8.0-row-full", "ring", name) for name in ("c", "a", "a-relay", "b")]
    logs = [str(path) for case in cases for path in case.binlogs]
    ledger = bk.open(logs, duplicates="keep").transactions(engine="pyarrow")
    ways: dict[str, str] = {}
    received, late = set(), []
    for row in audit.hops(ledger).to_pylist():
        gtid, place = row["gtid"][-6:], row["source"].split("/")[-2]
        if place == "a-relay":
            received.add(gtid)
            continue
        ways[gtid] = ways.get(gtid, "") + place
        if row["delay"] > 200_000_000:
            late.append((gtid, place))
    assert ways == RING
    assert received == {gtid for gtid, way in RING.items() if way[0] != "a"}
    assert late == [("8002:2", "a")]
