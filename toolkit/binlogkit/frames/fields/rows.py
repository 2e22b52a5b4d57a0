"""The fields of a row change: of its record, its generic frame, and its batch."""

from __future__ import annotations

from dataclasses import replace

from binlogkit.frames.fields.field import Field, chosen, fields_of
from binlogkit.frames.fields.ledger import EVENT

#: The record, and the generic frame.
ROW = fields_of("row")

_SOURCE = chosen(EVENT, "source")
_ORDER = fields_of("order")


def _is_image(field: Field) -> bool:
    return field.type == "image"


#: Where a change comes from: what a batch begins with.
PROVENANCE = (*_SOURCE, *(f for f in ROW if not _is_image(f)))
#: A batch of one table's changes; see frames/schema.py.
BATCH = (*PROVENANCE, *_ORDER, *filter(_is_image, ROW), *fields_of("states"))
#: What a changelog has beside a table's own columns (spark/splits/changelog.py).
CHANGELOG = (
    *fields_of("changelog"),
    *(
        replace(field, name=f"_{field.name}")
        for field in PROVENANCE
        if field.name not in ("commit_timestamp", "db", "table", "op")
    ),
    *fields_of("changelog_cells"),
)
#: The generic frame with what analyses order by: what Spark gives of several tables.
CHANGE = (*_SOURCE, *ROW, *_ORDER)

#: The record of a row that a table held.
STATE = fields_of("state")
#: The same where there are several tables.
TABLE_STATE = fields_of("table_state")
#: A row that differs between two points.
DIFFERENCE = fields_of("difference")
#: A change of one row, or a statement on its table between.
LIFE = fields_of("life")
