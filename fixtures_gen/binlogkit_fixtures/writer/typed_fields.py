"""Fields of ``type:packed length:packed value`` (``binlogkit.events.base``)."""

from __future__ import annotations

from collections.abc import Mapping

from binlogkit_fixtures.writer.packer import Packer

__all__ = ["packed_value", "write_typed_fields"]

_END = 0


def packed_value(packer: Packer, value: int, field: str) -> bytes:
    """A packed integer that stands alone."""
    part = packer.sub()
    part.packed(value, field)
    return bytes(part.data)


def write_typed_fields(
    packer: Packer,
    known: Mapping[int, bytes],
    others: tuple[tuple[int, bytes], ...],
    order: tuple[int, ...],
) -> None:
    """Known fields by their type and the others, in ``order``.

    Without an ``order``: the known ones as they stand, the others, the end. Of a type that
    ``order`` names several times the known value is the last one.
    """
    order = order or (*known, *(kind for kind, _ in others), _END)
    rest = list(others)
    for i, kind in enumerate(order):
        packer.packed(kind, "field_type")
        if kind == _END:
            continue
        if kind in known and kind not in order[i + 1 :]:
            packer.packed_sized(known[kind], "field")
        elif rest and rest[0][0] == kind:
            packer.packed_sized(rest.pop(0)[1], "field")
        else:
            raise packer.fail("order", f"it names a field {kind} that is not there")
    if rest or not known.keys() <= set(order):
        raise packer.fail("order", "it leaves fields out")
