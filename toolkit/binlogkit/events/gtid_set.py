"""Sets of GTIDs: text, the wire form, membership.

Text (manual, "GTID Sets"): ``uuid[:tag]:interval[:interval]…[,…]``, an interval being ``n`` or
``n-m``, tags from 8.3.0 on. Numbers are 1 to 2^63 - 2: servers refuse others (5.7.22, 8.0.31).
Wire: ``n_sids:8``, then per UUID ``sid:16 n_intervals:8`` and per
interval ``start:8 end:8``, the end exclusive (docs/document-errors.md).
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence

from binlogkit._kernel.cursor import Cursor
from binlogkit.errors import UsageError

_UUID = re.compile(r"^[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}$", re.IGNORECASE)
_TAG = re.compile(r"[a-z_][a-z0-9_]{0,31}")
_INTERVAL = re.compile(r"([0-9]{1,19})(?:-([0-9]{1,19}))?")
_TAGGED_FORMAT = 1
LAST_GNO = (1 << 63) - 2

Interval = tuple[int, int]  # start, end inclusive


def _sid(text: str) -> bytes:
    return bytes.fromhex(text.replace("-", ""))


def format_uuid(sid: bytes) -> str:
    """The usual text of 16 bytes."""
    digits = sid.hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


class GtidSet:
    """An immutable set of GTIDs; ``intervals``: by ``uuid`` or ``uuid:tag``, merged and sorted."""

    __slots__ = ("intervals",)

    def __init__(self, intervals: dict[str, list[Interval]] | None = None) -> None:
        merged = {sid: _merge(ranges) for sid, ranges in (intervals or {}).items()}
        self.intervals = {sid: ranges for sid, ranges in sorted(merged.items()) if ranges}

    @classmethod
    def merged(cls, intervals: Mapping[str, list[Interval]]) -> GtidSet:
        """The set of intervals that are merged and sorted already."""
        found = cls.__new__(cls)
        found.intervals = {sid: ranges for sid, ranges in sorted(intervals.items()) if ranges}
        return found

    @classmethod
    def parse(cls, text: str) -> GtidSet:
        """A set from its text; :class:`UsageError` when it is none."""
        intervals: dict[str, list[Interval]] = {}
        for part in filter(None, (p.strip() for p in text.replace("\n", "").split(","))):
            sid, *pieces = (piece.strip().lower() for piece in part.split(":"))
            if not _UUID.match(sid) or not pieces:
                raise UsageError(f"not a GTID set: {text!r}")
            sid = format_uuid(_sid(sid))
            key = sid
            for piece in pieces:
                match = _INTERVAL.fullmatch(piece)
                if match is None and _TAG.fullmatch(piece):
                    key = f"{sid}:{piece}"
                    continue
                start, end = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
                if not 0 < start <= LAST_GNO or end > LAST_GNO:
                    raise UsageError(f"not a GTID set: {text!r}")
                intervals.setdefault(key, []).append((start, end))
        return cls(intervals)

    @classmethod
    def read(cls, cursor: Cursor) -> GtidSet:
        """A set in its wire form, untagged, or tagged as 8.3.0+ writes it."""
        return set_of(read_entries(cursor)[1])

    def wire(self) -> bytes:
        """The set in its wire form; tagged when one of its members has a tag."""
        tagged = any(":" in key for key in self.intervals)
        count = len(self.intervals)
        head = _TAGGED_FORMAT << 56 | count << 8 | _TAGGED_FORMAT if tagged else count
        parts = [head.to_bytes(8, "little")]
        for key, ranges in self.intervals.items():
            sid, _, tag = key.partition(":")
            parts.append(_sid(sid))
            if tagged:
                parts.append(bytes([len(tag) << 1]) + tag.encode("ascii"))
            parts.append(len(ranges).to_bytes(8, "little"))
            parts += [struct.pack("<qq", start, end + 1) for start, end in ranges]
        return b"".join(parts)

    @classmethod
    def of(cls, gtids: Iterable[str]) -> GtidSet:
        """The set of single GTIDs."""
        return cls.parse(",".join(gtids))

    def __contains__(self, gtid: str) -> bool:
        key, _, number = gtid.rpartition(":")
        if not _INTERVAL.fullmatch(number) or "-" in number:
            return False
        ranges = self.intervals.get(key.lower(), ())
        at = bisect_right(ranges, (int(number), LAST_GNO)) - 1
        return at >= 0 and int(number) <= ranges[at][1]

    def __str__(self) -> str:
        parts: dict[str, list[str]] = {}
        for key, ranges in self.intervals.items():
            sid, _, tag = key.partition(":")
            texts = [f"{a}-{b}" if b > a else str(a) for a, b in ranges]
            parts.setdefault(sid, []).extend([tag, *texts] if tag else texts)
        return ",".join(":".join([sid, *texts]) for sid, texts in parts.items())

    def __repr__(self) -> str:
        return f"GtidSet({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GtidSet) and self.intervals == other.intervals

    def __hash__(self) -> int:
        return hash(str(self))

    def __bool__(self) -> bool:
        return bool(self.intervals)

    def count(self) -> int:
        """How many GTIDs are in the set."""
        return sum(end - start + 1 for ranges in self.intervals.values() for start, end in ranges)

    def intersect(self, other: GtidSet) -> GtidSet:
        """The GTIDs that are in both."""
        return self.subtract(self.subtract(other))

    def subtract(self, other: GtidSet) -> GtidSet:
        """The GTIDs of this set that are not in ``other``."""
        out: dict[str, list[Interval]] = {}
        for key, ranges in self.intervals.items():
            taken = other.intervals.get(key)
            out[key] = _left(ranges, taken) if taken else ranges
        return self.merged(out)

    def union(self, other: GtidSet) -> GtidSet:
        """The GTIDs that are in either."""
        if not (self and other):
            return self or other
        origins = self.intervals.keys() | other.intervals.keys()
        own, others = self.intervals, other.intervals
        return GtidSet({one: [*own.get(one, ()), *others.get(one, ())] for one in origins})

    def lower(self) -> GtidSet:
        """The numbers below the first one of each origin."""
        firsts = {origin: ranges[0][0] for origin, ranges in self.intervals.items()}
        return self.merged({one: [(1, first - 1)] for one, first in firsts.items() if first > 1})


Entry = tuple[str, str, tuple[Interval, ...]]  # UUID, tag, intervals


def read_tag(cursor: Cursor, field: str = "tag") -> str:
    """A tag after its length; empty where there is none."""
    tag = cursor.text(cursor.variable(f"{field}_length"), field, "ascii")
    if tag and not _TAG.fullmatch(tag):
        raise cursor.fail(field, f"{tag!r} is no tag")
    return tag


def read_entries(cursor: Cursor) -> tuple[bool, tuple[Entry, ...]]:
    """Whether a set in its wire form has tags, and its entries in their order."""
    head = cursor.uint(8, "n_sids")
    tagged = head >> 56 == _TAGGED_FORMAT
    count = (head >> 8) & 0xFFFFFFFFFFFF if tagged else head
    entries = []
    for _ in range(count):
        sid, tag = format_uuid(cursor.read(16, "sid")), ""
        if tagged:
            tag = read_tag(cursor)
        ranges = []
        for _ in range(cursor.uint(8, "n_intervals")):
            start, end = cursor.sint(8, "interval_start"), cursor.sint(8, "interval_end")
            if start < 1 or end <= start:
                raise cursor.fail("interval_end", f"an interval from {start} to {end}")
            ranges.append((start, end - 1))
        entries.append((sid, tag, tuple(ranges)))
    return tagged, tuple(entries)


def set_of(entries: Iterable[Entry]) -> GtidSet:
    """The set that entries make together."""
    intervals: dict[str, list[Interval]] = {}
    for sid, tag, ranges in entries:
        intervals.setdefault(f"{sid}:{tag}" if tag else sid, []).extend(ranges)
    return GtidSet(intervals)


def _left(ranges: Sequence[Interval], taken: Sequence[Interval]) -> list[Interval]:
    """What of ``ranges`` is in none of ``taken``, both sorted; one pass over both."""
    left: list[Interval] = []
    i = 0
    for start, end in ranges:
        at = start
        while i < len(taken) and taken[i][1] < at:
            i += 1
        j = i
        while j < len(taken) and taken[j][0] <= end:
            if taken[j][0] > at:
                left.append((at, taken[j][0] - 1))
            at = taken[j][1] + 1
            j += 1
        i = max(i, j - 1)
        if at <= end:
            left.append((at, end))
    return left


def _merge(ranges: list[Interval]) -> list[Interval]:
    merged: list[Interval] = []
    for start, end in sorted(r for r in ranges if r[0] <= r[1]):
        if merged and start <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
