"""Which columns are in the images of a row event, by ``binlog_row_image``.

Source: the MySQL internals manual on the binary log, "The sets of columns recorded in the BI and
AI", and what 5.7.22, 8.0.31 and 9.7.4 log (docs/logging-rules.md). BLOB columns are those whose
``Field::type()`` is ``MYSQL_TYPE_BLOB``: every BLOB and TEXT, but neither JSON nor GEOMETRY
(``TABLE::mark_columns_per_binlog_row_image``, 8.0).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum

from binlogkit.errors import UsageError
from binlogkit.rows.resolve import key_of
from binlogkit.rows.schema import ColumnDefinition, TableDefinition

BLOB_TYPES = frozenset(
    f"{size}{kind}" for size in ("tiny", "", "medium", "long") for kind in ("blob", "text")
)


class RowImage(StrEnum):
    """``binlog_row_image`` (5.6.2+)."""

    MINIMAL = "minimal"
    NOBLOB = "noblob"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class ImageColumns:
    """The columns of the image before and after, in the table's order; None without the image."""

    before: tuple[str, ...] | None
    after: tuple[str, ...] | None


# What the document's three tables say: event, row image -> (before, after); None: no such image.
# Each word is one of the sets that image_columns adds up.
_RULES: Mapping[tuple[str, RowImage], tuple[str | None, str | None]] = {
    ("insert", RowImage.MINIMAL): (None, "specified"),
    ("insert", RowImage.NOBLOB): (None, "specified nonblob"),
    ("insert", RowImage.FULL): (None, "all"),
    ("update", RowImage.MINIMAL): ("pke", "specified"),
    ("update", RowImage.NOBLOB): ("pke nonblob", "specified nonblob"),
    ("update", RowImage.FULL): ("all", "all"),
    ("delete", RowImage.MINIMAL): ("pke", None),
    ("delete", RowImage.NOBLOB): ("pke nonblob", None),
    ("delete", RowImage.FULL): ("all", None),
}


def primary_key_equivalent(table: TableDefinition) -> tuple[str, ...]:
    """The columns that identify a row, the PKE: those of its key, else all columns.

    The key is :func:`binlogkit.rows.resolve.key_of`'s.
    """
    return key_of(table)[0] or tuple(column.name for column in table.columns)


def image_columns(
    table: TableDefinition,
    row_image: RowImage | str,
    op: str,
    specified: Collection[str] = (),
    *,
    triggers: Collection[str] = (),
    after_duplicate: bool = False,
) -> ImageColumns:
    """The columns of both images of one change of ``table``.

    ``op``: insert, update or delete, as it is logged; ``specified``: the columns to which the
    statement gives a value, including DEFAULT; ``triggers``: those that a BEFORE trigger of the
    statement names as ``NEW.…``, whether set or only read; ``after_duplicate``: the row is written
    because REPLACE or
    ON DUPLICATE KEY UPDATE met a duplicate key, or inserted by that statement after it made an
    update of another row.
    UsageError for an unknown setting, operation or column.
    """
    rule = _RULES.get((op, _setting(row_image)))
    if rule is None:
        raise UsageError(f"an operation is insert, update or delete, not {op!r}")
    columns = [column.name for column in table.columns]
    spelled = {name.lower(): name for name in columns}
    given = {spelled.get(name.lower(), name) for name in (*specified, *triggers)}
    if unknown := given.difference(columns):
        raise UsageError(f"the table has no column {', '.join(sorted(unknown))}")
    sets = {
        "all": set(columns),
        "pke": set(primary_key_equivalent(table)),
        "specified": set(columns) if after_duplicate else _valued(table, op, given),
        "nonblob": {column.name for column in table.columns if column.type not in BLOB_TYPES},
    }
    before, after = (
        None
        if words is None
        else tuple(c for c in columns if any(c in sets[word] for word in words.split()))
        for words in rule
    )
    return ImageColumns(before, after)


def _valued(table: TableDefinition, op: str, given: set[str]) -> set[str]:
    """The document's "all columns where a value was specified".

    By the statement and its triggers (``given``), or by the server: of a new row the
    AUTO_INCREMENT column, defaults that are evaluated, generated columns; of a changed one
    ON UPDATE CURRENT_TIMESTAMP, and generated columns over a column that is written, virtual ones
    that a key holds always.
    """
    if op == "insert":
        return given | {column.name for column in table.columns if _of_a_new_row(column)}
    found = given | {column.name for column in table.columns if column.on_update_now}
    for column in table.columns:  # one reads only generated columns before it
        indexed = column.generated == "virtual" and column.name in table.indexed
        if column.generated and (indexed or not found.isdisjoint(column.reads)):
            found.add(column.name)
    return found


def _of_a_new_row(column: ColumnDefinition) -> bool:
    return column.auto_increment or column.evaluated or column.generated is not None


def _setting(row_image: RowImage | str) -> RowImage:
    try:
        return RowImage(str(row_image).lower())
    except ValueError as exc:
        raise UsageError(f"binlog_row_image has no value {row_image!r}") from exc
