"""The rows of the statement that is compared, as the log stores them, one after the other."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice

from binlogkit.analyses.conformance.stored import Key, StoredError, StoredLog, StoredRow


class StoredStatement:
    """Rows in the order in which mysqlbinlog prints a statement's.

    ``lost``: why there are no more of this statement, empty while there may be: what was cut into
    cells does not fit what is printed, or cannot be cut.
    """

    def __init__(self, log: StoredLog) -> None:
        self.lost = ""
        self._log = log
        self._keys: deque[Key] = deque()
        self._rows: Iterator[StoredRow] = iter(())
        self._ahead: deque[StoredRow] = deque()
        self._passed = 0  # rows that are taken and were not cut yet

    def event(self, key: Key) -> None:
        """The statement continues with the rows event at ``key``."""
        self._keys.append(key)

    @property
    def row(self) -> StoredRow | None:
        """The next row; None where the statement has no more, or they cannot be known."""
        return self._ahead[0] if self._fill(1) else None

    def rows(self, count: int) -> list[StoredRow] | None:
        """So many of the next rows; None where there are fewer, or they cannot be known."""
        return list(islice(self._ahead, count)) if self._fill(count) else None

    def take(self, count: int = 1) -> None:
        """Pass over the next rows."""
        while count and self._ahead:
            self._ahead.popleft()
            count -= 1
        self._passed += count

    def lose(self, why: str = "the log's bytes do not fit what is printed") -> None:
        """Which row comes next is unknown from here on."""
        self.lost = why
        self._ahead.clear()

    def end(self, last: Key) -> None:
        """The statement is over, the last of whose rows events is at ``last``."""
        self.lost, self._passed, self._rows = "", 0, iter(())
        self._ahead.clear()
        self._keys.clear()
        self._log.pass_over(last)

    def _fill(self, count: int) -> bool:
        """Hold ``count`` rows; whether there are so many."""
        try:
            while not self.lost and len(self._ahead) < count:
                row = next(self._rows, None)
                if row is not None and self._passed:
                    self._passed -= 1
                elif row is not None:
                    self._ahead.append(row)
                elif self._keys:
                    self._rows = self._log.rows(self._keys.popleft())
                else:
                    return False
        except StoredError as error:
            self.lose(str(error))
        return not self.lost
