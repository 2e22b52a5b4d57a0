"""A cursor that records what is read through it, so that a parser explains what it reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from binlogkit._kernel.cursor import Cursor
from binlogkit.events.explain.parts import FieldPart


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
        *,
        base: int = 0,
        parts: list[FieldPart] | None = None,
    ) -> None:
        super().__init__(data, file, offset)
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

    def sub(self, length: int, field: str) -> Cursor:
        """See :class:`Cursor`; what is read through the new one belongs to this field."""
        data = self.read(length, field)
        part = self.parts[-1]
        part.value = None
        return Recorder(data, self.file, self.offset, base=part.start, parts=part.parts)


def _recorded(name: str) -> Callable[..., Any]:
    """The read of :class:`Cursor` of that name, which keeps its bytes and, but of a skip, value."""
    read = getattr(Cursor, name)
    place = read.__code__.co_varnames.index("field") - 1

    def noted(self: Recorder, *args: Any) -> Any:
        if self._inside:  # a read that others are made of counts only as a whole
            return read(self, *args)
        start = self.pos
        self._inside = True
        try:
            found = read(self, *args)
        finally:
            self._inside = False
        self.note(start, args[place], None if name == "skip" else found)
        return found

    return noted


for _name in (
    "skip", "read", "rest", "uint", "sint", "packed", "variable", "text", "c_string",
):  # fmt: skip
    setattr(Recorder, _name, _recorded(_name))
