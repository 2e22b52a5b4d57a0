"""Whether files follow each other: names, numbers, ROTATE, PREVIOUS_GTIDS.

Logs of several servers, or a server's binary and relay logs, may be read together: the reading
decides which series a file belongs to (``rows/series.py``). Names may have been changed since; what
GTIDs prove outweighs them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from binlogkit.events.gtid_set import GtidSet
from binlogkit.rows.gtid_ledger import GtidLedger
from binlogkit.rows.series import Series, split_name
from binlogkit.rows.soundness.finding import FileFacts, Finding, Grade, Place, finding


@dataclass(frozen=True, slots=True)
class Joint:
    """Two files of a series that follow each other, and what is wrong between them."""

    before: FileFacts
    after: FileFacts
    findings: tuple[Finding, ...]

    @property
    def status(self) -> str:
        """``gap``, ``continuous``, or ``unknown`` where the logs do not show it."""
        if any(f.grade != Grade.NOTE for f in self.findings):
            return "gap"
        proved = self.before.previous is not None and self.after.previous is not None
        return "continuous" if proved or self.before.next_name is not None else "unknown"


class SeriesLedger:
    """Keeps the files of each series as they are read.

    ``seen``: the GTIDs in any, ``copied`` those that came twice, ``awaited`` those that the files
    follow;
    ``keeps``: whether a transaction counts as often as it comes.
    """

    def __init__(self, *, keeps: bool = False) -> None:
        self.keeps = keeps
        self.seen, self.copied, self.awaited = GtidLedger(), GtidLedger(), GtidLedger()
        self._files: dict[int, list[FileFacts]] = {}  # by the series' identity
        self._series: list[Series | None] = []
        self._own: dict[int, GtidLedger] = {}  # of each server's logs
        self._written: dict[int, list[FileFacts]] = {}

    def add(self, facts: FileFacts, series: Series | None) -> None:
        """A file's first event was read."""
        self._files.setdefault(id(series), []).append(facts)
        self._series.append(series)  # so that no other gets its identity

    def ended(self, facts: FileFacts) -> Iterator[Finding]:
        """A file was read: what it has of those before it."""
        self.awaited.add_set(facts.follows)
        copied = facts.copied.to_set()
        if copied:
            text = f"{copied} are also in an earlier file"
            grade = Grade.WARNING if self.keeps else None
            yield finding("gtid_copied", Place(facts.name), text, grade=grade)
        yield from self._repeated_in(facts)

    def _repeated_in(self, facts: FileFacts) -> Iterator[Finding]:
        """That a file has GTIDs of another log of its own server, and is no copy of it, as a stream
        may begin it otherwise."""
        if facts.relay:
            return
        own, known = facts.gtids.to_set(), self._own.setdefault(facts.server_id, GtidLedger())
        written = self._written.setdefault(facts.server_id, [])
        others = (
            (before.name, before.gtids.common(own))
            for before in (written if facts.copied and known.common(own) else ())
            if before.ends_in[:1] != facts.ends_in[:1]
            and before.first_timestamp != facts.first_timestamp
        )
        name, repeated = next((one for one in others if one[1]), ("", None))
        if repeated:
            text = (
                f"{repeated} are other transactions in {name}, of the same server (RESET MASTER, a "
                "restore?): they are left out here"
            )
            yield finding("gtid_repeated", Place(facts.name), text)
        known.add_set(own)
        written.append(facts)

    def end(self) -> Iterator[Finding]:
        """What is wrong with the order of files, and between them."""
        ordered = True
        for files in self._files.values():
            for found in _order(files, keeps=self.keeps):
                ordered = ordered and found.code != "file_order"
                yield found
            for joint in joints(files, self.seen):
                yield from joint.findings
        yield from self._between_series()
        yield from self._alike()
        late = next((f for files in self._files.values() for f in files if f.late), None)
        if ordered and late is not None:
            text = f"a file that was read earlier says that it follows {late.late.to_set()}"
            yield finding("file_order", Place(late.name), text)

    def _between_series(self) -> Iterator[Finding]:
        """Transactions that no series has, before one that goes on with others': its server took
        over, and purged them."""
        series = [_sorted(_distinct(files)) for files in self._files.values()]
        held = [_held(files) for files in series] if len(series) > 1 else []
        for i, own in enumerate(held):
            others, first = GtidLedger(), series[i][0]
            for one in (*held[:i], *held[i + 1 :]):
                others.add_set(one)
            missing = first.follows.subtract(others.to_set())
            if missing and others.common(own):
                grade = Grade.NOTE if first.relay else None
                text = f"neither in the other files nor before them: {missing}"
                yield finding("gtid_gap", Place(first.name), text, grade=grade)

    def _alike(self) -> Iterator[Finding]:
        """Files of other names that are the same; where all has a GTID, that is found by those."""
        known: dict[tuple[int, ...], FileFacts] = {}
        for files in self._files.values():
            for file in files:
                before = known.setdefault(file.ends_in, file)
                named = before.name != file.name or file.name.startswith("<")
                if before is not file and named and file.anonymous:
                    text = f"it begins and ends like {before.name}, with the same number of events"
                    yield finding("file_repeated", Place(file.name), text)

    def joints(self) -> Iterator[Joint]:
        """All pairs of files that follow each other."""
        for files in self._files.values():
            yield from joints(files, self.seen)


