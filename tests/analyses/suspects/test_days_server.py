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


def _twice(days: Days) -> None:
    for _ in range(2):
        days.alone("INSERT INTO payments (account_id, amount, ref) SELECT id, id, id FROM users"
                   " WHERE id <= 150")  # fmt: skip


#: What is done, the rule that finds it, the table, and what was changed.
DONE: dict[str, tuple[Callable[[Days], None], str, str]] = {
    "update_many": (
        lambda days: days.alone("UPDATE orders SET total = total + id WHERE id < 300"),
        "orders", "changed",
    ),
    "one_value": (
        lambda days: days.alone("UPDATE users SET email = 'x' WHERE id > 20"), "users", "→ x",
    ),
    "factor": (
        lambda days: days.alone("UPDATE orders SET total = total * 100 WHERE id < 300"),
        "orders", "total × 100",
    ),
    "garbled": (
        lambda days: days.alone("UPDATE users SET name = CONVERT(CAST(CONVERT(name USING utf8mb4)"
                                " AS BINARY) USING latin1)"),
        "users", "name changed",
    ),
    "again": (_twice, "payments", ""),
    "young": (
        lambda days: days.alone("DELETE FROM events ORDER BY id DESC LIMIT 200"), "events", " to ",
    ),
    "delete_many": (
        lambda days: days.alone("DELETE FROM items WHERE order_id % 2 = 0"), "items", " to ",
    ),
    "in_pieces": (
        lambda days: days.alone(*(f"UPDATE users SET points = 0 WHERE id = {i}"
                                  for i in range(1, 180))),
        "users", "points",
    ),
    "wiped": (lambda days: days.alone("DELETE FROM accounts"), "accounts", "id 1"),
    "no_condition": (
        lambda days: days.alone("DELETE FROM payments", settings=_LOUD), "payments", "id 1",
    ),
    "unchecked": (
        lambda days: days.alone("DELETE FROM coupons WHERE id IN (2, 5)",
                                settings="SET foreign_key_checks = 0"),
        "coupons", "2 to 5",
    ),
}  # fmt: skip


class _Done(Planted):
    """Ordinary days with one of these."""

    def plant(self, what: Callable[[Days], None] | None) -> None:
        if what is not None:
            self._days.at(1.4 * 86_400 + 25, lambda: what(self._days))


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with start(ServerSpec("8.0", OPTIONS)) as server:
        yield server


def _suspects(
    server: Server, folder: Path, what: Callable[[Days], None] | None
) -> list[dict[str, Any]]:
    days = Days(server, random.Random("ordinary"), days=2, hourly=20, size=600)
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
    place = " --start-position " if rule == "in_pieces" else " --at "  # several transactions
    assert first["undo"].startswith("binlogkit undo ") and place in first["undo"]


def test_ordinary_days_have_few_suspects_and_low_scores(server: Server, tmp_path: Path) -> None:
    found = _suspects(server, tmp_path, None)
    assert len(found) <= 3
    assert all(suspect["score"] < 50 for suspect in found)


def test_somebody_gets_all_rights(server: Server, tmp_path: Path) -> None:
    found = _suspects(server, tmp_path, lambda days: days.alone(
        "CREATE USER thief@localhost", "GRANT ALL ON *.* TO thief@localhost",
        "DROP USER thief@localhost",
    ))  # fmt: skip
    assert (found[0]["rule"], found[0]["score"]) == ("account_all", 85)
