"""Rules on row changes, on logs of a real server: incidents among a shop's ordinary days."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.analyses.suspects import rules
from binlogkit_fixtures.servers import Server, ServerSpec, start
from tests.truth.incidents import OPTIONS, Planted
from tests.truth.ordinary_days import Days

pytestmark = pytest.mark.server

_LOUD = "SET binlog_rows_query_log_events = 1"
#: What is done, the rule that finds it, the table, and what was changed.
DONE: dict[str, tuple[Callable[[Days], None], str, str]] = {
    "update_many": (
        lambda days: days.alone("UPDATE orders SET total = total * 100 WHERE id < 300"),
        "orders", "changed",
    ),
    "one_value": (
        lambda days: days.alone("UPDATE customers SET email = 'x' WHERE id > 20"),
        "customers", "→ x",
    ),
    "delete_many": (
        lambda days: days.alone("DELETE FROM items WHERE order_id % 2 = 0"), "items", " to ",
    ),
    "in_pieces": (
        lambda days: days.alone(*(f"UPDATE customers SET points = 0 WHERE id = {i}"
                                  for i in range(1, 180))),
        "customers", "points",
    ),
    "wiped": (lambda days: days.alone("DELETE FROM coupons"), "coupons", "code 00"),
    "no_condition": (
        lambda days: days.alone("UPDATE products SET price = 1", settings=_LOUD), "products", "→ 1",
    ),
    "unchecked": (
        lambda days: days.alone("DELETE FROM orders WHERE id IN (2, 5)",
                                settings="SET foreign_key_checks = 0"),
        "orders", "2 to 5",
    ),
}  # fmt: skip


class _Done(Planted):
    """Ordinary days with one of these."""

    def plant(self, what: Callable[[Days], None] | None) -> None:
        if what is not None:
            self._days.at(1.4 * 86_400, lambda: what(self._days))


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with start(ServerSpec("8.0", OPTIONS)) as server:
        yield server


def _suspects(
    server: Server, folder: Path, what: Callable[[Days], None] | None
) -> list[dict[str, Any]]:
    days = Days(server, random.Random("ordinary"), days=2, hourly=12, size=400)
    planted = _Done(server, None, days, later=False)
    planted.plant(what)
    log = bk.open(planted.logs(folder))
    return list(log.suspects(engine="pyarrow").to_pylist())


@pytest.mark.parametrize("rule", DONE)
def test_a_rule_finds_what_was_done(server: Server, rule: str, tmp_path: Path) -> None:
    what, table, words = DONE[rule]
    found = _suspects(server, tmp_path, what)
    first = found[0]
    assert first["table"] == table and words in first["what"]
    assert rules()[rule].says in first["why"], first
    assert "undo --" in first["undo"]


def test_ordinary_days_have_no_suspect_by_these_rules(server: Server, tmp_path: Path) -> None:
    found = _suspects(server, tmp_path, None)
    assert not {suspect["rule"] for suspect in found} & {*DONE}
    assert len(found) <= 3
