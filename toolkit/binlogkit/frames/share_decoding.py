"""The rows of a log decoded share by share: one after the other, or several at once in threads.

A share is some megabytes of events, and of not too many tables; it becomes a window, or a few.
The log and the limits alone decide where shares and windows end, not the number of threads.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from binlogkit.errors import DamageError, UsageError
from binlogkit.frames.kernel_columns import TakenBuffers
from binlogkit.rows.schema import TableSchema
from binlogkit.rows.window import Window
from binlogkit.sources.tasks import Submit, Task

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from binlogkit._kernel.native.batch import RowsPass
    from binlogkit._kernel.native.builder import TableBuilder

SHARE_BYTES = 4 << 20  # of events, after which a share is closed
SHARE_BYTES_A_TABLE = 8 << 10  # more of them for each table, so that its batch has some rows
SHARE_MOST, SHARE_MOST_SORTED = 48 << 20, 16 << 20  # bytes of events
SHARE_COLUMNS = 250_000  # of all its tables
_CELLS_APART = 4 << 20  # bytes of events between two looks at how many cells there are
_MOST_CELLS = 8 << 20  # of all tables in a window
_AT_ONCE_TABLES = 64  # of a window whose arrays are made when it is decoded
AT_ONCE = 32 << 20  # bytes of windows after which a thread waits until they are taken
_MOST_THREADS, _MOST_ASKED = 4, 99
_SMALL = 48 << 20  # bytes of logs that one thread has read when others have only begun
_VARIABLE = "BINLOGKIT_THREADS"

Found: TypeAlias = "DecodedShare | Faulty | list[DamageError]"
# By the identity of a schema, which a reading keeps one of, and the server's version.
Builders: TypeAlias = "dict[tuple[int, str], tuple[TableSchema, TableBuilder]]"


def thread_count(asked: int | None, size: int | None = None) -> int:
    """How many threads decode: as asked for, as the environment says, else one for each processor
    that this process may use, up to four.

    ``size``: of the logs; small ones are read sooner by one. UsageError: it is no such number.
    """
    if asked is not None:
        if not 0 < asked <= _MOST_ASKED:
            raise UsageError(f"threads is a number from 1 to {_MOST_ASKED}, not {asked}")
        return asked
    text = os.environ.get(_VARIABLE)
    if text is None:
        if size is not None and size < _SMALL:
            return 1
        usable = getattr(os, "sched_getaffinity", None)
        count = len(usable(0)) if usable else os.cpu_count() or 1
        return min(count, _MOST_THREADS)
    if not (text.isascii() and text.isdecimal() and len(text) <= 2 and int(text)):
        raise UsageError(f"{_VARIABLE} is a number from 1 to {_MOST_ASKED}, not {text!r}")
    return int(text)


@dataclass(slots=True)
class SharePart:
    """Events of one window, up to entry ``last``, of ``size`` bytes.

    ``builders``: by slot, None for a table that is not wanted; ``damages``: what the reading met
    there, with the entries; ``kept``: whether the stretch was kept and is to be let go.
    """

    window: Window
    rows: RowsPass
    last: int
    size: int
    builders: list[TableBuilder | None]
    damages: list[tuple[int, DamageError]]
    kept: bool = False


@dataclass(slots=True)
class DecodedShare:
    """A window: what was taken of some tables' changes; ``last``: the last transaction in it."""

    share: Share
    tables: deque[TakenBuffers]
    size: int
    last: int


@dataclass(slots=True)
class Faulty:
    """An event whose rows could not be read to its end: entry ``i`` of a part, and why."""

    part: SharePart
    i: int
    said: tuple[int, ...]


