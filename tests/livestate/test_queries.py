"""Registered queries over tables that come, go, change and come again."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.errors import UsageError
from binlogkit.livestate.live import Live
from binlogkit.livestate.query import KeptQuery
from binlogkit.livestate.views.view import ViewChange
from tests.livestate.test_history import ends, written
from tests.livestate.test_live_folder import folder_of

TABLE = "evolve.item"
KEPT = f"SELECT COUNT(*) AS n, MAX(id) AS m FROM {TABLE}"
NESTED = f"SELECT id FROM {TABLE} WHERE id = (SELECT MAX(id) FROM {TABLE})"


def _right(live: Live, kept: KeptQuery, nested: KeptQuery) -> bool:
    """Whether the table is there; if so, both queries are right, else both say why not."""
    if TABLE not in live.tables:
        for query in (kept, nested):
            with pytest.raises(UsageError, match=r"evolve.item: the table was dropped or renamed"):
                query.rows()
        return False
    state = live.state(TABLE)
    assert all(state.findings["determined"].to_pylist())
    records: list[Any] = list(state.records())
    ids = [record["values"]["id"] for record in records]
    assert kept.rows() == [(len(ids), max(ids, default=None))]
    assert nested.rows() == [(one,) for one in {max(ids, default=None)} if one is not None]
    return True


def test_queries_go_on_when_their_table_is_there_again(tmp_path: Path) -> None:
    path = Path(folder_of("8.0-row-full", "ddl", tmp_path).files[0])
    places, data = ends(bk.open(path)), path.read_bytes()
    path.write_bytes(data[: places[0]])
    told: Counter[Any] = Counter()

    def note(change: ViewChange) -> None:
        for row, weight in change.rows:
            told[row] += weight

    with bk.live(bk.open(path), [TABLE]) as live:
        written(path, data, places[:1], live)
        told_why = r"evolve.item: no base has it, and its CREATE TABLE was not read so far"
        with pytest.raises(UsageError, match=told_why):
            live.register(KEPT)
        assert "was not read so far" in live.explain(KEPT)[0]
        written(path, data, places[1:2], live)
        kept = live.register(KEPT, on_change=note)
        nested = live.register(NESTED, recompute=True)
        there = [_right(live, kept, nested)]
        for place in places[2:]:
            written(path, data, [place], live)
            there.append(_right(live, kept, nested))
            if there[-1]:
                assert list((+told).elements()) == kept.rows()
    assert there[0] and there[-1] and there.count(False) > 1
