"""Lines with lookahead, without reading further ahead than asked."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

__all__ = ["LineSource"]


class LineSource:
    """The lines of a text, as bytes without line ends.

    ``number``: how many lines were taken. Text lines are read as UTF-8 with surrogate escapes, so
    that text which was decoded that way gives its bytes back.
    """

    def __init__(self, lines: Iterable[bytes | str]) -> None:
        self._lines: Iterator[bytes | str] = iter(lines)
        self._ahead: deque[bytes] = deque()
        self.number = 0

    def peek(self, distance: int = 0) -> bytes | None:
        """The line ``distance`` lines ahead (0: the next one), None behind the end."""
        while len(self._ahead) <= distance:
            line = next(self._lines, None)
            if line is None:
                return None
            self._ahead.append(_clean(line))
        return self._ahead[distance]

    def take(self) -> bytes:
        """The next line; ``StopIteration`` never: call it only after ``peek``."""
        line = self._ahead.popleft() if self._ahead else _clean(next(self._lines))
        self.number += 1
        return line

    def give_back(self, line: bytes) -> None:
        """Put a line in front of the rest: the tail of the line just taken."""
        self._ahead.appendleft(line)
        self.number -= 1


def _clean(line: bytes | str) -> bytes:
    raw = line.encode("utf-8", "surrogateescape") if isinstance(line, str) else line
    return raw[:-1] if raw.endswith(b"\n") else raw
