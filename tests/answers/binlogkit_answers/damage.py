"""Damaged copies of logs, the same for the same seed on every machine and Python.

Only ``randrange`` and ``randbytes`` are drawn, and what the fuzzing draws.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

from tests.answers.binlogkit_answers.places import Head, heads
from tests.fuzz.binlogkit_fuzz.framing import MAGIC, Pieces, join, split
from tests.fuzz.binlogkit_fuzz.mutate import mutate_bytes, mutate_log

__all__ = ["KINDS", "damaged", "fuzzed"]

Files = dict[str, bytes]
Damage = Callable[[bytes, Random], bytes]


def damaged(files: Files, kind: str, seed: str) -> Files:
    """The files with a damage of this kind."""
    chance = Random(seed)
    return KINDS[kind](dict(files), chance)


def fuzzed(files: Files, seed: str) -> Files:
    """One of the files as the fuzzing changes logs: mostly an event's body, its framing right."""
    chance = Random(seed)
    name = _one(sorted(files), chance)

    def mutate(data: bytes, longest: int) -> bytes:
        return mutate_bytes(data, chance, longest)

    data = files[name]
    pool = split(data).parts
    return files | {name: mutate_log(data, chance, 2 * len(data), pool, mutate)}


def _in_one(damage: Damage) -> Callable[[Files, Random], Files]:
    """Damage in one of the files."""

    def done(files: Files, chance: Random) -> Files:
        name = _one(sorted(files), chance)
        return files | {name: damage(files[name], chance)}

    return done


def _one(things: list[str], chance: Random) -> str:
    return things[chance.randrange(len(things))]


def _event(data: bytes, chance: Random, first: int = 0) -> Head | None:
    found = list(heads(data))[first:]
    return found[chance.randrange(len(found))] if found else None


def flip(data: bytes, chance: Random) -> bytes:
    """One bit of one event, which may be the format description: header, body or checksum."""
    event = _event(data, chance)
    if event is None:
        return data
    out = bytearray(data)
    out[event.pos + chance.randrange(event.end - event.pos)] ^= 1 << chance.randrange(8)
    return bytes(out)


def flip_header(data: bytes, chance: Random) -> bytes:
    event = _event(data, chance, 1)
    if event is None:
        return data
    out = bytearray(data)
    out[event.pos + chance.randrange(19)] ^= 1 << chance.randrange(8)
    return bytes(out)


def zeros(data: bytes, chance: Random) -> bytes:
    """A range of zero bytes, as a lost sector leaves it."""
    at = len(MAGIC) + chance.randrange(len(data))
    size = 1 << chance.randrange(13)
    return data[:at] + bytes(max(0, min(size, len(data) - at))) + data[at + size :]


def noise(data: bytes, chance: Random) -> bytes:
    """A range of other bytes."""
    at = len(MAGIC) + chance.randrange(len(data))
    size = min(1 << chance.randrange(11), max(0, len(data) - at))
    return data[:at] + chance.randbytes(size) + data[at + size :]


def cut(data: bytes, chance: Random) -> bytes:
    """The end is missing, mostly from inside an event."""
    if chance.randrange(4):
        return data[: chance.randrange(len(data))]
    event = _event(data, chance)
    return data if event is None else data[: event.end]


def hole(data: bytes, chance: Random) -> bytes:
    """Bytes are cut out of the middle."""
    at = len(MAGIC) + chance.randrange(len(data))
    return data[:at] + data[at + (1 << chance.randrange(12)) :]


def inserted(data: bytes, chance: Random) -> bytes:
    """Bytes are put in: noise, zeros, or some of the log's own."""
    at, size = chance.randrange(len(data)), 1 << chance.randrange(10)
    start = chance.randrange(len(data))
    pieces = (chance.randbytes(size), bytes(size), data[start : start + size])
    return data[:at] + pieces[chance.randrange(3)] + data[at:]


