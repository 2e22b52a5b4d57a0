"""A script's statements, cut while it is read: only the current statement is held.

The text is bytes, each as the character of its number (latin1): a dump holds binary strings beside
UTF-8, and what ends a statement is ASCII in both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum

from binlogkit.errors import LimitError
from binlogkit.limits import limit, over
from binlogkit.rows.ddl.scan import BLANK, DELIMITER, statement_end
from binlogkit.rows.ddl.session import DEFAULT_MODE, SqlMode

_CHUNK = 1 << 20


class ScriptPart(Enum):
    """What a piece of a script is; CUT: a statement that has no end."""

    COMMENT = 0
    STATEMENT = 1
    CUT = 2


class ScriptStream:
    """The comments between statements, and the statements, as the mysql client splits them.

    ``read``: gives at most so many bytes, none at the end; ``mode`` can be set between two
    statements, as the script itself can. LimitError: a statement over the limit DUMP_STATEMENT.
    """

    def __init__(self, read: Callable[[int], bytes], mode: SqlMode = DEFAULT_MODE) -> None:
        self.mode = mode
        self._read = read
        self._delimiter = ";"

    def __iter__(self) -> Iterator[tuple[ScriptPart, str]]:
        text, position, ended = "", 0, False
        while not ended or position < len(text):
            found = self._next(text, position, ended)
            if found is not None:
                part, end, position = found
                if part is not None:
                    yield part, end
                continue
            text, position = text[position:], 0
            if len(text) > (most := limit("DUMP_STATEMENT")):
                what = f"a statement of the dump is longer than {most} bytes"
                raise LimitError(over("DUMP_STATEMENT", what))
            # As much again as was looked at in vain: the work stays linear.
            more = self._read(max(_CHUNK, len(text)))
            text, ended = text + more.decode("latin-1"), not more

    def _next(self, text: str, at: int, ended: bool) -> tuple[ScriptPart | None, str, int] | None:
        """The next piece and where the one after it begins; None: more must be read first."""
        blank = BLANK.match(text, at)
        if blank is not None:
            whole = ended or blank.end() < len(text)
            return (ScriptPart.COMMENT, blank.group(), blank.end()) if whole else None
        command = DELIMITER.match(text, at)
        if command is not None:
            if command.end() == len(text) and not ended:
                return None
            self._delimiter = command.group(1)
            return None, "", command.end()
        end, after = statement_end(text, at, self._delimiter, self.mode)
        if after > end:
            return (ScriptPart.STATEMENT if end > at else None), text[at:end], after
        return (ScriptPart.CUT, text[at:], len(text)) if ended and at < len(text) else None
