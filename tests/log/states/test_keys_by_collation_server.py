"""Which child rows a foreign key of texts changes, by collations, against SELECT."""

from __future__ import annotations

from pathlib import Path

import pytest

from binlogkit_fixtures.servers import Server
from tests.log.undoing.test_undo_server import Story
from tests.servers import each_server

pytestmark = [pytest.mark.server, pytest.mark.gate(1)]

server = each_server()

#: By collation: keys of parents, that which is deleted, keys of children, and whether all that it
#: takes along is known. Turkish has two letters I, gbk a "y" that is "~", Lithuanian none.
CASES: dict[str, tuple[str, str, tuple[str, ...], str, tuple[str, ...], bool]] = {
    "case": ("utf8mb4", "general_ci", ("a", "b"), "a", ("A", "B", "a"), True),
    "other letters": ("utf8mb4", "general_ci", ("é", "ü"), "é", ("é", "ü"), True),
    "accents": ("utf8mb4", "general_ci", ("e", "u"), "e", ("é", "u"), False),
    "Turkish": ("utf8mb4", "turkish_ci", ("i", "I"), "I", ("i", "I"), False),
    "Lithuanian": ("utf8mb4", "lithuanian_ci", ("y", "a"), "y", ("i", "a"), False),
    "Chinese": ("gbk", "chinese_ci", ("~", "a"), "~", ("y", "a"), False),
    "bytes": ("utf8mb4", "bin", ("b ", "B"), "b ", ("b", "B"), True),
    "Swedish": ("latin1", "swedish_ci", ("[", "a"), "[", ("å", "a"), False),
}


@pytest.mark.parametrize("case", CASES)
def test_rows_that_went_along(server: Server, case: str, tmp_path: Path) -> None:
    charset, rule, parents, gone, children, known = CASES[case]
    story = Story(server, tmp_path, "collated")
    text = f"VARCHAR(8) CHARSET {charset} COLLATE {charset}_{rule}"
    story.run(
        f"CREATE TABLE p (k {text} PRIMARY KEY)",
        f"CREATE TABLE c (id INT PRIMARY KEY, k {text},"
        " FOREIGN KEY (k) REFERENCES p (k) ON DELETE CASCADE)",
        *(f"INSERT INTO p VALUES ('{key}')" for key in parents),
        *(f"INSERT INTO c VALUES ({i}, '{key}')" for i, key in enumerate(children)),
        f"DELETE FROM p WHERE k = '{gone}'",
    )
    rows = [tuple(row) for row in story.run("SELECT id, k FROM c ORDER BY id")]
    state = story.log().state("collated.c")
    assert (
        not state.determined
        or [(r["id"], r["k"]) for r in state.frame().to_dict("records")] == rows
    )
    logged = tuple(map(int, server.version.split(".")))[:2] >= (9, 6)
    assert state.determined == (known or logged), state.findings.to_pylist()
