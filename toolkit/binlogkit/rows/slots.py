"""The schemas of a reading's table maps, by the slots that the kernel's scan gives them.

A slot is a map's body as long as no table changes: when one does, maps that come get new slots
(``TableMaps.renew``), and rows whose map stood before the change keep theirs.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from binlogkit._kernel.cursor import Cursor
from binlogkit._kernel.native.scan import Scanner
from binlogkit.constants import EventType
from binlogkit.errors import DamageError, MalformedEventError
from binlogkit.events.base import ParseContext
from binlogkit.events.reader import EventParser
from binlogkit.events.table_map import TableMap
from binlogkit.rows.schema import TableSchema
from binlogkit.rows.table_history import TableHistory
from binlogkit.rows.window import NEW_MAP, NO_MAP, Stretch

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
    """``schemas``: by slot, None for one whose table is not known; ``errors``: of the stretch's
    table maps whose rows cannot be read, with their entries; ``unparsed``: those among them that
    cannot be read themselves."""

    def __init__(self, tables: TableHistory, scanner: Scanner) -> None:
        self._tables = tables
        self._scanner = scanner
        self.schemas: list[TableSchema | None] = []
        self.errors: Damages = []
        self.unparsed: Damages = []
        self._broken: set[int] = set()  # slots of such maps
        self._next = 0  # the first event that was not looked at for them
        self._unread: set[int] = set()  # table ids of rows that were told to be unreadable

    def forget_unread(self) -> None:
        """Tell anew of table ids whose rows cannot be read."""
        self._unread.clear()

    def renew(self) -> None:
        """Tables have changed: maps that come are resolved anew."""
        kept = self._scanner.maps.renew()
        self.schemas = [self.schemas[slot] for slot in kept]
        self._broken = {i for i, slot in enumerate(kept) if slot in self._broken}

    @property
    def complete(self) -> bool:
        """Whether every slot that there is was resolved."""
        return len(self.schemas) == self._scanner.maps.count

    def resolve(self, stretch: Stretch, context: ParseContext, file: str) -> Damages:
        """Resolve the maps of a stretch that are new; what cannot be."""
        damages: Damages = []
        if self.complete and not self._broken:
            return damages
        self.schemas = [*self.schemas]  # windows have the list as it was
        first = max(self._next - stretch.ordinal, 0)
        entries = stretch.entries[first:]
        maps = (entries["type"] == EventType.TABLE_MAP_EVENT) & (entries["slot"] >= 0)
        for i in (np.flatnonzero(maps & (entries["notes"] & NEW_MAP > 0)) + first).tolist():
            slot = int(stretch.entries["slot"][i])
            if slot == len(self.schemas):
                self.schemas.append(None)
                maps[i - first] = False
                damages += self._resolve(slot, stretch, i, context, file)
        maps &= np.isin(entries["slot"], list(self._broken))
        for i in (np.flatnonzero(maps) + first).tolist():
            slot = int(stretch.entries["slot"][i])
            damages += self._resolve(slot, stretch, i, context, file)
        self._next = stretch.ordinal + len(stretch.entries)
        return damages

    def unmapped(self, stretch: Stretch, file: str) -> Damages:
        """What to tell of a stretch's rows without a table map."""
        missing = stretch.entries["notes"] & NO_MAP > 0
        if not self._unread and not missing.any():
            return []
        maps = stretch.entries["type"] == EventType.TABLE_MAP_EVENT
        damages: Damages = []
        for i in np.flatnonzero(maps | missing).tolist():
            table_id = int.from_bytes(stretch.body(i)[:_ID_WIDTH], "little")
            if maps[i]:  # from here on its rows can be read, or are told anew
                self._unread.discard(table_id)
            elif table_id != DUMMY_TABLE_ID:
                pos = int(stretch.positions[i])
                damages += self._tell(i, file, pos, table_id, _MISSING)
        return damages

    def _resolve(
        self, slot: int, stretch: Stretch, i: int, context: ParseContext, file: str
    ) -> Damages:
        raw = stretch.raw(i, file)
        table_map = EventParser(partial(self._failed, slot, i), context).parse(raw).body
        if not isinstance(table_map, TableMap):
            return []
        if table_map.types and not table_map.nullable:  # a server before 5.1.4
            return self._tell(i, file, raw.pos, table_map.table_id, EARLY)
        try:
            self.schemas[slot] = self._tables.schema(table_map, file, raw.pos)
        except DamageError as error:
            self._broken.add(slot)
            self.errors.append((i, error))
        return []

    def _failed(self, slot: int, i: int, error: DamageError) -> None:
        """A table map cannot be read, here and wherever it comes again."""
        self._broken.add(slot)
        self.errors.append((i, error))
        self.unparsed.append((i, error))

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
