"""Whether files follow each other: names, numbers, ROTATE, PREVIOUS_GTIDS.

Logs of several servers, or a server's binary and relay logs, may be read together: a *series* is
what has one server id in its format descriptions, one stem of names and one kind. Names may have
been changed since; what GTIDs prove outweighs them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from binlogkit.events.gtid_set import GtidSet
from binlogkit.rows.soundness.file_facts import FileFacts, split_name
from binlogkit.rows.soundness.finding import Finding, Grade, Place, finding
from binlogkit.rows.soundness.gtid_ledger import GtidLedger

__all__ = ["Joint", "Series", "SeriesLedger", "joints"]


@dataclass(slots=True)
class Series:
    """The files of a series in the order in which they were read, and the GTIDs seen in them."""

    seen: GtidLedger = field(default_factory=GtidLedger)
    files: list[FileFacts] = field(default_factory=list)
    numbers: set[int] = field(default_factory=set)
    names: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Joint:
    """Two files of a series that follow each other, and what is wrong between them."""

    before: FileFacts
    after: FileFacts
    findings: tuple[Finding, ...]

    @property
    def status(self) -> str:
        """``gap``, ``continuous``, or ``unknown`` where nothing tells."""
        if any(f.grade != Grade.NOTE for f in self.findings):
            return "gap"
        proved = self.before.previous is not None and self.after.previous is not None
        return "continuous" if proved or self.before.next_name is not None else "unknown"


class SeriesLedger:
    """Sorts files into series as they are read."""

    def __init__(self) -> None:
        self._series: dict[tuple[object, ...], Series] = {}

    def of(self, facts: FileFacts) -> Series:
        """The series of a file whose first event was read."""
        folder, stem, number = split_name(facts.name)
        key: tuple[object, ...] = (facts.relay, facts.server_id, stem if number else None)
        known = self._series.setdefault(key, Series())
        if number is not None and number in known.numbers and facts.name not in known.names:
            known = self._series.setdefault((*key, folder), Series())
        if number is not None:
            known.numbers.add(number)
        known.names.add(facts.name)
        known.files.append(facts)
        return known

    def end(self) -> Iterator[Finding]:
        """What is wrong with the order of files, and between them."""
        for series in self._series.values():
            yield from _order(series.files)
            for joint in joints(series.files):
                yield from joint.findings

    def joints(self) -> Iterator[Joint]:
        """All pairs of files that follow each other."""
        for series in self._series.values():
            yield from joints(series.files)


def joints(files: Sequence[FileFacts]) -> Iterator[Joint]:
    """The pairs of one series in the order of their numbers, repeated files left out."""
    for before, after in pairwise(_sorted(_distinct(files))):
        yield Joint(before, after, tuple(_between(before, after)))


def _sorted(files: list[FileFacts]) -> list[FileFacts]:
    """By number; where names have none, by what PREVIOUS_GTIDS prove; else as they were given."""
    numbers = [split_name(file.name)[2] for file in files]
    if None not in numbers:
        return [file for _, file in sorted(zip(numbers, files, strict=True), key=_number)]
    if all(file.previous is not None for file in files):
        return sorted(files, key=lambda f: f.previous.count() if f.previous else 0)
    return files


def _number(pair: tuple[int | None, FileFacts]) -> int:
    return pair[0] or 0


def _distinct(files: Sequence[FileFacts]) -> list[FileFacts]:
    """The files without those that were named again; bytes and streams have no names."""
    found: dict[object, FileFacts] = {}
    for i, file in enumerate(files):
        found.setdefault(i if file.name.startswith("<") else file.name, file)
    return list(found.values())


def _order(files: list[FileFacts]) -> Iterator[Finding]:
    distinct = _distinct(files)
    for file in files:
        if all(file is not other for other in distinct):
            yield finding("file_repeated", Place(file.name), "it was given more than once")
    ordered = _sorted(distinct)
    for given, right in zip(distinct, ordered, strict=True):
        if given is not right:
            text = f"it was read where {right.name} belongs"
            yield finding("file_order", Place(given.name), text)
            return


def _between(before: FileFacts, after: FileFacts) -> Iterator[Finding]:
    at = Place(after.name)
    told = False
    for found in _numbers(before, after, at):
        told = True
        yield found
    gap = list(_gtids(before, after, at))
    yield from gap
    yield from _name(before, after, at, told, proved=_proved(before, after) and not gap)
    if before.server_version != after.server_version:
        text = f"{before.server_version or '?'} before it, {after.server_version or '?'} in it"
        yield finding("server_changed", at, text)


def _numbers(before: FileFacts, after: FileFacts, at: Place) -> Iterator[Finding]:
    _, stem, first = split_name(before.name)
    _, _, last = split_name(after.name)
    if first is None or last is None or last <= first + 1:
        return
    missing = f"{stem}.{first + 1:06}"
    if last > first + 2:
        missing += f" to {stem}.{last - 1:06}"
    yield finding("file_missing", at, f"{missing} before it: not among the files")


def _proved(before: FileFacts, after: FileFacts) -> bool:
    """Whether GTIDs prove that one follows the other."""
    return bool(before.previous is not None and after.previous and before.gtids.to_set())


def _gtids(before: FileFacts, after: FileFacts, at: Place) -> Iterator[Finding]:
    if before.previous is None or after.previous is None:
        return
    grade = Grade.NOTE if after.relay else None
    known = _union(before.previous, before.gtids.to_set())
    missing, forgotten = after.previous.subtract(known), known.subtract(after.previous)
    if missing:
        reason = f" (of which some may stand in damaged ranges of {before.name})"
        text = f"neither in {before.name} nor before it: {missing}"
        yield finding("gtid_gap", at, text + (reason if before.damages else ""), grade=grade)
    if forgotten:
        text = f"not among its PREVIOUS_GTIDS: {forgotten}"
        yield finding("gtid_forgotten", at, text, grade=grade)


def _name(
    before: FileFacts, after: FileFacts, at: Place, told: bool, *, proved: bool
) -> Iterator[Finding]:
    """Whether ROTATE names the next file; a file that was renamed is no gap."""
    if before.next_name is None or told:
        return
    _, stem, number = split_name(after.name)
    _, named, following = split_name(before.next_name)
    if (stem, number) == (named, following):
        return
    renamed = number is None or proved or (number == following)
    text = f"{before.name} goes on in {before.next_name}"
    yield finding("next_name", at, text, grade=Grade.NOTE if renamed else None)


def _union(a: GtidSet, b: GtidSet) -> GtidSet:
    both = {source: list(ranges) for source, ranges in a.intervals.items()}
    for source, ranges in b.intervals.items():
        both.setdefault(source, []).extend(ranges)
    return GtidSet(both)
