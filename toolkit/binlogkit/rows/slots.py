"""The schemas of a reading's table maps, by the slots that the kernel's scan gives them.

A slot is a map's body as long as no table changes: when one does, maps that come get new slots
(``TableMaps.renew``), and rows whose map stood before the change keep theirs.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from binlogkit._kernel.cursor import Cursor
from binlogkit._kernel.native.scan import Scanner
from binlogkit.constants import EventType, TableId
from binlogkit.errors import DamageError, MalformedEventError
from binlogkit.events.base import ParseContext
from binlogkit.events.reader import EventParser
from binlogkit.events.table_map import TableMap
from binlogkit.rows.schema import TableSchema
from binlogkit.rows.table_history import TableHistory
from binlogkit.rows.window import NEW_MAP, NO_MAP, Stretch

# A rows event for this id carries no rows: it only ends a statement (server's sources, rpl).
DUMMY_TABLE_ID = 0xFFFFFF
EARLY = (
    "the rows for table id {table_id} cannot be read: logs before 5.1.18 do not say how they "
    "are stored (events/early.py)"
)
_MISSING = (
    "no TABLE_MAP_EVENT for table id {table_id} before it: the log begins inside a statement, and "
    "its rows for this id cannot be read"
)
_ID_WIDTH, _POST_HEADER = 6, 8

Damages = list[tuple[int, DamageError]]


class Slots:
    """The tables of a reading's maps.

    ``schemas``: by slot, None for one whose table is not known; ``errors``: of the stretch's table
    maps whose rows cannot be read, with their entries.
    """

    def __init__(self, tables: TableHistory, scanner: Scanner) -> None:
        self._tables = tables
        self._scanner = scanner
        self.schemas: list[TableSchema | None] = []
        self.errors: Damages = []
        self._broken: set[int] = set()  # slots of such maps
        self._next = 0  # the first event that was not looked at for them
        self._early: set[int] = set()  # slots of maps of before 5.1.4
        self._early_rows: dict[int, int] = {}  # entries with rows of before 5.1.18: table ids
        self._unread: set[int] = set()  # table ids of rows that were reported to be unreadable

    def forget_unread(self) -> None:
        """Report anew table ids whose rows cannot be read."""
        self._unread.clear()

    def renew(self) -> None:
        """Tables have changed: maps that come are resolved anew."""
        kept = self._scanner.maps.renew()
        self.schemas = [self.schemas[slot] for slot in kept]
        self._broken = {i for i, slot in enumerate(kept) if slot in self._broken}
        self._early = {i for i, slot in enumerate(kept) if slot in self._early}

    def resolve_anew(self) -> None:
        """The log turns out to be another server's: its maps that were scanned keep their slots,
        and none of them is a table of the server before."""
        self.schemas = [None] * len(self.schemas)
        self._broken, self._early = set(range(len(self.schemas))), set()

    @property
    def complete(self) -> bool:
        """Whether every slot that there is was resolved."""
        return len(self.schemas) == self._scanner.maps.count and not self._broken

    def resolve(self, stretch: Stretch, context: ParseContext, file: str) -> None:
        """Resolve the maps of a stretch that are new."""
        if self.complete:
            return
        self.schemas = [*self.schemas]  # windows have the list as it was
        first = max(self._next - stretch.ordinal, 0)
        entries = stretch.entries[first:]
        maps = (entries["type"] == EventType.TABLE_MAP_EVENT) & (entries["slot"] >= 0)
        for i in (np.flatnonzero(maps & (entries["notes"] & NEW_MAP > 0)) + first).tolist():
            slot = int(stretch.entries["slot"][i])
            if slot == len(self.schemas):
                self.schemas.append(None)
                maps[i - first] = False
                self._resolve(slot, stretch, i, context, file)
        maps &= np.isin(entries["slot"], list(self._broken))
        for i in (np.flatnonzero(maps) + first).tolist():
            self._resolve(int(stretch.entries["slot"][i]), stretch, i, context, file)
        self._next = stretch.ordinal + len(stretch.entries)

    def _resolve(
        self, slot: int, stretch: Stretch, i: int, context: ParseContext, file: str
    ) -> None:
        raw = stretch.raw(i, file)
        table_map = EventParser(partial(self._failed, slot, i), context).parse(raw).body
        if not isinstance(table_map, TableMap):
            return
        if table_map.types and not table_map.nullable:
            self._early.add(slot)
            return
        try:
            self.schemas[slot] = self._tables.schema(table_map, file, raw.pos)
            self._broken.discard(slot)
        except DamageError as error:
            self._broken.add(slot)
            self.errors.append((i, error))

    def _failed(self, slot: int, i: int, error: DamageError) -> None:
        """A table map cannot be read, here and wherever it comes again."""
        self._broken.add(slot)
        self.errors.append((i, error))

    def early_rows(self, i: int, table_id: int) -> None:
        """Take note of rows in the form of before 5.1.18."""
        self._early_rows[i] = table_id

    def unreadable(self, stretch: Stretch, file: str) -> Damages:
        """What to report of a stretch's rows that cannot be read though framing is intact: once
        for each table id, until a map says what it stands for."""
        entries, early_rows = stretch.entries, self._early_rows
        self._early_rows = {}
        missing = entries["notes"] & NO_MAP > 0
        if not (self._unread or self._early or early_rows or missing.any()):
            return []
        maps = (entries["type"] == EventType.TABLE_MAP_EVENT) & (entries["slot"] >= 0)
        missing[list(early_rows)] = True
        damages: Damages = []
        for i in np.flatnonzero(maps | missing).tolist():
            slot = int(entries["slot"][i])
            table_id = early_rows.get(i)
            reason = EARLY if table_id is not None or slot in self._early else _MISSING
            if table_id is None:
                table_id = int.from_bytes(stretch.body(i)[:_ID_WIDTH], "little")
            if maps[i] and slot not in self._early:
                if self.schemas[slot] is not None:
                    self._unread.discard(table_id)
            elif table_id not in self._unread and (reason == EARLY or table_id != DUMMY_TABLE_ID):
                self._unread.add(table_id)
                text = reason.format(table_id=table_id)
                pos = int(stretch.positions[i])
                damages.append((i, MalformedEventError(file, pos, text, "table_id")))
        return damages


def table_name(stretch: Stretch, slot: int) -> TableId:
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
