"""Events or rows next to each other that only one side has: one difference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from binlogkit.analyses.conformance.our_records import Key, Record
from binlogkit.analyses.conformance.result import Differences
from binlogkit.analyses.conformance.rule import Difference


@dataclass(slots=True)
class OneSided:
    """``lacking``: ours lacks them; ``key``, ``row``, ``first``, ``record``: of the first, what it
    is in words and what it says; ``last``: the last one in words."""

    lacking: bool
    key: Key
    row: int | None
    first: str
    last: str
    record: Record | None = None
    count: int = 1

    def called(self, what: str) -> str:
        """All in words; ``what``: row or event."""
        if self.count == 1:
            return self.first
        return f"{self.count} {what}s, the first: {self.first}, the last: {self.last}"


class Neighbours:
    """Puts together what comes one after the other. ``difference``: the difference that they are;
    ``rows``: whether they are counted as rows."""

    def __init__(
        self,
        findings: Differences,
        difference: Callable[[OneSided], Difference],
        *,
        rows: bool = True,
    ) -> None:
        self._findings, self._difference, self._rows = findings, difference, rows
        self._open: OneSided | None = None

    def add(self, one: OneSided) -> None:
        """The next one."""
        if self._open is not None and self._open.lacking == one.lacking:
            self._open.count, self._open.last = self._open.count + 1, one.last
        else:
            self.end()
            self._open = one

    def end(self) -> None:
        """Report those that wait: something else follows."""
        one, self._open = self._open, None
        if one is not None:
            if self._rows:
                lacking = one.count * one.lacking
                self._findings.alone(lacking=lacking, invented=one.count - lacking)
            self._findings.report(one.key, one.row, self._difference(one))
