"""Where a dump says that its rows belong: statements and comments with coordinates.

mysqldump's ``--source-data`` (``--master-data``) and ``--dump-replica`` write CHANGE MASTER TO,
since 8.2 CHANGE REPLICATION SOURCE TO; ``--set-gtid-purged`` writes GTID_PURGED; each may stand in
a comment.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from binlogkit.errors import UsageError
from binlogkit.events.gtid_set import GtidSet

_CHANGE = re.compile(r"\A(?:--\s+)?CHANGE\s+(?:MASTER|REPLICATION\s+SOURCE)\s+TO\b", re.I)
_FILE = re.compile(r"\b(?:MASTER|SOURCE)_LOG_FILE\s*=\s*'([^'\\]{1,512})'", re.I)
_POS = re.compile(r"\b(?:MASTER|SOURCE)_LOG_POS\s*=\s*(\d{1,19})\b", re.I)
_PURGED = re.compile(
    r"\A(?:/\*\s*|--\s+)?SET\s+@@GLOBAL\.GTID_PURGED\s*=\s*(?:/\*!80000\s*'\+'\s*\*/)?\s*"
    r"'\+?([^'\\]*)'",
    re.I,
)


@dataclass(slots=True)
class Coordinates:
    """What a dump has said so far: places, and GTID sets; ``hint``: what makes it say them."""

    hint: str = ""
    places: set[tuple[str, int]] = field(default_factory=set)
    sets: list[GtidSet] = field(default_factory=list)
    unread: bool = False

    def take(self, text: str) -> None:
        """Take a statement or a comment."""
        text = text.strip()
        if _CHANGE.match(text):
            file, pos = _FILE.search(text), _POS.search(text)
            self.add(file[1] if file else "?", pos[1] if pos else None, None)
            return
        purged = _PURGED.match(text)
        if purged is not None:
            self._add_set(purged[1])

    def add(self, file: object, pos: object, gtids: object) -> None:
        """Take a place and a GTID set as they are written, None or empty where there is none."""
        if file:
            written = str(pos)
            if isinstance(file, str) and written.isascii() and written.isdecimal():
                self.places.add((file, int(written)))
            else:
                self.unread = True
        if gtids:
            self._add_set(str(gtids))

    def _add_set(self, text: str) -> None:
        try:
            self.sets.append(GtidSet.parse(text))
        except UsageError:
            self.unread = True

    def found(self) -> tuple[tuple[str, int] | None, GtidSet | None, str | None]:
        """The place, the set, and why there is neither."""
        if self.unread:
            return None, None, "its coordinates cannot be read"
        if len(self.places) > 1 or any(one != self.sets[0] for one in self.sets):
            return None, None, "it has several coordinates"
        place = next(iter(self.places), None)
        gtids = self.sets[0] if self.sets else None
        missing = place is None and gtids is None
        return place, gtids, f"it has no coordinates{self.hint}" if missing else None
