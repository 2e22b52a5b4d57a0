"""The schemas of a reading's table maps, by the slots that the kernel's scan gives them.

A slot is a map's body as long as no table changes: when one does, maps that come get new slots
(``TableMaps.renew``), and rows whose map stood before the change keep theirs.
"""

from __future__ import annotations

import numpy as np

from binlogkit._kernel.cursor import Cursor
from binlogkit._kernel.native.scan import Scanner
from binlogkit.constants import EventType
from binlogkit.errors import DamageError, MalformedEventError
from binlogkit.events.base import ParseContext, parser_of
from binlogkit.events.table_map import TableMap
from binlogkit.rows.schema import TableSchema
from binlogkit.rows.table_history import TableHistory
from binlogkit.rows.window import NEW_MAP, NO_MAP, Stretch
from binlogkit.sources.raw import EventHeader, RawEvent

__all__ = ["DUMMY_TABLE_ID", "Slots", "table_name"]

# A rows event for this id carries no rows: it only ends a statement (server's sources, rpl).
DUMMY_TABLE_ID = 0xFFFFFF
EARLY = (
    "the rows for table id {table_id} cannot be read: before 5.1.18 the log did not tell how they "
    "are stored (events/early.py)"
)
_MISSING = (
    "no TABLE_MAP_EVENT for table id {table_id} before it: the log begins inside a statement, and "
    "its rows for this id cannot be read"
)
_ID_WIDTH, _POST_HEADER = 6, 8

Damages = list[tuple[int, DamageError]]


class Slots:
    """``schemas``: by slot, None for one whose table is not known; ``errors``: table maps of the
    stretch that cannot be read, with their entries."""

    def __init__(self, tables: TableHistory, scanner: Scanner) -> None:
        self._tables = tables
        self._scanner = scanner
        self.schemas: list[TableSchema | None] = []
        self.errors: Damages = []
        self._unread: set[int] = set()  # table ids of rows that were told to be unreadable

    def forget_unread(self) -> None:
        """Tell anew of table ids whose rows cannot be read."""
        self._unread.clear()

    def renew(self) -> None:
        """Tables have changed: maps that come are resolved anew."""
        kept = self._scanner.maps.renew()
        self.schemas = [self.schemas[slot] for slot in kept]

    @property
    def complete(self) -> bool:
        """Whether every slot that there is was resolved."""
        return len(self.schemas) == self._scanner.maps.count

    def resolve(self, stretch: Stretch, context: ParseContext, file: str) -> Damages:
        """Resolve the maps of a stretch that are new; what cannot be."""
        damages: Damages = []
        if self.complete:
            return damages
        self.schemas = [*self.schemas]  # windows have the list as it was
        entries = stretch.entries
        for i in np.flatnonzero(entries["notes"] & NEW_MAP).tolist():
            slot = int(entries["slot"][i])
            if slot == len(self.schemas):
                self.schemas.append(None)
                damages += self._resolve(slot, stretch, i, context, file)
        return damages

    def unmapped(self, stretch: Stretch, file: str) -> Damages:
        """What to tell of a stretch's rows without a table map."""
        missing = stretch.entries["notes"] & NO_MAP > 0
        if not self._unread and not missing.any():
            return []
        maps = stretch.entries["type"] == EventType.TABLE_MAP_EVENT
        damages: Damages = []
        for i in np.flatnonzero(maps | missing).tolist():
            table_id = stretch.table_id(i)
            if maps[i]:  # from here on its rows can be read, or are told anew
                self._unread.discard(table_id)
            elif table_id != DUMMY_TABLE_ID:
                pos = int(stretch.positions[i])
                damages += self._tell(i, file, pos, table_id, _MISSING)
        return damages

    def _resolve(
        self, slot: int, stretch: Stretch, i: int, context: ParseContext, file: str
    ) -> Damages:
        body = stretch.body(i)[:_ID_WIDTH] + self._scanner.maps.body(slot)
        pos = int(stretch.positions[i])
        header = EventHeader(0, int(EventType.TABLE_MAP_EVENT), 0, len(body), 0, 0)
        raw = RawEvent(file, pos, header, body)
        parser = parser_of(raw.header.type_code)
        assert parser is not None
        try:
            table_map = parser(Cursor(body, file, pos), raw, _usual(context))
            assert isinstance(table_map, TableMap)
            if table_map.types and not table_map.nullable:  # a server before 5.1.4
                return self._tell(i, file, pos, table_map.table_id, EARLY)
            self.schemas[slot] = self._tables.schema(table_map, file, pos)
        except DamageError as error:
            self.errors.append((i, error))
        return []

    def _tell(self, i: int, file: str, pos: int, table_id: int, reason: str) -> Damages:
        """Rows that cannot be read though framing is intact: told once per table id."""
        if table_id in self._unread:
            return []
        self._unread.add(table_id)
        text = reason.format(table_id=table_id)
        return [(i, MalformedEventError(file, pos, text, "table_id"))]

    def tell_early(self, i: int, file: str, pos: int, table_id: int) -> Damages:
        """Rows in the form of before 5.1.18."""
        return self._tell(i, file, pos, table_id, EARLY)


def _usual(context: ParseContext) -> ParseContext:
    """The context for bodies that are laid out as since 5.1.18 (events/packing.py)."""
    return ParseContext(context.version, context.server_version)


def table_name(stretch: Stretch, slot: int) -> tuple[str, str]:
    """The database and table of a map in a stretch, also of one that cannot be read to its end."""
    i = int(np.flatnonzero(stretch.entries["slot"] == slot)[0])
    cursor = Cursor(stretch.body(i), "", 0)
    names = []
    try:
        cursor.skip(_POST_HEADER, "post_header")
        for field in ("db", "table"):
            names.append(cursor.text(cursor.packed(field), field))
            cursor.skip(1, field)
    except DamageError:
        names += [""] * (2 - len(names))
    return names[0], names[1]