def joints(files: Sequence[FileFacts], seen: GtidLedger) -> Iterator[Joint]:
    """The pairs of one series in the order of their numbers, repeated files left out; ``seen``: the
    GTIDs in any series."""
    for before, after in pairwise(_sorted(_distinct(files))):
        yield Joint(before, after, tuple(_between(before, after, seen)))


def _held(files: Sequence[FileFacts]) -> GtidSet:
    """The GTIDs in the files of a series, and before them."""
    found = GtidLedger(files[0].follows)
    for file in files:
        found.add_set(file.gtids.to_set())
    return found.to_set()


def _sorted(files: list[FileFacts]) -> list[FileFacts]:
    """By number; where names have none, by what PREVIOUS_GTIDS prove; else as they were given."""
    numbers = {file.name: split_name(file.name)[2] for file in files}
    if None not in numbers.values():
        return sorted(files, key=lambda file: numbers[file.name] or 0)
    if all(file.previous is not None for file in files):
        return sorted(files, key=lambda f: f.previous.count() if f.previous else 0)
    return files


def _distinct(files: Sequence[FileFacts]) -> list[FileFacts]:
    """The files without those that were named again; bytes and streams have no names."""
    found: dict[object, FileFacts] = {}
    for i, file in enumerate(files):
        found.setdefault(i if file.name.startswith("<") else file.name, file)
    return list(found.values())


def _order(files: list[FileFacts], *, keeps: bool) -> Iterator[Finding]:
    distinct = _distinct(files)
    first = set(map(id, distinct))
    for file in files:
        if id(file) not in first:
            once = file.copied and not file.anonymous and not keeps
            text, grade = "it was given more than once", Grade.NOTE if once else None
            yield finding("file_repeated", Place(file.name), text, grade=grade)
    ordered = _sorted(distinct)
    for given, right in zip(distinct, ordered, strict=True):
        if given is not right:
            text = f"it was read in the place of {right.name} belongs"
            yield finding("file_order", Place(given.name), text)
            return


def _between(before: FileFacts, after: FileFacts, seen: GtidLedger) -> Iterator[Finding]:
    at = Place(after.name)
    gap = list(_gtids(before, after, at, seen))
    proved = not gap and not before.anonymous and not after.anonymous
    elsewhere = proved and bool((after.previous or GtidSet()).subtract(_until(before)))
    missing = list(_numbers(before, after, at, elsewhere=elsewhere))
    yield from (*missing, *gap)
    if not missing:
        yield from _name(before, after, at, proved=_proved(before, after) and not gap)
    if before.server_version != after.server_version:
        text = f"{before.server_version or '?'} before it, {after.server_version or '?'} in it"
        yield finding("server_changed", at, text)


def _until(file: FileFacts) -> GtidSet:
    """The GTIDs in a file and those that it lists before it."""
    return (file.previous or GtidSet()).union(file.gtids.to_set())


def _numbers(
    before: FileFacts, after: FileFacts, at: Place, *, elsewhere: bool
) -> Iterator[Finding]:
    _, stem, first = split_name(before.name)
    _, _, last = split_name(after.name)
    if first is None or last is None or last <= first + 1:
        return
    missing = f"{stem}.{first + 1:06}"
    if last > first + 2:
        missing += f" to {stem}.{last - 1:06}"
    grade, text = None, f"{missing} before it: not among the files"
    if elsewhere:
        grade, text = Grade.NOTE, f"{text}, whose transactions others have"
    yield finding("file_missing", at, text, grade=grade)


def _proved(before: FileFacts, after: FileFacts) -> bool:
    """Whether GTIDs prove that one follows the other."""
    return bool(before.previous is not None and after.previous and before.gtids.to_set())


def _gtids(before: FileFacts, after: FileFacts, at: Place, seen: GtidLedger) -> Iterator[Finding]:
    if before.previous is None or after.previous is None:
        return
    grade = Grade.NOTE if after.relay else None
    known = _until(before)
    missing, forgotten = after.previous.subtract(known), known.subtract(after.previous)
    missing = missing.subtract(seen.common(missing))  # another server's logs have the rest
    if missing:
        reason = f" (some of them may be in damaged ranges of {before.name})"
        text = f"neither in {before.name} nor before it: {missing}"
        yield finding("gtid_gap", at, text + (reason if before.damages else ""), grade=grade)
    if forgotten:
        text = f"not among its PREVIOUS_GTIDS: {forgotten}"
        yield finding("gtid_forgotten", at, text, grade=grade)


def _name(before: FileFacts, after: FileFacts, at: Place, *, proved: bool) -> Iterator[Finding]:
    """Whether ROTATE names the next file; a file that was renamed is no gap."""
    if before.next_name is None:
        return
    _, stem, number = split_name(after.name)
    _, named, following = split_name(before.next_name)
    if (stem, number) == (named, following):
        return
    renamed = number is None or proved or (number == following)
    text = f"{before.name} continues in {before.next_name}"
    yield finding("next_name", at, text, grade=Grade.NOTE if renamed else None)
