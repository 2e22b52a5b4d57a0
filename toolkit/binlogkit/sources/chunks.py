"""A log's bytes in reused buffers, for the kernel's scan.

What reads a buffer later, in another thread, borrows it; the next bytes then go to another one.
With ``ahead`` another thread reads them while these are scanned.
"""

from __future__ import annotations

import io
import mmap
from contextlib import suppress
from functools import partial
from typing import BinaryIO, TypeAlias, cast

from binlogkit.errors import DamageError, LimitError
from binlogkit.sources.growing import is_growing
from binlogkit.sources.layers import Lookahead, read_into
from binlogkit.sources.tasks import Submit, Task

SIZE = 8 << 20
_FIRST = 1 << 16  # bytes of the buffer before there are more in the log
_AFTER_SKIPPED = 1 << 20  # bytes read first there: the next damage may be near
_HEAD = 32  # the part of a buffer in front of what is read, for an event that was cut
_SPARE = 8  # buffers that nobody uses and that are kept for the next bytes
_SIZE_AT = 9  # where an event's header has the event's size
_SLACK = 64 << 10

Buffer: TypeAlias = "bytearray | mmap.mmap"


class Chunks:
    """``buffer[start:end]`` holds the bytes that were not taken yet; ``origin``: the log's offset
    of the buffer's first byte.

    The buffer grows only where one event fills it, by bytes that are there and up to what the event
    claims, and is of its usual size again after it. ``failure``: what ended the bytes before the
    file's end (a damaged compression); those before it are given. Of a file that is ``growing``
    what is there is taken, without waiting for more (sources/growing.py).
    """

    def __init__(
        self,
        file: BinaryIO,
        used: Chunks | None = None,
        ahead: Submit | None = None,
        expected: int = SIZE,
        size: int | None = None,
        head: bool = False,
    ) -> None:
        """``used``: chunks that are done with, whose buffers serve again, after what they hold
        where the bytes ``expected`` fit there; ``ahead``: lets a call be made in another thread;
        ``size``: of the file, where it is known, up to which no small buffer is tried first;
        ``head``: whether little is wanted of it before it is skipped."""
        self._file = file
        self._submit = ahead
        self._coming: tuple[Buffer, Task[int]] | None = None
        self._begun = self._ended = False
        self._growing = is_growing(file)
        self.failure: DamageError | LimitError | None = None
        self._most = _FIRST if head else None  # bytes to read next; None: as many as there is room
        self._spare: list[Buffer] = []
        self._lent: dict[int, int] = {}
        self.buffer: Buffer = bytearray()
        self.start: int = 0
        self.end: int = 0
        if used is not None:
            self._spare, self._lent = used._spare, used._lent
            self.buffer, used.buffer = used.buffer, self.buffer
            if len(self.buffer) == SIZE and expected <= SIZE - used.end:
                self.start = used.end
        self.end, self.origin = self.start, -self.start
        fit = 0 < len(self.buffer) <= SIZE and id(self.buffer) not in self._lent
        first = max(_FIRST, (size or 0) + 1)  # one more, so that the end is met
        if not self.start and not fit:
            self.buffer = self._another(min(first, SIZE, self._most or SIZE))

    def lend(self) -> Buffer:
        """The buffer, which stays as it is until it is given back as often as it was lent."""
        self._lent[id(self.buffer)] = self._lent.get(id(self.buffer), 0) + 1
        return self.buffer

    def give_back(self, buffer: Buffer) -> None:
        """Take a buffer that was lent."""
        left = self._lent.pop(id(buffer)) - 1
        if left:
            self._lent[id(buffer)] = left
        elif buffer is not self.buffer:
            self._keep(buffer)

    def close(self) -> None:
        """Nothing more is read; what is being read ahead is waited for."""
        coming, self._coming = self._coming, None
        if coming is not None:
            coming[1].give_up()

    def skip_to(self, offset: int) -> None:
        """Continue with the bytes from ``offset`` of the log on; its file can seek."""
        self.close()
        self._file.seek(offset)
        self.start = self.end = 0
        self.origin, self._ended, self.failure = offset, False, None
        self._most = _AFTER_SKIPPED

    def rest(self, offset: int, before: bytes = b"") -> BinaryIO:
        """What begins at ``offset``, which is still held, up to the file's end, and ``before`` in
        front of it: to be read once."""
        held = [before, bytes(memoryview(self.buffer)[offset - self.origin : self.end])]
        coming, self._coming = self._coming, None
        if coming is not None:
            front = SIZE // _HEAD
            held.append(bytes(memoryview(coming[0])[front : front + coming[1].result()]))
        self.start = self.end
        return cast(BinaryIO, _Rest(self._file, b"".join(held), self.failure))

    def more(self) -> bool:
        """Read on after what was not taken; whether anything came."""
        left, front = self.end - self.start, SIZE // _HEAD
        coming, self._coming = self._coming, None
        if self._ended and coming is None:
            return False
        count = 0 if coming is None else coming[1].result()
        if not self._begun:
            self._begin()
        elif left > front:
            self._add_room(left)
            if coming is not None:
                self.buffer[left : left + count] = memoryview(coming[0])[front : front + count]
                self._keep(coming[0])
            self.end += count
            self.end += self._fill(self.end)
        else:
            rest = bytes(memoryview(self.buffer)[self.start : self.end])
            start = front - left
            fresh = self._room() if coming is None else coming[0]
            if coming is None:
                count = self._fill(front, fresh, self._most)
                self._most = None
            fresh[start:front] = rest
            if fresh is not self.buffer:
                self._keep(self.buffer)
            self.origin += self.start - start
            self.buffer, self.start, self.end = fresh, start, front + count
        came = self.end - self.start > left
        if self._submit is not None and not self._ended and self._most is None:
            buffer = self._another()
            self._coming = buffer, self._submit(partial(self._fill, front, buffer))
        return came

    def _begin(self) -> None:
        """The first bytes: into a small buffer, if they fit there."""
        self._begun = True
        self.end += self._fill(self.end)
        most = min(SIZE, self._most or SIZE)
        while (
            not (self._ended or self._growing)
            and isinstance(self.buffer, bytearray)
            and len(self.buffer) < most
        ):
            self.buffer += bytes(min(len(self.buffer), most - len(self.buffer)))
            self.end += self._fill(self.end)

    # ---- room ---------------------------------------------------------------------------------

    def _add_room(self, left: int) -> None:
        """Let what was not taken begin the buffer, with room after it: as much again, and not
        more than the event wants, where it is larger than a usual chunk."""
        head = self.buffer[self.start + _SIZE_AT : self.start + _SIZE_AT + 4]
        claim = int.from_bytes(head, "little") + _SLACK
        size = left + max(SIZE - SIZE // _HEAD, min(left, claim - left))
        fixed = not isinstance(self.buffer, bytearray) and size > len(self.buffer)
        if self.start or fixed or id(self.buffer) in self._lent:
            fresh = bytearray(size)
            fresh[:left] = memoryview(self.buffer)[self.start : self.end]
            self._keep(self.buffer)
            self.buffer = fresh
        elif isinstance(self.buffer, bytearray) and size > len(self.buffer):
            self.buffer += bytes(size - len(self.buffer))
        self.origin += self.start
        self.start, self.end = 0, left

    def _room(self) -> Buffer:
        """The buffer itself, if nobody has borrowed it, or another one."""
        borrowed = id(self.buffer) in self._lent
        return self._another() if borrowed or len(self.buffer) != SIZE else self.buffer

    def _another(self, size: int | None = None) -> Buffer:
        if self._spare:
            return self._spare.pop()
        return _usual() if size is None or size == SIZE else bytearray(size)

    def _keep(self, buffer: Buffer) -> None:
        """Keep a buffer for other bytes, if nobody has borrowed it."""
        usual = len(buffer) == SIZE and len(self._spare) < _SPARE
        if usual and id(buffer) not in self._lent:
            self._spare.append(buffer)

    # ---- reading ------------------------------------------------------------------------------

    def _fill(self, start: int, buffer: Buffer | None = None, most: int | None = None) -> int:
        """Read ``most`` bytes into the buffer from ``start`` on, or until it is full or no byte is
        left; how many came."""
        room = memoryview(self.buffer if buffer is None else buffer)[start:][:most]
        done = 0
        while done < len(room) and not self._ended:
            try:
                count = read_into(self._file, room[done : done + SIZE])
            except (DamageError, LimitError) as error:
                self.failure, count = error, 0
            done += count
            self._ended = not count
            if self._growing:
                break
        return done


def _usual() -> Buffer:
    """A buffer of the usual size, in huge pages where the system has them: small ones take longer
    to come than the bytes that fill them."""
    if not hasattr(mmap, "MADV_HUGEPAGE"):
        return bytearray(SIZE)
    buffer = mmap.mmap(-1, SIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with suppress(OSError):  # a kernel that was built without them
        buffer.madvise(mmap.MADV_HUGEPAGE)
    return buffer


class _Rest(Lookahead):
    """Bytes that were read already, and then what ended them, or the rest of a file left open."""

    def close(self) -> None:
        io.RawIOBase.close(self)
