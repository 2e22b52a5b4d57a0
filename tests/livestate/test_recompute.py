"""Queries that are calculated anew: which, when, and what stays refused."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.errors import UndeterminedError, UsageError
from binlogkit.livestate.views.view import ViewChange
from binlogkit_fixtures import golden
from tests.livestate.shop import to_the_end
from tests.waiting import LONG

TABLE = "keyed.pk"
NESTED = f"SELECT COUNT(*) AS n FROM {TABLE} WHERE id IN (SELECT MAX(id) FROM {TABLE})"


@pytest.fixture
def log(tmp_path: Path) -> bk.Log:
    """Logs with a table that has a key."""
    for path in golden.case("8.0-row-full", "keys").binlogs:
        shutil.copy(path, tmp_path)
    return bk.open(tmp_path)


def test_changes_add_up_to_what_is_shown(log: bk.Log) -> None:
    """Registered before anything came: changes by callback and by iteration, and rows."""
    told: Counter[Any] = Counter()

    def note(change: ViewChange) -> None:
        for row, weight in change.rows:
            told[row] += weight

    base = log.state(TABLE, at=_middle(log))
    with bk.live(log, [TABLE], base=base, wait=False) as live:
        query = live.register(NESTED, on_change=note, recompute=True)
        changes = query.changes(timeout=LONG, beginning=True)  # they end with the logs
        every = live.register(f"SELECT a.id, b.id AS other FROM {TABLE} a, {TABLE} b "
                              "WHERE a.id < b.id", recompute=True)  # fmt: skip
        to_the_end(live)
        assert Counter(query.rows()) == +told
        rows = Counter[Any]()
        for change in changes:
            rows.update(dict(change.rows))
        assert +rows == +told
        ids = sorted(live[TABLE]["id"])
        pairs = [(a, b) for i, a in enumerate(ids) for b in ids[i + 1 :]]
        assert sorted(every.rows()) == pairs
        assert every.lookup(id=ids[0]) == [pair for pair in every.rows() if pair[0] == ids[0]]
        told_how = live.explain()
        assert all("calculated anew from keyed.pk" in one for one in told_how) and told_how
        assert "with recompute=True" in live.explain(NESTED)[0]


def _middle(log: bk.Log) -> tuple[str, int]:
    last = list(log.transaction_records())
    middle = last[len(last) // 2]
    return middle["end_file"], middle["end_pos"]


def test_what_stays_refused(log: bk.Log) -> None:
    with bk.live(log, [TABLE], wait=False) as live:
        to_the_end(live)
        with pytest.raises(UsageError, match="a subquery is not kept by changes"):
            live.register(NESTED)
        for sql, why in (
            (f"SELECT id FROM {TABLE} a WHERE id IN (SELECT MAX(id) FROM {TABLE} WHERE id < a.id)",
             "no such column"),
            (f"SELECT id FROM {TABLE} WHERE id > (SELECT AVG(id) FROM {TABLE})",
             "are not compared here"),
            (f"SELECT m FROM (SELECT AVG(id) m FROM {TABLE}) x WHERE m > 1",
             "are not compared here"),
            (f"SELECT id FROM {TABLE} WHERE id IN (SELECT id, 1 FROM {TABLE})", "one column"),
            (f"SELECT 1 FROM (SELECT id, id FROM {TABLE}) x", "one name"),
            (f"SELECT 1 FROM (SELECT id FROM {TABLE} UNION SELECT 2) x", "only one SELECT"),
            (f"SELECT 1 FROM {TABLE} a RIGHT JOIN {TABLE} b ON a.id = b.id", "joins are"),
        ):  # fmt: skip
            with pytest.raises(UsageError, match=why):
                live.register(sql, recompute=True)
            assert why in live.explain(sql)[0]
        ids = sorted(live[TABLE]["id"])
        assert len(ids) > 2
        single = f"SELECT id, (SELECT id FROM {TABLE}) AS one FROM {TABLE}"
        with pytest.raises(UndeterminedError, match="more than one row"):
            live.register(single, recompute=True)
        with pytest.raises(UndeterminedError, match="the order does not distinguish"):
            live.register(f"SELECT id, 1 AS same FROM {TABLE} ORDER BY same LIMIT 1",
                          recompute=True)  # fmt: skip
        limited = f"SELECT id, 1 AS same FROM {TABLE} ORDER BY same LIMIT {len(ids)}"
        assert len(live.register(limited, recompute=True).rows()) == len(ids)
