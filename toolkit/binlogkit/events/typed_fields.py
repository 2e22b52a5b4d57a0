"""Fields of ``type:packed length:packed value`` up to type 0, as HEARTBEAT_LOG_EVENT_V2 and
TRANSACTION_PAYLOAD_EVENT have them (server's sources, ``codecs/binary.cpp``)."""

from __future__ import annotations

from dataclasses import dataclass

from binlogkit._kernel.cursor import Cursor

__all__ = ["TypedFields", "whole_packed"]

END = 0


@dataclass(frozen=True, slots=True)
class TypedFields:
    """``fields``: type and value as stored; ``ended``: whether the end's mark was there."""

    fields: tuple[tuple[int, Cursor], ...]
    ended: bool

    @classmethod
    def read(cls, cursor: Cursor) -> TypedFields:
        """All fields up to the end's mark, or to the cursor's end."""
        fields: list[tuple[int, Cursor]] = []
        while cursor.left:
            kind = cursor.packed("field_type")
            if kind == END:
                return cls(tuple(fields), True)
            fields.append((kind, cursor.sub(cursor.packed("field_length"), "field")))
        return cls(tuple(fields), False)

    @property
    def last(self) -> dict[int, Cursor]:
        """The value of each type; of one that is there twice, the last."""
        return dict(self.fields)

    @property
    def order(self) -> tuple[int, ...]:
        """The types in their order."""
        return (*(kind for kind, _ in self.fields), *((END,) if self.ended else ()))

    def others(self, *known: int) -> tuple[tuple[int, bytes], ...]:
        """Type and value of fields of no known type, and of those that a later one replaces."""
        last = self.last
        return tuple(
            (kind, part.data)
            for kind, part in self.fields
            if kind not in known or part is not last[kind]
        )


def whole_packed(part: Cursor, field: str) -> int:
    """The packed integer that ``part`` is."""
    value = part.packed(field)
    if part.left:
        raise part.fail(field, f"{part.left} bytes follow the number in its own field")
    return value
