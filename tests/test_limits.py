"""Limits: each stops what passes it, names its variable, and is raised by it."""

from __future__ import annotations

from pathlib import Path

import pytest

from binlogkit.errors import MalformedEventError, UsageError
from binlogkit.events.table_map import TableMap
from binlogkit.limits import DEFAULTS, PREFIX, limit, limit_error
from binlogkit.rows.ddl import Catalog
from binlogkit.rows.options import ReadOptions
from binlogkit.rows.table_history import TableHistory

DOCUMENT = Path(__file__).parents[1] / "docs" / "hostile-input.md"


def table(name: str, columns: int) -> TableMap:
    return TableMap(1, 1, "d", name, b"\3" * columns, b"", bytes((columns + 7) // 8), None)


@pytest.mark.parametrize("name", DEFAULTS)
def test_every_limit_is_documented(name: str) -> None:
    assert f"| `{PREFIX}{name}` | {DEFAULTS[name]:,} |" in DOCUMENT.read_text("utf-8")


def test_the_environment_raises_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    assert limit("COLUMNS") == 4096
    monkeypatch.setenv(f"{PREFIX}COLUMNS", "5000")
    assert limit("COLUMNS") == 5000


@pytest.mark.parametrize("text", ["", "many", "-1", "1e6", "٣", "9" * 30])
def test_a_limit_is_a_number(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(f"{PREFIX}COLUMNS", text)
    with pytest.raises(UsageError, match="is a number"):
        limit("COLUMNS")


def test_an_error_names_file_and_variable_safely() -> None:
    text = str(limit_error("a\x1b[31m", "NESTING", "packed again"))
    assert text == (
        "a\\x1b[31m: packed again; the limit is 4 (set BINLOGKIT_LIMIT_NESTING to raise)"
    )


def test_columns_of_one_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the server takes (4096) is read; more only when the user says so."""
    tables = TableHistory(ReadOptions())
    assert len(tables.schema(table("t", 4096), "log", 4).columns) == 4096
    with pytest.raises(MalformedEventError, match="LIMIT_COLUMNS"):
        tables.schema(table("u", 4097), "log", 4)
    monkeypatch.setenv(f"{PREFIX}COLUMNS", "4097")
    assert len(tables.schema(table("u", 4097), "log", 4).columns) == 4097


def test_columns_of_all_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """A version that is known already counts once."""
    monkeypatch.setenv(f"{PREFIX}SCHEMA_COLUMNS", "10")
    tables = TableHistory(ReadOptions())
    for name in "ababab":
        tables.schema(table(name, 5), "log", 4)
    with pytest.raises(MalformedEventError, match="LIMIT_SCHEMA_COLUMNS"):
        tables.schema(table("c", 1), "log", 4)


@pytest.mark.parametrize(("name", "most"), [("STATEMENT", 20), ("WORDS", 5)])
def test_statements(monkeypatch: pytest.MonkeyPatch, name: str, most: int) -> None:
    sql = "CREATE TABLE t (a INT, b INT)"
    (change,) = Catalog("8.0.31").apply(sql, default_db="d")
    assert change.action == "create"
    monkeypatch.setenv(f"{PREFIX}{name}", str(most))
    (change,) = Catalog("8.0.31").apply(sql, default_db="d")
    assert change.action == "unknown" and f"{PREFIX}{name}" in str(change.reason)
