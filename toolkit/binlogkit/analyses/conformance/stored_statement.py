"""The rows of the statement that is compared, as the log stores them, one after the other."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

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
        self._row: StoredRow | None = None

    def event(self, key: Key) -> None:
        """The statement goes on with the rows event at ``key``."""
        self._keys.append(key)

    @property
    def row(self) -> StoredRow | None:
        """The next row; None where the statement has no more, or they cannot be known."""
        try:
            while self._row is None and not self.lost:
                self._row = next(self._rows, None)
                if self._row is None and not self._keys:
                    return None
                if self._row is None:
                    self._rows = self._log.rows(self._keys.popleft())
        except StoredError as error:
            self.lose(str(error))
        return self._row

    def take(self) -> None:
        """Pass over the next row."""
        if self.row is not None:
            self._row = None

    def lose(self, why: str = "the log's bytes do not fit what is printed") -> None:
        """There is no telling which row comes next."""
        self.lost, self._row = why, None

    def end(self) -> None:
        """The statement is over."""
        self.lost, self._row, self._rows = "", None, iter(())
        self._keys.clear()