def lost(data: bytes, chance: Random) -> bytes:
    """One whole event or a few are missing, positions as they were."""
    event = _event(data, chance, 1)
    if event is None:
        return data
    behind = [h.end for h in heads(data) if h.pos >= event.pos]
    end = behind[min(len(behind) - 1, (0, 0, 1, 4)[chance.randrange(4)])]
    return data[: event.pos] + data[end:]


def moved(data: bytes, chance: Random) -> bytes:
    """Two events swapped, or one there twice, positions as they were."""
    first, second = _event(data, chance, 1), _event(data, chance, 1)
    if first is None or second is None:
        return data
    if first.pos > second.pos:
        first, second = second, first
    a, b = data[first.pos : first.end], data[second.pos : second.end]
    if chance.randrange(2) or first is second:
        return data[: first.end] + a + data[first.end :]
    return data[: first.pos] + b + data[first.end : second.pos] + a + data[second.end :]


def middle(data: bytes, chance: Random) -> bytes:
    """The log begins in the middle: at an event or in one, with magic or format description or
    without."""
    found = list(heads(data))
    if len(found) < 3:
        return data
    event = found[2 + chance.randrange(len(found) - 2)]
    at = event.pos + (chance.randrange(event.end - event.pos) if chance.randrange(3) == 0 else 0)
    head = (b"", MAGIC, data[: found[0].end], data[: found[0].end])[chance.randrange(4)]
    return head + data[at:]


def rewritten(data: bytes, chance: Random) -> bytes:
    """An event dropped, doubled, moved or changed, and everything else made right: sizes,
    positions, checksums. Nothing but its meaning shows it."""
    pieces = split(data)
    parts = list(pieces.parts)
    if len(parts) < 3:
        return data
    at, other = (1 + chance.randrange(len(parts) - 1) for _ in range(2))
    what = chance.randrange(6)
    if what == 0:
        del parts[at]
    elif what == 1:
        parts.insert(other, parts[at])
    elif what == 2:
        parts[at], parts[other] = parts[other], parts[at]
    else:
        body = bytearray(parts[at].body)
        if body:
            place = chance.randrange(len(body))
            body[place] = chance.randrange(256) if what == 3 else body[place] ^ 1
            if what == 5:
                del body[place:]
        parts[at] = replace(parts[at], body=bytes(body))
    return join(Pieces(parts, pieces.header, pieces.checksums))


def several(data: bytes, chance: Random) -> bytes:
    """Two to four damages at once."""
    kinds = (flip, flip_header, zeros, noise, lost, hole, inserted, moved)
    for _ in range(2 + chance.randrange(3)):
        if len(data) > len(MAGIC):
            data = kinds[chance.randrange(len(kinds))](data, chance)
    return data


def files_lost(files: Files, chance: Random) -> Files:
    """A file of a series left out, or empty, or cut; two in the wrong order; of one file alone
    many events."""
    names = list(files)
    if len(names) == 1:
        data = files[names[0]]
        found = list(heads(data))[1:]
        if len(found) < 4:
            return files
        first = chance.randrange(len(found) - 1)
        last = first + chance.randrange(len(found) - first)
        return {names[0]: data[: found[first].pos] + data[found[last].end :]}
    at = chance.randrange(len(names))
    what = chance.randrange(6)
    if what == 4:
        return files | {names[at]: b""}
    if what == 5:
        data = files[names[at]]
        return files | {names[at]: data[: len(data) * 2 // 3]}
    if what == 3:
        other = chance.randrange(len(names))
        names[at], names[other] = names[other], names[at]
        return {name: files[name] for name in names}
    return {name: files[name] for i, name in enumerate(names) if i != at}


KINDS: dict[str, Callable[[Files, Random], Files]] = {
    **{
        damage.__name__: _in_one(damage)
        for damage in (
            flip, flip_header, zeros, noise, cut, hole, inserted, lost, moved, middle, rewritten,
            several,
        )
    },
    "files_lost": files_lost,
}  # fmt: skip
