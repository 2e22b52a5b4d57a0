"""Foreign keys from tables of which rows were erased: a child is determined where the lost changes
cannot have reached it, else its state says that rows were erased, and never that it was changed
outside the logs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from binlogkit.spark.landing import Landing, erase
from binlogkit_fixtures import golden
from tests.log.undoing.test_undo_server import Story
from tests.sources.server.conftest_server import shared_series
from tests.spark.landing.landings import land

BOTH = "ON DELETE CASCADE ON UPDATE CASCADE"
AGAIN = "INSERT INTO c VALUES (1, 2, 9)"
DELETED = ("DELETE FROM p WHERE id = 1", AGAIN)
MOVED = ("UPDATE p SET id = 5 WHERE id = 1", "UPDATE c SET v = 9 WHERE id = 1")
MAIL = "UPDATE p SET mail = 'b' WHERE id = 1"
ONE = (("p", {"id": 1}),)
BY_MAIL = (("p", {"mail": "b"}),)
OWN = (*ONE, ("c", {"p": 1}))
NO_CHILD = "DELETE FROM c WHERE id = 1"
#: The foreign key's actions, what happens, what is erased, and whether the child is determined.
CASES: dict[str, tuple[str, tuple[str, ...], tuple[Any, ...], bool]] = {
    "deleted": ("ON DELETE CASCADE", DELETED, ONE, False),
    "set to NULL": ("ON DELETE SET NULL", (DELETED[0], MOVED[1]), ONE, False),
    "moved away": (BOTH, MOVED, ONE, False),
    "moved there": (BOTH, MOVED, (("p", {"id": 5}),), False),
    "never changed": (BOTH, ("UPDATE c SET v = 1",), ONE, True),
    "without children": (BOTH, (NO_CHILD, *DELETED), ONE, True),
    "with its children": (BOTH, (*DELETED, "UPDATE c SET v = 1"), OWN, True),
    "emptied since": (BOTH, (DELETED[0], "TRUNCATE c", AGAIN, "UPDATE c SET v = 1"), ONE, True),
    "an update alone": ("ON DELETE CASCADE", (MAIL, "UPDATE c SET v = 1"), BY_MAIL, True),
    "an update, then": ("ON DELETE CASCADE", (MAIL, *DELETED), BY_MAIL, False),
    "by another name": (BOTH, ("RENAME TABLE p TO q", "DELETE FROM q WHERE id = 1", AGAIN),
                        (*ONE, ("q", {"id": 1})), False),
    "under one name": (BOTH, ("RENAME TABLE p TO q", "DELETE FROM q WHERE id = 1", AGAIN),
                       ONE, True),
}  # fmt: skip


@pytest.fixture(scope="module")
def landings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Landing, Any]]:
    """Of each case the landing, and the child's rows on the server."""
    found = {}
    with shared_series("8.0", {"binlog-row-metadata": "FULL"}) as server:
        for i, (name, (actions, done, rows, _)) in enumerate(CASES.items()):
            folder = tmp_path_factory.mktemp("erased")
            story = Story(server, folder, f"erased{i}")
            story.run(
                "CREATE TABLE p (id INT PRIMARY KEY, mail CHAR(9))",
                "CREATE TABLE c (id INT PRIMARY KEY, p INT, v INT,"
                f" FOREIGN KEY (p) REFERENCES p (id) {actions})",
                "CREATE TABLE g (id INT PRIMARY KEY, c INT,"
                " FOREIGN KEY (c) REFERENCES c (id) ON DELETE CASCADE)",
                "INSERT INTO p VALUES (1, 'a'), (2, 'x')",
                "INSERT INTO c VALUES (1, 1, 0), (2, 2, 0), (3, NULL, 0)",
                "INSERT INTO g VALUES (1, 2)" if "TRUNCATE" not in str(done) else "DROP TABLE g",
                *done,
            )
            story.log()
            land(folder, folder / "lake")
            erase(folder / "lake", [(f"{story.db}.{table}", key) for table, key in rows])
            found[name] = Landing(folder / "lake"), story.run("SELECT * FROM c ORDER BY id")
    return found


@pytest.mark.server
@pytest.mark.parametrize("name", CASES)
def test_a_child(landings: Any, name: str) -> None:
    (landing, rows), determined = landings[name], CASES[name][-1]
    db = landing.tables()[0].partition(".")[0]
    state, verified = landing.state(f"{db}.c"), landing.unlogged()
    kinds = state.findings["finding"].to_pylist()
    assert state.determined == determined == ("erased" not in kinds), state.findings.to_pylist()
    assert not determined or [(*one.values(),) for one in state.rows["values"].to_pylist()] == rows
    assert "outside" not in str(state.findings.to_pylist()) and not verified.findings
    reasons = {one["table"]: str(one["reason"]) for one in verified.image_records()}
    assert ("Rows were erased of a table" in reasons[f"{db}.c"]) != determined
    assert "rows of it were erased" in reasons[f"{db}.p"]
    assert f"{db}.g" not in reasons or landing.state(f"{db}.g").determined == determined
    findings = landing.life(f"{db}.c", 1).findings.to_pylist()
    assert "outside" not in str(findings)


def test_golden_children(tmp_path: Path) -> None:
    """They are determined as long as no change of the erased row is missing."""
    case = golden.case("5.7-row-full", "keys")
    land(case.path, tmp_path)
    wanted = {table: Landing(tmp_path).state(table) for table in ("keyed.child", "keyed.orphan")}
    erase(tmp_path, [("keyed.parent", {"id": 4})])
    landing = Landing(tmp_path)
    child, orphan = (landing.state(table) for table in wanted)
    assert child.determined and child.rows["values"].equals(wanted["keyed.child"].rows["values"])
    (found,) = (one for one in orphan.findings.to_pylist() if one["finding"] == "erased")
    assert not found["determined"]
    before = landing.state("keyed.orphan", at=f"{found['file']}:{found['pos']}")
    assert before.determined and not before.findings.num_rows


@pytest.mark.server
@pytest.mark.spark
def test_on_spark(landings: Any, spark: Any) -> None:
    from binlogkit.spark.landing.shared import shared_state
    from binlogkit.spark.landing.shared_landing import SharedLanding

    for name in ("deleted", "moved there", "never changed"):
        landing = landings[name][0]
        child = next(one for one in landing.tables() if one.endswith(".c"))
        state, wanted = shared_state(spark, landing, child), landing.state(child)
        assert state.state.findings.equals(wanted.findings)
        assert state.determined == wanted.determined
        found = SharedLanding(spark, landing).unlogged()
        assert found.image_records() == landing.unlogged().image_records()
