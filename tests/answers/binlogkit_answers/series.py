"""One log as a series of several files, as a server that rotates would have written it."""

from __future__ import annotations

import uuid
from dataclasses import replace

from tests.fuzz.binlogkit_fuzz.framing import Part, Pieces, join, split

__all__ = ["in_files"]

ROTATE, PREVIOUS_GTIDS, GTID, ANONYMOUS = 4, 35, 33, 34
_NUMBERS = 26  # where a GTID event's body has last_committed:8 and sequence_number:8


def in_files(data: bytes, count: int) -> dict[str, bytes]:
    """The log in ``count`` files of about as many transactions, named binlog.000001 …"""
    pieces = split(data)
    head, *rest = pieces.parts
    gtids = [part for part in rest if part.code == PREVIOUS_GTIDS]
    rest = [part for part in rest if part.code != PREVIOUS_GTIDS]
    starts = [i for i, part in enumerate(rest) if part.code in (GTID, ANONYMOUS)]
    assert gtids and len(starts) >= count
    cuts = [0, *(starts[len(starts) * i // count] for i in range(1, count)), len(rest)]
    files: dict[str, bytes] = {}
    executed: dict[bytes, list[int]] = {}
    for number in range(count):
        own = _renumbered(rest[cuts[number] : cuts[number + 1]])
        previous = replace(gtids[0], body=_gtid_set(executed))
        end = [] if number == count - 1 else [_rotate(own[-1], number + 2)]
        parts = [head, previous, *own, *end]
        files[f"binlog.{number + 1:06}"] = join(Pieces(parts, pieces.header, pieces.checksums))
        for part in own:
            if part.code == GTID:
                gno = int.from_bytes(part.body[17:25], "little")
                executed.setdefault(part.body[1:17], []).append(gno)
    return files


def _rotate(last: Part, following: int) -> Part:
    body = (4).to_bytes(8, "little") + f"binlog.{following:06}".encode()
    return Part(last.timestamp, ROTATE, last.server_id, 0, body)


def _renumbered(parts: list[Part]) -> list[Part]:
    """Transactions counted from 1, as each file of a server does."""
    found, base = list[Part](), None
    for part in parts:
        body = part.body
        if part.code in (GTID, ANONYMOUS) and len(body) >= _NUMBERS + 16:
            last, own = (
                int.from_bytes(body[at : at + 8], "little") for at in (_NUMBERS, _NUMBERS + 8)
            )
            base = own - 1 if base is None else base
            numbers = b"".join(max(0, n - base).to_bytes(8, "little") for n in (last, own))
            part = replace(part, body=body[:_NUMBERS] + numbers + body[_NUMBERS + 16 :])
        found.append(part)
    return found


def _gtid_set(executed: dict[bytes, list[int]]) -> bytes:
    """A PREVIOUS_GTIDS body: ``sids:8``, each ``sid:16 intervals:8``, ``start:8 end:8`` of each."""
    out = len(executed).to_bytes(8, "little")
    for sid in sorted(executed, key=lambda raw: uuid.UUID(bytes=raw).hex):
        intervals = list[list[int]]()
        for number in sorted(executed[sid]):
            if intervals and intervals[-1][1] == number:
                intervals[-1][1] = number + 1
            else:
                intervals.append([number, number + 1])
        out += sid + len(intervals).to_bytes(8, "little")
        out += b"".join(n.to_bytes(8, "little") for pair in intervals for n in pair)
    return out
