"""An explained event: a tree of parts whose leaves cover each byte exactly once."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass

NOT_KNOWN = "bytes that no field known to this version stands for"


@dataclass(frozen=True, slots=True)
class Detail:
    """What is said of a part and has no whole byte of its own: a bit, an event in a payload."""

    name: str
    value: object
    meaning: str = ""


@dataclass(slots=True)
class FieldPart:
    """A field of an event, or a group of fields.

    ``start``, ``end``: its bytes, counted from the event's first one, the end exclusive; ``value``:
    what the bytes say, None where they are shown as they are; ``meaning``: one clause for a reader;
    ``problem``: why it could not be read, or what is wrong with it.
    """

    field: str
    start: int
    end: int
    value: object = None
    meaning: str = ""
    parts: list[FieldPart] = dataclasses.field(default_factory=list)
    details: list[Detail] = dataclasses.field(default_factory=list)
    problem: str = ""

    @property
    def size(self) -> int:
        """How many bytes it has."""
        return self.end - self.start

    def walk(self, depth: int = 0) -> Iterator[tuple[int, FieldPart]]:
        """This part and all below it, in the order of their bytes, each with its depth."""
        yield depth, self
        for part in self.parts:
            yield from part.walk(depth + 1)

    def leaves(self) -> Iterator[FieldPart]:
        """The parts that hold no others."""
        for _, part in self.walk():
            if not part.parts:
                yield part

    def find(self, name: str) -> FieldPart | None:
        """The first part of that name at or below this one."""
        return next((part for _, part in self.walk() if part.field == name), None)


def fill(
    part: FieldPart, name: str = "unread", meaning: str = NOT_KNOWN, problem: str = ""
) -> None:
    """Put a leaf over each stretch of ``part`` that its parts leave out; they stand in order."""
    if not part.parts:
        return
    whole: list[FieldPart] = []
    at = part.start
    for child in part.parts:
        if child.start > at:
            whole.append(FieldPart(name, at, child.start, meaning=meaning, problem=problem))
        whole.append(child)
        at = child.end
    if at < part.end:
        whole.append(FieldPart(name, at, part.end, meaning=meaning, problem=problem))
    part.parts = whole


def grouped(
    parts: list[FieldPart],
    starter: str,
    name: Callable[[list[FieldPart]], str],
    whole: Callable[[list[FieldPart]], bool] = lambda _: False,
) -> list[FieldPart]:
    """``parts`` with a group from each ``starter`` field up to the next, or to its last one.

    ``name``: of a group; ``whole``: whether nothing more belongs to it.
    """
    out: list[FieldPart] = []
    items: list[FieldPart] = []

    def close() -> None:
        if items:
            out.append(FieldPart(name(items), items[0].start, items[-1].end, parts=list(items)))
            items.clear()

    for part in parts:
        if part.field == starter:
            close()
        if items or part.field == starter:
            items.append(part)
            if whole(items):
                close()
        else:
            out.append(part)
    close()
    return out