@dataclass(slots=True)
class Share:
    """Parts that are decoded together into ``builders``.

    ``ordinal``, ``tx``: of the first event, and its transaction; ``size``, ``tables`` (by
    identity), ``columns``: what fills it; ``most``: bytes that it takes at most; ``closed``: no
    part comes any more; ``done``: everything was handed over.
    """

    builders: Builders
    stop_at_fault: bool
    ordinal: int
    tx: int
    most: int = SHARE_MOST
    size: int = 0
    columns: int = 0
    tables: set[int] = field(default_factory=set)
    closed: bool = False
    done: bool = False
    parts: deque[SharePart] = field(default_factory=deque)
    decoded: list[SharePart] = field(default_factory=list)
    started: bool = False  # by a worker, which continues it
    running: Task[list[Found]] | None = None
    unseen: int = 0  # bytes of events that were decoded since the cells were counted

    @property
    def full(self) -> bool:
        """Whether it is to be closed."""
        wanted = min(SHARE_BYTES + SHARE_BYTES_A_TABLE * len(self.tables), self.most)
        return self.size >= wanted or self.columns >= SHARE_COLUMNS

    def run(self, most: int) -> list[Found]:
        """Decode on, until there are windows of ``most`` bytes, or no more parts."""
        found: list[Found] = []
        size = 0
        while self.parts:
            part = self.parts[0]
            said = part.rows.run(part.builders, part.last)
            if said is None:
                found += _met(part, part.last)
                self.parts.popleft()
                if part.kept:
                    self.decoded.append(part)
                self.unseen += part.size
                if not self._has_enough():
                    continue
            elif len(said) > 1:
                if self.stop_at_fault:
                    found += self._taken()
                    self.done = True
                found += _met(part, part.rows.entry - 1)
                found.append(Faulty(part, part.rows.entry - 1, said))
                if self.done:
                    return found
                continue
            for window in self._taken():
                found.append(window)
                size += window.size
            if size >= most:
                return found
        if self.closed:
            found += self._taken()
            self.done = True
        return found

    def _has_enough(self) -> bool:
        """Whether the builders hold as many cells as a window has at most."""
        if self.unseen < _CELLS_APART:
            return False
        self.unseen = 0
        held = (builder.rows * len(schema.columns) for schema, builder in self.builders.values())
        return sum(held) >= _MOST_CELLS

    def _taken(self) -> list[DecodedShare]:
        """What the builders hold."""
        tables = [TakenBuffers(*pair) for pair in self.builders.values() if pair[1].rows]
        if not tables:
            return []
        tables.sort(key=lambda taken: taken.runs.first_seq)
        if len(tables) <= _AT_ONCE_TABLES:
            for taken in tables:
                taken.columns()
        size = sum(taken.size for taken in tables)
        last = max(taken.runs.last_tx for taken in tables)
        return [DecodedShare(self, deque(tables), size, last)]

    def release(self) -> None:
        """Let go of the buffers that its parts stand on."""
        for part in (*self.decoded, *self.parts):
            if part.kept and part.window.stretch is not None:
                part.window.stretch.let_go()
        self.decoded.clear()
        self.parts.clear()


def _met(part: SharePart, i: int) -> list[Found]:
    """What the reading met up to entry ``i``, which it stands before or in."""
    found = [error for n, error in part.damages if n <= i]
    part.damages = part.damages[len(found) :]
    return [found] if found else []


class Workers:
    """What runs shares: the caller and ``threads - 1`` threads of a pool, of which none is left
    after ``close``.

    The caller runs unstarted work itself instead of waiting, and while another thread is at it,
    what comes next: two threads are busy with two processors, and none of them waits for a third.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._pool: ThreadPoolExecutor | None = None
        self._newest: Share | None = None

    @property
    def ahead(self) -> int:
        """How many shares are in hand before the first of them is taken."""
        return self.threads if self.threads > 1 else 0

    @property
    def submit(self) -> Submit | None:
        """What lets a call be made in another thread."""
        return self._submit if self.threads > 1 else None

    def _submit(self, call: Callable[[], Any]) -> Task[Any]:
        if self._pool is None:
            from concurrent.futures import ThreadPoolExecutor

            self._pool = ThreadPoolExecutor(self.threads - 1, "binlogkit")
        return Task(self._pool, call, self._decode_newest)

    def _decode_newest(self) -> None:
        """What the caller does sooner than to read: its bytes are the last that it has seen."""
        if self._newest is not None and self._newest.running is not None:
            self._newest.running.claim()

    def start(self, share: Share) -> None:
        """Let a closed share be decoded; the last one of a log is left to the caller."""
        if self.threads > 1:
            share.started, self._newest = True, share
            share.running = self._submit(partial(share.run, AT_ONCE))

    def result(self, share: Share, later: Iterable[Share] = ()) -> list[Found]:
        """What a share gives next; ``later``: those after it."""
        running, share.running = share.running, None
        if running is None:
            return share.run(1)
        if not running.claim():
            for other in later:
                if running.done:
                    break
                if other.running is not None:
                    other.running.claim()
        return running.result()

    def close(self) -> None:
        """End the threads; what they are at is finished first."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
