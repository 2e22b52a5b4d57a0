"""Statements of one form differ in values alone, so that they write and read the same tables."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binlogkit.rows.ddl.forms import LONGEST, form_of
from binlogkit.rows.ddl.session import ASSUMED_VERSION, SqlMode
from binlogkit.rows.ddl.written import deletes_all, read_tables, written, written_tables

ANSI, PLAIN = int(SqlMode.ANSI_QUOTES), int(SqlMode.NO_BACKSLASH_ESCAPES)

ALIKE = (
    ("INSERT INTO t VALUES (1, 'a')", "INSERT INTO t VALUES (23.5, 'it''s \\'5\\', (x) -- #')"),
    ("UPDATE t SET a=a+1 WHERE b<5", "UPDATE t SET a=a+70 WHERE b<123456"),
    ("UPDATE t SET a = \"x\"", "UPDATE t SET a = \"it's\""),
    ("DELETE FROM `a'b` WHERE c LIKE 'x%' LIMIT 10", "DELETE FROM `a'b` WHERE c LIKE '' LIMIT 1"),
)  # fmt: skip
UNLIKE = (
    ("DELETE FROM t1", "DELETE FROM t2"),
    ("DELETE FROM 1t WHERE a=1", "DELETE FROM 2t WHERE a=1"),
    ("DELETE FROM t.1a", "DELETE FROM t.2a"),
    ("DELETE FROM 1€", "DELETE FROM 2€"),  # a name: MySQL takes U+20AC, which is no letter
    ("DELETE FROM \u00a01", "DELETE FROM \u00a02"),  # as it does a no-break space
    ("DELETE FROM `a'b`, `c'd` USING x", "DELETE FROM `a'zz'd` USING x"),
    ("DELETE FROM t", "DELETE FROM t WHERE 1"),
    ("INSERT INTO t VALUES (' '' ,', f(1), ' x')", "INSERT INTO t VALUES (' '' ,', 1, ' x')"),
    ("INSERT INTO t VALUES (a.5)", "INSERT INTO t VALUES (a.6)"),
    ("INSERT INTO t VALUES (1e5)", "INSERT INTO t VALUES (1e6)"),
    ("INSERT INTO t VALUES (0x41)", "INSERT INTO t VALUES (0x42)"),
)
BY_ITSELF = (
    "INSERT INTO t VALUES (1) /* a ' */", "INSERT INTO t VALUES (1) -- it's", "DELETE FROM t # '",
    "INSERT INTO t VALUES (\\N)", "INSERT INTO t VALUES ('a)", "INSERT INTO `t VALUES (1)",
    "INSERT INTO t VALUES ('a\x00')", "UPDATE t SET a=X'41'",
    "DELETE FROM t WHERE a = '" + "x" * LONGEST + "'",
)  # fmt: skip


@pytest.mark.parametrize("pair", ALIKE, ids=[one for one, _ in ALIKE])
def test_alike(pair: tuple[str, str]) -> None:
    first, second = (form_of(sql, 0) for sql in pair)
    assert first is not None
    assert first == second


@pytest.mark.parametrize("pair", UNLIKE, ids=[one for one, _ in UNLIKE])
def test_unlike(pair: tuple[str, str]) -> None:
    first, second = (form_of(sql, 0) for sql in pair)
    assert None not in (first, second)
    assert first != second


@pytest.mark.parametrize("sql", BY_ITSELF, ids=[sql[:40] for sql in BY_ITSELF])
def test_by_itself(sql: str) -> None:
    assert form_of(sql, 0) is None


def test_modes() -> None:
    """Where a backslash does not escape, and double quotes are names'."""
    assert form_of("INSERT INTO t VALUES ('a\\')", 0) is None
    ended = form_of("INSERT INTO t VALUES ('a\\')", PLAIN)
    assert ended is not None
    assert ended == form_of("INSERT INTO t VALUES ('b')", PLAIN)
    assert form_of('DELETE FROM "t"', ANSI) is None


NAMES = st.sampled_from(["t", "t1", "1t", "`a'b`", "d.t", "`1`", "€1", '`it"s`'])
TEXTS = st.text("ab'\"`\\ ,()-#/*5;", max_size=8)
NUMBERS = st.from_regex(r"-?[0-9]{1,3}(\.[0-9]{1,2})?", fullmatch=True)
SHAPES = (
    "INSERT INTO {} VALUES (?, ?),(?,?)", "UPDATE {} SET a=?, b = b+? WHERE c IN (?,?)",
    "DELETE FROM {} WHERE a=? AND b LIKE ? OR c<? LIMIT ?", "DELETE FROM {}",
    "INSERT INTO {} SELECT ?, a FROM x WHERE b=? AND c>? AND d=?", "UPDATE {} JOIN y SET y.a=?",
    "REPLACE INTO {} (a,b) VALUES (f(?),?)", "UPDATE {} SET a=IF(b>?,?,?)",
)  # fmt: skip


def _quoted(text: str, mode: int) -> str:
    text = text.replace("'", "''")
    return "'" + (text if mode & PLAIN else text.replace("\\", "\\\\")) + "'"


@given(
    st.sampled_from(SHAPES), NAMES, st.sampled_from([0, PLAIN, ANSI]),
    st.lists(st.one_of(TEXTS, NUMBERS), min_size=8, max_size=8),
)  # fmt: skip
def test_values_do_not_matter(shape: str, name: str, mode: int, values: list[str]) -> None:
    """A statement's answer is that of each other one of its form."""
    made = []
    for some in (values[:4], values[4:]):
        sql = shape.replace("{}", name)
        for value in some:
            number = value.lstrip("-").replace(".", "").isdecimal() and value != "5"
            sql = sql.replace("?", value if number else _quoted(value, mode), 1)
        made.append(sql)
    by_itself = [
        (
            written_tables(sql, "db", mode), read_tables(sql, "db", mode), deletes_all(sql, mode)
        )
        for sql in made
    ]  # fmt: skip
    forms = [form_of(sql, mode) for sql in made]
    if None not in forms and forms[0] == forms[1]:
        assert by_itself[0] == by_itself[1]
    for sql, (names, reads, everything) in zip(made, by_itself, strict=True):
        known = written(sql, "db", mode, ASSUMED_VERSION)
        assert (known.names, known.everything) == (names, everything)
        assert known.reads == (None if names is None else reads)
