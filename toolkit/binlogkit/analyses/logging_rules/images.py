"""Which columns stand in the images of what a statement changes."""

from __future__ import annotations

from binlogkit.analyses.logging_rules.model import BinlogFormat, Settings, Statement, TableUse
from binlogkit.analyses.row_image import ImageColumns, RowImage, image_columns
from binlogkit.errors import UsageError


def images_of(
    statement: Statement,
    use: TableUse,
    settings: Settings,
    op: str,
    *,
    after_duplicate: bool = False,
) -> ImageColumns:
    """The columns of both images of a row that the statement itself changes in a table.

    ``op``, ``after_duplicate``: see :func:`binlogkit.analyses.row_image.image_columns`. UsageError:
    the table's definition is not known.

    Two rules are the servers' alone (seen on 5.7.22, 8.0.31 and 9.7.4). From 8.0 on, what INSERT
    and REPLACE put through a view is logged with all columns. Up to 5.7, MIXED marks the columns of
    INSERT … SELECT before it decides for rows: they are those of MINIMAL, whatever the setting.
    """
    if use.definition is None:
        raise UsageError(f"the definition of {use.db}.{use.table} is not known")
    row_image, modern = settings.binlog_row_image, settings.version >= 80000
    inserts = statement.kind in ("insert", "replace")
    if op == "insert" and use.view and modern and inserts:
        row_image = RowImage.FULL
    selected = inserts and statement.has("query")
    if op == "insert" and selected and not modern and settings.binlog_format == BinlogFormat.MIXED:
        row_image = RowImage.MINIMAL
    name = (use.db, use.table)
    return image_columns(
        use.definition,
        row_image,
        op,
        statement.specified.get(name, ()),
        triggers=statement.triggers.get(name, ()),
        after_duplicate=after_duplicate,
    )
