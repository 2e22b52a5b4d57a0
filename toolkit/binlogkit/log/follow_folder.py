"""A folder's logs as they are written: rows and transactions from a place on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from binlogkit.errors import UsageError
from binlogkit.events.gtid_set import GtidSet
from binlogkit.log.transactions_as_written import Following
from binlogkit.rows.filter_args import place_in
from binlogkit.rows.options import ReadOptions, Start
from binlogkit.rows.reading import Reading
from binlogkit.rows.series import split_name
from binlogkit.sources.carriers import Carrier
from binlogkit.sources.carriers.carrier import up_to
from binlogkit.sources.carriers.coming import ComingLogs, growing_carrier
from binlogkit.sources.growing import FolderLog
from binlogkit.sources.server.resume import Stop

if TYPE_CHECKING:
    from collections.abc import Sequence

    from binlogkit.log.streams import Streams

_START = 4  # of a log's first event


def follow_folder(
    log: Streams,
    *,
    at: str | tuple[str, int] | None = None,
    gtid_set: str | GtidSet | None = None,
    wait: bool = True,
    stop: Stop | None = None,
) -> Following:
    """What is written to a log's files from a place on, or the transactions outside a GTID set.

    ``log``: of local files; the next ones are those of higher numbers in the last one's folder;
    ``at``: ``FILE:POS`` or both, at a transaction's end; what comes before is read for table
    definitions only; ``wait``, ``stop``: as :func:`binlogkit.follow`. Errors: UsageError.
    """
    if at is not None and gtid_set is not None:
        raise UsageError("logs are followed from a place or by GTIDs, not both")
    stop = Stop() if stop is None else stop
    known = GtidSet.parse(gtid_set) if isinstance(gtid_set, str) else gtid_set
    start, carriers = Start(seen=known), list(log.carriers)
    if at is not None:
        carriers, start = _from_place(log, at)
    folder = _Folder(carriers, stop, wait=wait)
    return Following(ComingLogs([], folder.next_log, folder.pending), log.options, start, stop.now)


def _from_place(log: Streams, at: str | tuple[str, int]) -> tuple[list[Carrier], Start]:
    """The logs from a place on, and what is known from those before it."""
    name, pos = place_in(log.files, at)
    number = log.files.index(name)
    before = list(log.carriers[:number])
    if pos > _START:
        before.append(up_to(log.carriers[number], pos))
    start = _known_after(before, log.options) if before else Start()
    return log.carriers[number:], replace(start, begin=pos if pos > _START else 0)


def _known_after(carriers: Sequence[Carrier], options: ReadOptions) -> Start:
    """A start after these logs, as if they had been read."""
    reading = Reading(carriers, options)
    number = 0
    for window in reading.windows():
        if len(window.transactions):
            number = int(window.transactions["number"][-1]) + 1
    return reading.start_after(number, reading.seen.to_set())


class _Folder:
    """The logs of a folder, each when the one before has ended."""

    def __init__(self, first: Sequence[Carrier], stop: Stop, *, wait: bool) -> None:
        self._stop, self._wait = stop, wait
        self._known = [self._path(carrier) for carrier in first]
        self._source = first[0].source if first else None
        self._at = 0
        self._file: FolderLog | None = None

    @staticmethod
    def _path(carrier: Carrier) -> Path:
        path = Path(carrier.name)
        if split_name(carrier.name)[2] is None or not path.is_file():
            raise UsageError(
                f"{carrier.name} cannot be followed: it is no local log file with a number"
            )
        return path

    def pending(self) -> bool:
        """Whether the current log has unread bytes."""
        return self._file is not None and self._file.pending()

    def next_log(self) -> Carrier | None:
        """The next log once it is there; None if no more will come."""
        at, self._at = self._at, self._at + 1
        while at == len(self._known):
            following = _after(self._known[-1])
            if following is not None:
                self._known.append(following)
            elif self._stop or not self._wait:
                return None
            else:
                self._stop.sleep(0.05)
        path = self._known[at]

        def opened() -> FolderLog:
            self._file = FolderLog(path, lambda: _after(path), self._stop, wait=self._wait)
            return self._file

        return growing_carrier(str(path), opened, self._source)


def _after(path: Path) -> Path | None:
    """The log with the next higher number in another one's folder."""
    _, stem, number = split_name(path.name)
    found = []
    for other in path.parent.iterdir():
        _, its_stem, its_number = split_name(other.name)
        if its_stem == stem and its_number is not None and its_number > (number or 0):
            found.append((its_number, other.name))
    return path.parent / min(found)[1] if found else None
