"""Each rule that golden logs can show: what it finds there, and a log in which it finds nothing."""

from __future__ import annotations

import shlex
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.analyses.suspects import SUSPECTS, rules
from binlogkit.frames.fields.field import names

DATA = Path(__file__).parents[2] / "_data"
# A rule; a log, and what the rule finds in it; a log in which it must find nothing.
CASES = [
    ("drop_database", "8.0-row-full/ddl", "evolve2", "DROP DATABASE evolve2", "8.0-row-full/keys"),
    ("drop_table", "8.0-row-full/ddl", "evolve.item", "DROP TABLE `item`", "5.7-row-full/gh-ost"),
    ("truncate", "8.0-row-full/ddl", "evolve.item", "TRUNCATE TABLE item", "8.0-row-full/keys"),
    ("drop_column", "8.0-row-full/ddl", "evolve.item", "dropped flag, note", "8.0-row-full/pt-osc"),
    ("convert", "5.7-row-full/ddl", "evolve.item", "price redefined", "8.0-row-full/statements"),
    ("drop_partition", "8.0-row-full/ddl", "evolve.part", "TRUNCATE PARTITION p24",
     "8.0-row-full/keys"),
    ("rename_away", "8.0-row-full/ddl", "evolve2.u", "TO evolve.u", "8.0-row-full/pt-osc"),
    ("account", "8.0-row-full/statements", "", "GRANT ALL PRIVILEGES", "8.0-row-full/ddl"),
    ("text", "8.0-row-full/statements", "stmts.switched", "UPDATE switched SET a = 'statement'",
     "8.0-statement-full/transactions"),
    ("text_whole", "8.0-mixed-full/statements", "stmts.keeps_nothing", "DELETE FROM keeps_nothing",
     "8.0-row-full/statements"),
    ("one_value", "8.0-row-full/incident", "shop.orders",
     "status → refunded, total → 0.00, comment → goodwill, ticket 4711", "8.0-row-full/keys"),
    ("whole_table", "8.0-row-full/keys", "keyed.pk", "id changed", "8.0-row-full/incident"),
    ("unlogged", "8.0-row-full/statements", "", "stmts.untraced id=2: it exists, although",
     "8.0-row-full/cascades"),
    ("gap", "8.0-row-small-caches/lost-events", "", "INCIDENT", "8.0-row-full/incident"),
]  # fmt: skip


@cache
def suspects(log: str) -> list[dict[str, Any]]:
    found = bk.open(DATA / log / "binlog.000001").suspects(engine="pyarrow")
    assert found.schema.names == list(names(SUSPECTS))
    return list(found.to_pylist())


@pytest.mark.parametrize(("rule", "log", "table", "what", "other"), CASES, ids=lambda case: case)
def test_a_rule_finds_it_here_and_not_there(
    rule: str, log: str, table: str, what: str, other: str
) -> None:
    (found,) = (s for s in suspects(log) if s["rule"] == rule)
    assert ".".join(text for text in (found["db"], found["table"]) if text) == table
    assert what in found["what"]
    assert rules()[rule].says in found["why"]
    assert found["score"] <= rules()[rule].weight
    assert rule not in [s["rule"] for s in suspects(other)]


@pytest.mark.parametrize("cell", ["5.7-row-full", "8.0-row-full"])
def test_the_bad_update_of_the_sample_is_the_only_suspect(cell: str) -> None:
    (found,) = suspects(f"{cell}/incident")
    log = bk.open(DATA / cell / "incident" / "binlog.000001")
    bad = log.transactions(engine="pyarrow", thread=106).to_pylist()
    (bad,) = (t for t in bad if t["updates"] == 75)
    for name in ("source", "timestamp", "thread_id", "gtid", "file", "pos", "rows"):
        assert found[name] == bad[name], name
    assert (found["rank"], found["op"], found["transactions"]) == (1, "update", 1)
    assert found["undo"] == f"binlogkit undo {log.files[0]} --at {bad['pos']} --mode merge"


def test_scores_fall_and_ranks_rise() -> None:
    found = suspects("8.0-row-full/ddl")
    assert [s["rank"] for s in found] == [*range(1, len(found) + 1)]
    scores = [s["score"] for s in found]
    assert scores == sorted(scores, reverse=True) and len(found) > 4


@pytest.mark.parametrize("log", ["5.7-row-full/gh-ost", "8.0-row-full/cascades"])
def test_nothing_stands_out(log: str) -> None:
    """Also not what gh-ost's tables go through."""
    assert suspects(log) == []


@pytest.mark.parametrize("cell", ["8.0-row-full", "8.0-mixed-full", "8.0-statement-full"])
@pytest.mark.parametrize("scenario", ["ddl", "statements", "keys"])
def test_a_command_chooses_what_no_later_statement_took(cell: str, scenario: str) -> None:
    """Some of its changes may be refused, but none for what DDL did later, or for lack of rows."""
    path = DATA / cell / scenario / "binlog.000001"
    for suspect in suspects(f"{cell}/{scenario}"):
        words = shlex.split(suspect["undo"] or "")[3:]
        if words and "--at" in words:
            place = int(words[words.index("--at") + 1])
            mode = "merge" if "--mode" in words else "refuse"
            again = [w for before, w in pairwise(words) if before == "--made-again"]
            plans = bk.open(path).undo(at=place, mode=mode, made_again=again)
            told = " ".join(plans.refusals())
            assert plans.counts()["statements"], told
            assert "later; choose" not in told and "converted" not in told, told
