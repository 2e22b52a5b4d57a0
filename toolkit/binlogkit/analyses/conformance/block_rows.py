"""Rows in batches, compared with mysqlbinlog's text as bytes, block by block.

A block is judged so where its bytes are what mysqlbinlog prints and everything else that is said of
its rows is what it must be; whatever differs is read, and judged by row_groups.py. How many rows a
block has adapts to how often that is.
"""

from __future__ import annotations

from binlogkit.analyses.conformance.our_batches import OurBatches, RowBlock
from binlogkit.analyses.conformance.printed import LineSource
from binlogkit.analyses.conformance.printed_transaction import AT_THE_END
from binlogkit.analyses.conformance.result import Differences
from binlogkit.analyses.conformance.row_groups import RowGroups
from binlogkit.analyses.conformance.rule import Kind

_MOST = 4096
_LONGEST_PAUSE = 64


class BlockRows:
    """``groups``: what judges the others; ``findings``: where differences are counted."""

    def __init__(self, ours: OurBatches, groups: RowGroups, findings: Differences) -> None:
        self._ours = ours
        self._groups = groups
        self._findings = findings
        self._most = _MOST
        self._pause = 0  # rows that are read before the next block is tried
        self._next_pause = 1

    def take(self, lines: LineSource) -> None:
        """Judge the next rows, as long as their lines are what must be printed of them."""
        if self._pause:
            self._pause -= 1
            return
        if not self._groups.settled():
            return
        while (line := lines.peek()) is not None and line.startswith(b"### "):
            block = self._ours.block(self._groups.last, self._most, self._groups.tables)
            if block is not None and self._judge(block, lines):
                self._most, self._next_pause = min(2 * self._most, _MOST), 1
            elif block is not None and len(block) > 1:
                self._most = len(block) // 8 or 1
            else:
                self._pause = self._next_pause
                self._next_pause = min(2 * self._next_pause, _LONGEST_PAUSE)
                return

    def _judge(self, block: RowBlock, lines: LineSource) -> bool:
        kind = Kind.REPRESENTATION
        if any(self._findings.wants(kind, rule) for rule in block.rules):
            return False  # the frame keeps the first of each
        if not self._in_place(block):
            return False
        by_bytes = self._by_bytes(block) if block.digits else 0
        if by_bytes is None or not lines.take_rows(block.text):
            return False
        for rule, count in block.rules.items():
            self._findings.count(kind, rule, count)
        self._ours.pass_over(block)
        self._groups.judged(block.last, len(block), block.cells, by_bytes)
        return True

    def _in_place(self, block: RowBlock) -> bool:
        """Whether the rows say rightly where they stand, and what their event and its transaction
        are."""
        if not block.alike:
            return False
        table = block.table
        for run in block.runs():
            event = self._groups.event_at(run.key)
            if event is None or any(run.values[name] != v for name, v in event.values.items()):
                return False
            for name in AT_THE_END:
                event.transaction.claim(name, run.values[name], run.key, run.number)
            if run.number != self._groups.next_number(run.key):
                return False
            if run.number == 0 and any(self._groups.misnamed(event, table)):
                return False
        return True

    def _by_bytes(self, block: RowBlock) -> int | None:
        """How many cells, all, are what the log stores where the text has not all digits; None:
        they are judged one by one."""
        rows = self._groups.stored.rows(len(block))
        if rows is None or [row.op for row in rows] != block.ops():
            return None
        for name, images in (("before", [r.old for r in rows]), ("after", [r.new for r in rows])):
            there, forms = block.forms(name)
            stored = [image for image in images if image is not None]
            if [image is not None for image in images] != there:
                return None
            if b"".join(image.form for image in stored) != forms:
                return None
            if b"".join(image.digits for image in stored) != block.stored_digits(name):
                return None
        return sum(int(digits.there.sum()) for digits in block.digits)
