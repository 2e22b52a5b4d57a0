"""Mutations: of bytes, and of logs whose framing stays right so that the checks are passed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

from tests.fuzz.binlogkit_fuzz.framing import MAGIC, Part, Pieces, join, split

__all__ = ["Mutate", "mutate_bytes", "mutate_log"]

Mutate = Callable[[bytes, int], bytes]  # (data, longest) -> data
_TELLING = (0, 1, 2, 3, 4, 7, 8, 15, 16, 18, 19, 127, 128, 250, 251, 252, 253, 254, 255)
_WIDTHS = (1, 2, 3, 4, 6, 8)


def mutate_bytes(data: bytes, random: Random, longest: int) -> bytes:
    """``data`` with one to four changes."""
    out = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 4))):
        at = random.randrange(len(out) + 1)
        kind = random.randrange(7)
        if kind == 0 and at < len(out):
            out[at] ^= 1 << random.randrange(8)
        elif kind == 1 and at < len(out):
            out[at] = random.choice(_TELLING)
        elif kind == 2:
            width = random.choice(_WIDTHS)
            number = random.choice(((1 << 8 * width) - 1, 1 << (8 * width - 1), len(out), 0))
            out[at : at + width] = (number & ((1 << 8 * width) - 1)).to_bytes(width, "little")
        elif kind == 3:
            del out[at : at + random.choice((1, 2, 4, 16))]
        elif kind == 4:
            out[at:at] = random.randbytes(random.choice((1, 2, 8)))
        elif kind == 5:
            start = random.randrange(len(out) + 1)
            out[at:at] = out[start : start + random.choice((1, 4, 32))]
        else:
            out[at : at + 1] = random.randbytes(1)
    return bytes(out[:longest])


def mutate_log(
    data: bytes, random: Random, longest: int, pool: list[Part], mutate: Mutate
) -> bytes:
    """A log with an event changed, dropped, doubled, moved, or put in from ``pool``."""
    pieces = split(data)
    if not data.startswith(MAGIC) or not pieces.parts or random.random() < 0.08:
        return mutate(data, longest)
    parts = list(pieces.parts)
    at = random.randrange(len(parts))
    kind = random.randrange(20)
    if kind < 11:
        room = max(64, longest - len(data) + len(parts[at].body))
        parts[at] = replace(parts[at], body=mutate(parts[at].body, room))
    elif kind == 11:
        parts[at] = replace(parts[at], code=random.randrange(48))
    elif kind == 12:
        parts[at] = replace(parts[at], flags=1 << random.randrange(16))
    elif kind == 13:
        parts[at] = replace(parts[at], timestamp=random.getrandbits(32))
    elif kind == 14 and len(parts) > 1:
        del parts[at]
    elif kind == 15:
        parts.insert(at, parts[random.randrange(len(parts))])
    elif kind == 16:
        other = random.randrange(len(parts))
        parts[at], parts[other] = parts[other], parts[at]
    else:
        parts.insert(at + 1, random.choice(pool))
    out = join(Pieces(parts, pieces.header, pieces.checksums))
    return out if len(out) <= longest else data
