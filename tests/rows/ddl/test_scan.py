"""Comments, versioned comments and quotes as the server's lexer reads them."""

from __future__ import annotations

import tracemalloc
from contextlib import suppress

import pytest

from binlogkit.errors import SchemaError
from binlogkit.rows.ddl.scan import ScriptStatements, leading_words, plain
from binlogkit.rows.ddl.session import DEFAULT_MODE, SqlMode, mode_from_names, version_number
from tests.benchmarks.growth import HOSTILE_TEXT


@pytest.mark.parametrize(
    ("sql", "version", "expected"),
    [
        ("a /* b */ c", 80031, "a c"),
        ("a # b\nc", 80031, "a c"),
        ("a -- b\nc", 80031, "a c"),
        ("a --b\nc", 80031, "a --b c"),
        ("a --", 80031, "a"),
        ("a /*!50100 b */ c", 50722, "a b c"),
        ("a /*!80000 b */ c", 50722, "a c"),
        ("a /*!50100b*/ c", 50722, "a b c"),
        ("a /*! b */ c", 50722, "a b c"),
        ("a /*!123 b */", 50722, "a 123 b"),
        ("a /*!99999 b /* c */ d */ e", 80031, "a e"),
        ("a /*!50100 b /* c */ d */ e", 80031, "a b d e"),
        ("a /* 99999 , b */ c", 80031, "a c"),  # as 5.7 and 8.0 log what they left out
        ("a /*M!100201 b */ c", 80031, "a c"),  # MariaDB's
        ("a /*+ hint */ b", 80031, "a b"),
        ("a /* open", 80031, "a"),
        ("a /*!80023 open", 80031, "a open"),
        ("a */ b", 80031, "a */ b"),
        # Five digits before 8.0.34, so the sixth is text; six when white space follows since.
        ("a /*!080031 b */", 80031, "a 1 b"),
        ("a /*!080400 b */", 80400, "a b"),
        ("a /*!090000 b */ c", 80400, "a c"),
        ("a /*!0804001 b */", 80400, "a 01 b"),
        ("'/* x */' /* y */", 80031, "'/* x */'"),
        ("'it''s' -- 'x", 80031, "'it''s'"),
        (r"'a\' -- b' c", 80031, r"'a\' -- b' c"),
        ('"#" `--` x', 80031, '"#" `--` x'),
        ("a - b / c * d", 80031, "a - b / c * d"),
    ],
)
def test_plain(sql: str, version: int, expected: str) -> None:
    assert " ".join(plain(sql, DEFAULT_MODE, version).split()) == expected


@pytest.mark.parametrize("sql", ["'a", '"a', "`a", "'a\\'", "'a''"])
def test_open_quote_is_an_error(sql: str) -> None:
    with pytest.raises(SchemaError, match="never closed"):
        plain("x " + sql)


def test_modes_decide_where_a_quote_ends() -> None:
    assert plain(r"'a\' #x", SqlMode.NO_BACKSLASH_ESCAPES) == r"'a\'  "
    assert plain(r'"a\" #x', SqlMode.ANSI_QUOTES) == r'"a\"  '
    with pytest.raises(SchemaError):
        plain(r"'a\' #x", SqlMode.ANSI_QUOTES)


def test_leading_words() -> None:
    assert leading_words("/* x */ -- y\n create /*!50100 table */ `t` (a", 4) == [
        "CREATE",
        "TABLE",
        "`",
        "(",
    ]
    assert leading_words("drop 'open", 3) == ["DROP"]
    assert leading_words("", 2) == []


def test_modes_and_versions() -> None:
    assert mode_from_names("ansi, STRICT_ALL_TABLES") == (
        SqlMode.REAL_AS_FLOAT | SqlMode.ANSI_QUOTES | SqlMode.STRICT_ALL_TABLES
    )
    assert mode_from_names("") == DEFAULT_MODE
    assert version_number("8.0.31-0ubuntu0.20.04.1") == 80031
    assert version_number("5.7.22-log") == 50722
    assert version_number("10.5.8-MariaDB") == 100508
    assert version_number(None) == version_number("x") == 99898


def test_script() -> None:
    text = (
        "SELECT ';' /* ; */; -- ;\nDELIMITER //\nCREATE TRIGGER t BEGIN a; b; END //\n"
        'delimiter ;\n/* ; */\n;`;`;";"; /*!50003 x; */ y'
    )
    assert [s.strip() for s in ScriptStatements(text)] == [
        "SELECT ';' /* ; */",
        "CREATE TRIGGER t BEGIN a; b; END",
        "`;`",
        '";"',
        "/*!50003 x; */ y",
    ]
    assert list(ScriptStatements("a; /*!50003 x; */ y")) == ["a", "/*!50003 x; */ y"]


def test_script_in_another_mode() -> None:
    script = ScriptStatements(r"SET sql_mode=1; '\'; 'x'")
    seen = []
    for statement in script:
        seen.append(statement.strip())
        script.mode = SqlMode.NO_BACKSLASH_ESCAPES
    assert seen == ["SET sql_mode=1", r"'\'", "'x'"]


@pytest.mark.parametrize("unit", HOSTILE_TEXT)
@pytest.mark.parametrize("before", ["", "'", '"'])
def test_nothing_in_a_text_ends_it(unit: str, before: str) -> None:
    """None of it is more than one statement (how long it takes: tests/benchmarks/growth.py)."""
    text = before + unit * (20_000 // len(unit))
    for mode in (DEFAULT_MODE, SqlMode.NO_BACKSLASH_ESCAPES, SqlMode.ANSI_QUOTES):
        with suppress(SchemaError):
            plain(text, mode)
        assert len(list(ScriptStatements(text, mode))) <= 1
        leading_words(text, 4, mode)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("unit", ["''", "'a'", "-", "-- \n", "'\\''", "x/"])
def test_memory_does_not_depend_on_the_text(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    list(ScriptStatements(unit))
    tracemalloc.start()
    list(map(len, ScriptStatements(f"'{text}")))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_500_000  # the statement itself, and some places that `re` keeps
