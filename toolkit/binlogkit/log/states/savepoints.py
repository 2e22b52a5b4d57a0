"""What ROLLBACK TO SAVEPOINT undid and is still in the log, from a reading's windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from binlogkit.analyses._savepoints import EventKey, Undone, savepoint_name
from binlogkit.events.query import Query
from binlogkit.rows.ddl import StatementKind

if TYPE_CHECKING:
    from binlogkit.rows.window import Window


class Savepoints:
    """``undone``: the ranges so far, in log order."""

    def __init__(self) -> None:
        self._number = -1
        self._set: dict[str, EventKey] = {}
        self.undone: list[Undone] = []

    def feed(self, window: Window) -> None:
        """Take the next window."""
        for item in window.looked:
            if item.kind not in (StatementKind.SAVEPOINT, StatementKind.ROLLBACK_TO):
                continue
            if item.number != self._number:
                self._number, self._set = item.number, {}
            raw, body = item.event.raw, item.event.body
            assert isinstance(body, Query)
            name, place = (
                savepoint_name(body.query),
                (raw.pos, -1 if raw.inner is None else raw.inner),
            )
            if item.kind == StatementKind.SAVEPOINT:
                self._set.pop(name, None)
                self._set[name] = place
            elif name in self._set:
                start = self._set[name]
                self.undone.append(Undone(window.carrier.name, start, place))
                self._set = {n: p for n, p in self._set.items() if p <= start}
