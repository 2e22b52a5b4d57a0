"""Whether each before image has the values that the log last gave its row.

A before image shows the row as the server found it. Where it differs from what the row's last
change left, something changed the row without being logged. Images are compared by digests
(``_kernel/native/digests.pxd``), of which 16 bytes a row are kept in a table that is between a
third and three quarters full; from :data:`IN_MEMORY` on it lies in a temporary file.
"""

from __future__ import annotations

import mmap
import re
import tempfile
from collections.abc import Mapping
from enum import IntEnum
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from binlogkit._kernel.native import continuity
from binlogkit.errors import printable
from binlogkit.frames.schema import DIGESTS
from binlogkit.rows.filters import backquoted

Digests = NDArray[np.uint64]

IN_MEMORY = 256 << 20  # bytes of one table's rows
_LEAST = 64  # rows that there is room for at first
_ROW = 16  # bytes
_PLAIN = re.compile(r"[^`=][^=]*")
_WORDS = 3  # of an image's digests: the key's first


class Break(IntEnum):
    """How a change does not continue what is known of its row."""

    CHANGED = continuity.CHANGED  # it differs from what its last change left
    APPEARED = continuity.APPEARED  # it exists, although it was deleted or never inserted
    MADE_AGAIN = continuity.MADE_AGAIN  # it is inserted, although it exists


def sentence(
    kind: Break,
    columns: Mapping[str, tuple[Any, Any]],
    since: str = "",
    *,
    gone: str = "was never inserted",
    keyless: bool = False,
) -> str:
    """How a row's change does not continue what was known of it.

    ``columns``: the differing ones: what was known, what the image has; ``since``: `` by`` the
    row's last change; ``gone``: why there should be no such row; ``keyless``: rows have no key.
    """
    if kind == Break.MADE_AGAIN:
        return f"it is inserted, although it exists{since}"
    if kind == Break.APPEARED and keyless:
        return "more rows equal to it were removed than the log has"
    if kind == Break.APPEARED:
        return f"it exists, although it {gone}"
    if not columns:  # it had another key, or its table another name, when it was last changed
        return f"it is not as it was left{since}"
    left = listed({name: was for name, (was, _) in columns.items()})
    shown = listed({name: now for name, (_, now) in columns.items()})
    return f"left as {left}{since}, it is found as {shown}"


def listed(values: Mapping[str, Any]) -> str:
    """Values of columns, safe to print; odd names as ``erase --row`` takes them."""
    names = (n if _PLAIN.fullmatch(n) else backquoted(n) for n in values)
    pairs = zip(names, values.values(), strict=True)
    return ", ".join(f"{name}={printable(str(value))}" for name, value in pairs)


class KnownRows:
    """What is known of the rows of one table.

    ``complete``: a row that is not known does not exist. ``keyless``: rows have no key; then only
    complete rows are known, as counts of equal rows. ``since``: the place from which on they are
    known, for those who note it; ``doubted``: whether changes since then may have happened or not;
    ``lacking``: of the changes that were taken last those with an image of all columns, or all but
    BLOBs, where not all of them are known: each as its place in the batch, and its key's digest.
    """

    keyless = False

    def __init__(self) -> None:
        # Places in use, rows that are gone, images compared, rows whose key is not known.
        self._tally = np.zeros(4, np.int64)
        self.forget()

    @property
    def compared(self) -> int:
        """How many before images were compared with what was known of the row."""
        return int(self._tally[2])

    @property
    def unidentified(self) -> bool:
        """Whether a row cannot be distinguished from others, since its image lacks columns."""
        return bool(self._tally[3])

    def forget(self, *, empty: bool = False) -> None:
        """Forget everything; ``empty``: the table is known to have no rows."""
        self.complete = empty
        self.since: int | None = None
        self.doubted = False
        self.lacking: list[tuple[int, int]] = []
        self._memory = memoryview(bytearray(_LEAST * _ROW))
        self._tally[[0, 1, 3]] = 0

    def doubt(self, batch: pa.RecordBatch) -> None:
        """The rows of these changes may have been changed, or not."""
        self.doubted = True
        if self.keyless:
            self.forget()
            return
        for side in range(2):
            images, at = digests(batch, side), 0
            while at < len(images):
                at = continuity.doubt(self._memory, self._tally.data, images.data, at)
                if at < len(images):
                    self._grow()

    def feed(self, batch: pa.RecordBatch) -> list[tuple[int, Break, int]]:
        """Take counted changes in log order; returns those that do not continue what is known.

        Each as its place in the batch, how, and its key's digest.
        """
        self.lacking = []
        was, now = (digests(batch, side) for side in range(2))
        if ((was[:, 0] != 0) & (was[:, 0] & 1 == 0)).any():
            self.forget()  # it is not known which rows were changed
            return []
        if self.keyless and not self.complete:
            return []
        at, found = 0, []
        while at < len(was):
            at, broken = continuity.take_changes(
                self._memory, self._tally.data, was.data, now.data, at, self.complete, self.keyless
            )
            for place, how, key in broken:
                if how == continuity.LACKING:
                    self.lacking.append((place, key))
                else:
                    found.append((place, Break(how), key))
            if at < len(was):
                self._grow()
        return found

    def _grow(self) -> None:
        """Make room; deleted rows are kept if unknown rows may exist."""
        used, gone = self._tally[:2].tolist()
        size = len(self._memory)
        if not (self.complete and 2 * gone > used):
            size *= 2
        new = _room(size)
        continuity.move(self._memory, new, self._tally.data, not self.complete)
        self._memory = new


def _room(size: int) -> memoryview:
    """Zeroed memory, or a temporary file."""
    if size <= IN_MEMORY:
        return memoryview(mmap.mmap(-1, size))
    with tempfile.TemporaryFile(prefix="binlogkit-") as file:
        file.truncate(size)
        return memoryview(mmap.mmap(file.fileno(), size))


def digests(batch: pa.RecordBatch, side: int) -> Digests:
    """The digests of one side's images, 0 where there is none."""
    column = batch[DIGESTS[side]]
    if column.null_count == len(column):
        return np.zeros((len(column), _WORDS), np.uint64)
    end = (column.offset + len(column)) * _WORDS
    words = np.frombuffer(column.buffers()[1], np.uint64, end).reshape(-1, _WORDS)
    found = words[column.offset :]
    if column.null_count:
        found = np.where(np.asarray(column.is_valid())[:, None], found, np.uint64(0))
    return found
