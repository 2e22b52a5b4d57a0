"""Where the events of a compressed payload stood, from mysqlbinlog's comments.

mysqlbinlog prints a payload's events decompressed, with ``log_pos`` 0 and, in ``# at``, the
payload's end; the payload's own ``# at``, before ``# Start of compressed events.``, is its place
(9.7.4). Each event inside has its ``# at`` line, so they can be counted; those of table maps and
rows are what a BINLOG statement then holds, in the same order.
"""

from __future__ import annotations

import re
from collections import deque

from binlogkit.constants import HEADER_LENGTH
from binlogkit.sources.loose_events import LoosePlace
from binlogkit.sources.raw import parse_header

__all__ = ["PayloadComments"]

_LINE = re.compile(
    r"^# at (?P<at>\d{1,19})\r?$"
    r"|\t(?P<payload>Transaction_Payload)\t"
    r"|^# (?P<start>Start) of compressed events"
    r"|^# (?P<end>End) of compressed events"
    r"|\t(?P<rows>Table_map|Write_rows|Update_rows|Delete_rows|Update_rows_partial):",
    re.MULTILINE | re.IGNORECASE,
)


class PayloadComments:
    """Read the text between BINLOG statements; ask for the place of each event of one."""

    def __init__(self) -> None:
        self._at = 0
        self._payload: int | None = None
        self._inside = False
        self._inner = -1
        self._waiting: deque[LoosePlace] = deque()

    def read(self, text: str) -> None:
        """Take in whole lines of text that stand outside BINLOG statements."""
        for found in _LINE.finditer(text):
            kind = found.lastgroup
            if kind == "at":
                self._at = int(found["at"])
                self._inner += self._inside
            elif kind == "payload":
                self._payload = self._at
            elif kind in ("start", "end"):
                self._inside = kind == "start" and self._payload is not None
                self._inner = -1
                self._waiting.clear()
            elif self._inside and self._payload is not None:
                self._waiting.append(LoosePlace(self._payload, self._at, self._inner))

    def place_of(self, event: bytes) -> LoosePlace | None:
        """The place of the next event, None where its own header tells it or nothing does."""
        if parse_header(event, HEADER_LENGTH).log_pos != 0:
            return None
        return self._waiting.popleft() if self._waiting else None
