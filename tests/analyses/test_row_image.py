"""The columns of the images, held to the tables of the MySQL internals manual."""

from __future__ import annotations

import pytest

from binlogkit.analyses.row_image import ImageColumns, image_columns, primary_key_equivalent
from binlogkit.errors import UsageError
from binlogkit.rows.ddl.catalog import Catalog
from binlogkit.rows.schema import TableDefinition

COLUMNS = ("id", "name", "body", "seen")


def table(columns: str, version: str = "8.0.31") -> TableDefinition:
    """A table as the server makes it."""
    catalog = Catalog(version)
    catalog.apply(f"CREATE TABLE t ({columns})", default_db="d")
    found = catalog.table("d", "t")
    assert found is not None
    return found


DOCUMENT = table("id INT PRIMARY KEY AUTO_INCREMENT, name CHAR(9), body TEXT, seen DATE")

# "The set of columns included in the BI and AI are defined as in the following tables": the event,
# binlog_row_image, before image and after image of each line, for a statement that gives name a
# value, in a table with the primary key id, which is AUTO_INCREMENT.
TABLES = [
    # "All columns where a value was specified, and the autoincrement column if there is one"
    ("insert", "minimal", None, ("id", "name")),
    # "… and all non-blob columns"
    ("insert", "noblob", None, ("id", "name", "seen")),
    ("insert", "full", None, COLUMNS),  # "All columns"
    ("update", "minimal", ("id",), ("name",)),  # "PKE", "All columns where a value was specified"
    # "PKE + all non-blob columns", "All columns where a value was specified, and all non-blob …"
    ("update", "noblob", ("id", "name", "seen"), ("id", "name", "seen")),
    ("update", "full", COLUMNS, COLUMNS),  # "All columns", "All columns"
    ("delete", "minimal", ("id",), None),  # "PKE"
    ("delete", "noblob", ("id", "name", "seen"), None),  # "PKE + all non-blob columns"
    ("delete", "full", COLUMNS, None),  # "All columns"
]


@pytest.mark.parametrize(("op", "setting", "before", "after"), TABLES)
def test_the_documents_tables(
    op: str, setting: str, before: tuple[str, ...] | None, after: tuple[str, ...] | None
) -> None:
    assert image_columns(DOCUMENT, setting, op, ("name",)) == ImageColumns(before, after)


def test_a_blob_is_in_the_after_image_when_it_is_written() -> None:
    """ "All columns where a value was specified, and all non-blob columns" """
    found = image_columns(DOCUMENT, "noblob", "update", ("BODY",))
    assert found == ImageColumns(("id", "name", "seen"), COLUMNS)


def test_a_blob_in_the_key_is_in_the_before_image() -> None:
    """ "PKE + all non-blob columns" """
    keyed = table("id INT, body TEXT NOT NULL, PRIMARY KEY (body(5))")
    assert image_columns(keyed, "noblob", "delete").before == ("id", "body")


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        # "If a PK exists, the PKE is equal to the PK."
        ("a INT NOT NULL, b INT, UNIQUE (a), PRIMARY KEY (b)", ("b",)),
        # "Otherwise, if there exists a UK where all columns have the NOT NULL attribute, then
        # that is the PKE"
        ("a INT NOT NULL, b INT NOT NULL, c INT, UNIQUE (c), UNIQUE (b, a)", ("b", "a")),
        # "Otherwise, the PKE is equal to the set of all columns."
        ("a INT, b INT, UNIQUE (a)", ("a", "b")),
        ("a INT, b INT", ("a", "b")),
        # Not in the document: a key of a column's beginning, or of a virtual column, is none.
        ("a CHAR(9) NOT NULL, b INT, UNIQUE (a(5))", ("a", "b")),
        ("a CHAR(9) NOT NULL, b INT NOT NULL, UNIQUE (a(5)), UNIQUE (b)", ("b",)),
        ("a CHAR(9) NOT NULL, b INT, PRIMARY KEY (a(5))", ("a",)),
        ("a INT, b INT AS (a) VIRTUAL NOT NULL, UNIQUE (b)", ("a", "b")),
        ("a INT, b INT AS (a) STORED NOT NULL, UNIQUE (b)", ("b",)),
    ],
)
def test_primary_key_equivalent(columns: str, expected: tuple[str, ...]) -> None:
    assert primary_key_equivalent(table(columns)) == expected


@pytest.mark.parametrize(
    ("columns", "op", "specified", "after"),
    [
        ("a INT, b INT DEFAULT 3, c INT DEFAULT (b)", "insert", "a", "a c"),
        ("a INT, b TIMESTAMP DEFAULT NOW(), c DATE DEFAULT '2020-01-01'", "insert", "a", "a b"),
        ("a INT, b DATETIME ON UPDATE NOW(), c DATETIME AS (b)", "update", "a", "a b c"),
        ("a INT, b INT AS (concat(a)), c INT AS (b + 1) STORED, d INT", "update", "a", "a b c"),
        ("a INT, b INT AS (concat(a)), c INT AS (b + 1) STORED, d INT", "update", "d", "d"),
        ("a INT, b INT, c INT AS (`a` + 1), KEY (c)", "update", "b", "b c"),
        ("a INT, concat INT, c INT AS (concat(a))", "update", "concat", "concat"),
    ],
)
def test_values_that_the_server_gives(columns: str, op: str, specified: str, after: str) -> None:
    found = image_columns(table(columns), "minimal", op, specified.split()).after
    assert found == tuple(after.split())


def test_a_first_timestamp_of_old_servers() -> None:
    """Without explicit_defaults_for_timestamp it takes the current time (manual 5.7)."""
    old = table("a INT, t TIMESTAMP, u TIMESTAMP DEFAULT '2020-01-01'", "5.7.22")
    assert image_columns(old, "minimal", "insert", ["a"]).after == ("a", "t")
    assert image_columns(old, "minimal", "update", ["a"]).after == ("a", "t")


@pytest.mark.parametrize(
    ("setting", "op", "specified", "message"),
    [
        ("most", "insert", "id", "binlog_row_image"),
        ("full", "replace", "id", "insert, update or delete"),
        ("full", "insert", "nope", "no column nope"),
    ],
)
def test_what_does_not_exist_is_refused(
    setting: str, op: str, specified: str, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        image_columns(DOCUMENT, setting, op, [specified])
