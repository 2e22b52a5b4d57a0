"""A cursor that keeps what is read through it, so that a parser explains what it reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from binlogkit._kernel.cursor import Cursor
from binlogkit.events.explain.parts import FieldPart

__all__ = ["Recorder"]

T = TypeVar("T")


class Recorder(Cursor):
    """Each read becomes a part of ``parts``, each :meth:`sub` a part with parts of its own.

    ``base``: where ``data`` begins in the event. A parser that goes back and reads anew replaces
    what it had read there.
    """

    __slots__ = ("_inside", "base", "parts")

    def __init__(
        self,
        data: bytes,
        file: str = "",
        offset: int = 0,
        pos: int = 0,
        *,
        base: int = 0,
        parts: list[FieldPart] | None = None,
    ) -> None:
        super().__init__(data, file, offset, pos)
        self.base = base
        self.parts: list[FieldPart] = [] if parts is None else parts
        self._inside = False

    def note(self, start: int, name: str, value: object = None) -> FieldPart:
        """Keep the bytes from ``start`` to here as a field."""
        first, end = self.base + start, self.base + self.pos
        while self.parts and self.parts[-1].end > first:
            self.parts.pop()
        part = FieldPart(name, first, end, value)
        self.parts.append(part)
        return part

    def _noted(self, name: str, read: Callable[[], T], value: bool = True) -> T:
        """What ``read`` gives; a read that others are made of counts only as a whole."""
        if self._inside:
            return read()
        start = self.pos
        self._inside = True
        try:
            found = read()
        finally:
            self._inside = False
        self.note(start, name, found if value else None)
        return found

    def skip(self, length: int, field: str) -> int:
        """See :class:`Cursor`."""
        return self._noted(field, lambda: Cursor.skip(self, length, field), value=False)

    def read(self, length: int, field: str) -> bytes:
        """See :class:`Cursor`."""
        return self._noted(field, lambda: Cursor.read(self, length, field))

    def rest(self, field: str) -> bytes:
        """See :class:`Cursor`."""
        return self._noted(field, lambda: Cursor.rest(self, field))

    def uint(self, width: int, field: str) -> int:
        """See :class:`Cursor`."""
        return self._noted(field, lambda: Cursor.uint(self, width, field))

    def sint(self, width: int, field: str) -> int:
        """See :class:`Cursor`."""
        return self._noted(field, lambda: Cursor.sint(self, width, field))

    def uint_be(self, width: int, field: str) -> int:
        """See :class:`Cursor`."""
        return self._noted(field, lambda: Cursor.uint_be(self, width, field))

    def packed(self, field: str) -> int:
        """See :class:`Cursor`."""
        return self._noted(field, lambda: Cursor.packed(self, field))

    def variable(self, field: str) -> int:
        """See :class:`Cursor`."""
        return self._noted(field, lambda: Cursor.variable(self, field))

    def text(self, length: int, field: str, encoding: str = "utf-8") -> str:
        """See :class:`Cursor`."""
        return self._noted(field, lambda: Cursor.text(self, length, field, encoding))

    def c_string(self, field: str) -> bytes:
        """See :class:`Cursor`."""
        return self._noted(field, lambda: Cursor.c_string(self, field))

    def sub(self, length: int, field: str) -> Cursor:
        """See :class:`Cursor`; what is read through the new one belongs to this field."""
        start = self.pos
        self._inside = True
        try:
            data = Cursor.read(self, length, field)
        finally:
            self._inside = False
        part = self.note(start, field)
        return Recorder(data, self.file, self.offset, base=part.start, parts=part.parts)
