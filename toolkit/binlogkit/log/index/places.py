"""Where columns stand in tables, and what they are, for logs that do not name them.

A log of a server with binlog_row_metadata=MINIMAL, the default, names columns only where it has the
CREATE TABLE. To find out means to go through the definitions of all logs; so an index keeps the
answer beside its batches, for as long as these stay the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias

from binlogkit.constants import TableId
from binlogkit.frames.key_hashes import Place
from binlogkit.log.index.batches import mark_of, write_whole

if TYPE_CHECKING:
    from binlogkit.log.index.kept import Index
    from binlogkit.rows.schema import TableSchema

#: By table and column what it is in the table's versions.
Places: TypeAlias = "Mapping[TableId, Mapping[str, Sequence[Place]]]"
_NAME = "columns.json"


def places_of(schemas: Mapping[TableId, Iterable[TableSchema]]) -> Places:
    """Of the versions of tables."""
    found: dict[TableId, dict[str, set[Place]]] = {}
    for table, versions in schemas.items():
        columns = found.setdefault(table, {})
        for version in versions:
            for column in version.columns:
                columns.setdefault(column.name, set()).add(Place.of(column))
    return {t: {c: sorted(at) for c, at in columns.items()} for t, columns in found.items()}


def kept_places(index: Index) -> Places:
    """Of all tables in an index, found once for each of its states."""
    from binlogkit.log.index.joined import Joined

    path, mark = index.folder / _NAME, mark_of(index.folder)
    try:
        stored = json.loads(path.read_text("ascii"))
        if stored["mark"] == mark:
            return {
                (db, table): {name: [Place(*place) for place in of] for name, of in columns.items()}
                for db, table, columns in stored["tables"]
            }
    except (OSError, ValueError, KeyError, TypeError):
        pass
    index.load()
    found = places_of(Joined(index.besides(())).schemas)
    if mark_of(index.folder) == mark:
        tables = [[db, table, columns] for (db, table), columns in found.items()]
        with suppress(OSError):  # the folder may be read-only
            write_whole(path, json.dumps({"mark": mark, "tables": tables}))
    return found
