"""Which columns stand in the images of a row event, by ``binlog_row_image``.

Source: the MySQL internals manual on the binary log, "The sets of columns recorded in the
BI and AI". BLOB columns are those whose ``Field::type()`` is ``MYSQL_TYPE_BLOB``: every BLOB and
TEXT, but neither JSON nor GEOMETRY (``TABLE::mark_columns_per_binlog_row_image``, 8.0).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from binlogkit.errors import UsageError
from binlogkit.rows.schema import TableDefinition

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


def primary_key_equivalent(
    columns: Sequence[str],
    primary_key: Sequence[str],
    unique_keys: Sequence[Sequence[str]],
    nullable: Collection[str],
) -> tuple[str, ...]:
    """The columns that identify a row: the PKE.

    The primary key; else the first unique key whose columns are all NOT NULL; else all columns.
    """
    if primary_key:
        return tuple(primary_key)
    for key in unique_keys:
        if not any(name in nullable for name in key):
            return tuple(key)
    return tuple(columns)


# What the document's three tables say: event, row image -> (before, after); None: no such image.
# Each word is one of the sets that image_columns adds up.
_RULES: Mapping[tuple[str, RowImage], tuple[str | None, str | None]] = {
    ("insert", RowImage.MINIMAL): (None, "specified autoincrement"),
    ("insert", RowImage.NOBLOB): (None, "specified autoincrement nonblob"),
    ("insert", RowImage.FULL): (None, "all"),
    ("update", RowImage.MINIMAL): ("pke", "specified"),
    ("update", RowImage.NOBLOB): ("pke nonblob", "specified nonblob"),
    ("update", RowImage.FULL): ("all", "all"),
    ("delete", RowImage.MINIMAL): ("pke", None),
    ("delete", RowImage.NOBLOB): ("pke nonblob", None),
    ("delete", RowImage.FULL): ("all", None),
}


def image_columns(
    row_image: RowImage | str,
    op: str,
    columns: Sequence[str],
    pke: Collection[str],
    specified: Collection[str] = (),
    *,
    blobs: Collection[str] = (),
    autoincrement: str | None = None,
) -> ImageColumns:
    """The columns of both images of one change.

    ``op``: insert, update or delete; ``pke``: see :func:`primary_key_equivalent`; ``specified``:
    the columns that the statement gives a value; ``blobs``: the table's BLOB and TEXT columns.
    UsageError for an unknown setting, operation or column.
    """
    rule = _RULES.get((op, _setting(row_image)))
    if rule is None:
        raise UsageError(f"an operation is insert, update or delete, not {op!r}")
    sets = {
        "all": set(columns),
        "pke": set(pke),
        "specified": set(specified),
        "autoincrement": {autoincrement} if autoincrement else set(),
        "nonblob": set(columns) - set(blobs),
    }
    unknown = set().union(*sets.values(), blobs) - set(columns)
    if unknown:
        raise UsageError(f"the table has no column {', '.join(sorted(unknown))}")
    before, after = (
        None
        if words is None
        else tuple(c for c in columns if any(c in sets[word] for word in words.split()))
        for words in rule
    )
    return ImageColumns(before, after)


def images_of(
    table: TableDefinition, row_image: RowImage | str, op: str, specified: Collection[str] = ()
) -> ImageColumns:
    """The columns of both images of a change of ``table``."""
    names = [column.name for column in table.columns]
    nullable = [column.name for column in table.columns if column.nullable]
    return image_columns(
        row_image,
        op,
        names,
        primary_key_equivalent(names, table.primary_key, table.unique_keys, nullable),
        specified,
        blobs=[column.name for column in table.columns if column.type in BLOB_TYPES],
        autoincrement=next((c.name for c in table.columns if c.auto_increment), None),
    )


def _setting(row_image: RowImage | str) -> RowImage:
    try:
        return RowImage(str(row_image).lower())
    except ValueError as exc:
        raise UsageError(f"binlog_row_image has no value {row_image!r}") from exc
