"""The columns of the images, held to the tables of the MySQL internals manual."""

from __future__ import annotations

import pytest

from binlogkit.analyses.row_image import (
    ImageColumns,
    image_columns,
    images_of,
    primary_key_equivalent,
)
from binlogkit.errors import UsageError
from binlogkit.rows.schema import ColumnDefinition, TableDefinition

COLUMNS = ("id", "name", "body", "seen")
BLOBS = ("body",)

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
    found = image_columns(setting, op, COLUMNS, ("id",), ("name",), blobs=BLOBS, autoincrement="id")
    assert found == ImageColumns(before, after)


def test_a_blob_is_in_the_after_image_when_it_is_written() -> None:
    """ "All columns where a value was specified, and all non-blob columns" """
    found = image_columns("noblob", "update", COLUMNS, ("id",), ("body",), blobs=BLOBS)
    assert found == ImageColumns(("id", "name", "seen"), COLUMNS)


def test_a_blob_in_the_key_is_in_the_before_image() -> None:
    """ "PKE + all non-blob columns" """
    found = image_columns("noblob", "delete", COLUMNS, ("body",), blobs=BLOBS)
    assert found.before == COLUMNS


@pytest.mark.parametrize(
    ("primary_key", "unique_keys", "expected"),
    [
        (("id",), [("name",)], ("id",)),  # "If a PK exists, the PKE is equal to the PK."
        # "Otherwise, if there exists a UK where all columns have the NOT NULL attribute, then
        # that is the PKE"
        ((), [("body", "id"), ("name", "id")], ("name", "id")),
        ((), [("body",)], COLUMNS),  # "Otherwise, the PKE is equal to the set of all columns."
        ((), [], COLUMNS),
    ],
)
def test_primary_key_equivalent(
    primary_key: tuple[str, ...], unique_keys: list[tuple[str, ...]], expected: tuple[str, ...]
) -> None:
    assert primary_key_equivalent(COLUMNS, primary_key, unique_keys, {"body"}) == expected


def test_a_tables_definition_says_all_of_it() -> None:
    table = TableDefinition(
        "d",
        "t",
        (
            ColumnDefinition("k", "int", nullable=False),
            ColumnDefinition("n", "int", auto_increment=True, nullable=False),
            ColumnDefinition("t", "mediumtext"),
            ColumnDefinition("j", "json"),
            ColumnDefinition("g", "geometry"),
        ),
        unique_keys=(("t",), ("k",)),
    )
    assert images_of(table, "MINIMAL", "insert", ["j"]).after == ("n", "j")
    assert images_of(table, "NOBLOB", "update", ["j"]) == ImageColumns(
        ("k", "n", "j", "g"), ("k", "n", "j", "g")
    )
    assert images_of(table, "MINIMAL", "delete").before == ("k",)


@pytest.mark.parametrize(
    ("setting", "op", "pke", "message"),
    [
        ("most", "insert", ("id",), "binlog_row_image"),
        ("full", "replace", ("id",), "insert, update or delete"),
        ("full", "insert", ("nope",), "no column nope"),
    ],
)
def test_what_does_not_exist_is_refused(
    setting: str, op: str, pke: tuple[str, ...], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        image_columns(setting, op, COLUMNS, pke)
