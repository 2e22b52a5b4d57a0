"""The variable-length integers of ``mysql::serialization`` (8.3.0+).

As many 1 bits at the bottom of the first byte as bytes follow it, a 0 bit, then the value; of more
than 56 bits: a byte of ones and 8 bytes. Servers write the shortest form. Signed values are
zigzag-coded (server's sources, ``variable_length_integers.h``).
"""

from __future__ import annotations

from binlogkit_fixtures.writer.packer import Packer

__all__ = ["signed", "unsigned"]

_LONGEST = 8


def unsigned(packer: Packer, value: int, field: str) -> None:
    """An unsigned integer of up to 64 bits."""
    if not 0 <= value < 1 << 64:
        raise packer.fail(field, f"{value} is not in the range of 64 bits")
    more = max(value.bit_length() - 1, 0) // 7
    if more >= _LONGEST:
        packer.raw(b"\xff" + value.to_bytes(_LONGEST, "little"))
    else:
        packer.raw((value << more + 1 | (1 << more) - 1).to_bytes(more + 1, "little"))


def signed(packer: Packer, value: int, field: str) -> None:
    """A signed integer of up to 64 bits."""
    if not -(1 << 63) <= value < 1 << 63:
        raise packer.fail(field, f"{value} is not in the signed range of 64 bits")
    unsigned(packer, value << 1 ^ value >> 63, field)
