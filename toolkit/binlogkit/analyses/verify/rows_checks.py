"""Whether every rows event has its table map, in its own statement, and statements end.

The server writes the maps of a statement's tables before its first rows event, and sets STMT_END
in its last. A rows event for the id 0xFFFFFF carries no rows and only ends a statement.
"""

from __future__ import annotations

from collections.abc import Iterator

from binlogkit.analyses.verify.finding import Finding, finding, place_of
from binlogkit.events.base import Event
from binlogkit.events.early import EarlyRows
from binlogkit.events.rows import RowsEvent, RowsFlag
from binlogkit.events.table_map import TableMap

__all__ = ["RowsChecks"]

DUMMY_TABLE_ID = 0xFFFFFF


class RowsChecks:
    """Fed with every event of a file, in order."""

    def __init__(self) -> None:
        self._maps: dict[int, TableMap] = {}
        self._earlier: dict[int, tuple[str, str]] = {}
        self._unmapped: set[int] = set()
        self._early = False
        self.in_statement = False

    @property
    def tables(self) -> list[str]:
        """The tables whose maps are open."""
        return [f"{m.db}.{m.table}" for m in self._maps.values()]

    def damaged(self) -> None:
        """Forget the open statement: a part of it is lost."""
        self._maps.clear()
        self.in_statement = False

    def feed(self, event: Event, number: int, gtid: str | None) -> Iterator[Finding]:
        """Take the next event; what it shows."""
        body = event.body
        if isinstance(body, TableMap):
            known = self._maps.get(body.table_id)
            if known is not None and known != body:
                names = f"{known.db}.{known.table}, then {body.db}.{body.table}"
                text = f"table id {body.table_id}: {names}"
                yield finding("map_changed", place_of(event, number, gtid), text)
            self._maps[body.table_id] = body
            self._earlier[body.table_id] = (body.db, body.table)
            self._unmapped.discard(body.table_id)
            self.in_statement = True
        elif isinstance(body, (RowsEvent, EarlyRows)):
            if isinstance(body, EarlyRows) and not self._early:
                self._early = True
                yield finding("unread_rows", place_of(event, number, gtid), event.type)
            yield from self._rows(event, body, number, gtid)

    def _rows(
        self, event: Event, body: RowsEvent | EarlyRows, number: int, gtid: str | None
    ) -> Iterator[Finding]:
        known = body.table_id in self._maps or body.table_id == DUMMY_TABLE_ID
        if not known and body.table_id not in self._unmapped:
            self._unmapped.add(body.table_id)
            text = f"no TABLE_MAP_EVENT for table id {body.table_id} in the statement"
            if earlier := self._earlier.get(body.table_id):
                text += f"; an earlier one of that id was {'.'.join(earlier)}"
            yield finding("rows_without_map", place_of(event, number, gtid), text)
        self.in_statement = not body.flags & RowsFlag.STMT_END
        if not self.in_statement:
            self._maps.clear()
            self._unmapped.clear()

    def transaction_ends(self, event: Event, number: int, gtid: str | None) -> Iterator[Finding]:
        """A transaction ended with this event: no statement may be open."""
        if self.in_statement:
            text = f"the transaction ends inside a statement over {', '.join(self.tables)}"
            yield finding("statement_not_ended", place_of(event, number, gtid), text)
        self.damaged()
