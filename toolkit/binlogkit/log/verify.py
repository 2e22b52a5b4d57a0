"""The verification of a log: what the evidence report and the command ``verify`` are made from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from binlogkit.errors import DamageError, InputError
from binlogkit.frames.fields.field import to_table
from binlogkit.frames.fields.ledger import FINDING
from binlogkit.frames.row_counts import RowCounts
from binlogkit.log.copies import differing
from binlogkit.rows.reading import Reading
from binlogkit.rows.soundness import FileFacts, Finding, Grade, Joint, Soundness
from binlogkit.rows.watch import Met
from binlogkit.rows.window import Stretch, Window

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from binlogkit.log.streams import Streams


@dataclass(frozen=True, slots=True)
class Verification:
    """What was found, in order, and what was learned of each file.

    ``unreadable``: what could not be read at all, each input in it.
    """

    findings: list[Finding]
    files: list[FileFacts]
    joints: list[Joint]
    unreadable: InputError | None = None

    @property
    def well(self) -> bool:
        """Whether nothing but notes was found."""
        return all(f.grade == Grade.NOTE for f in self.findings)

    def records(self) -> list[dict[str, object]]:
        """The findings as records."""
        return [found.record() for found in self.findings]

    def file_records(self) -> list[dict[str, object]]:
        """What was learned of each file, as records."""
        return [
            {
                "file": f.name, "kind": _kind(f),
                "server_version": f.server_version, "server_id": f.server_id, "events": f.events,
                "size": f.size, "ok": f.checksums["ok"], "bad": f.checksums["bad"],
                "none": f.checksums["none"], "ended": f.ended, "damages": f.damages,
            }
            for f in self.files
        ]  # fmt: skip

    def table(self) -> pa.Table:
        """The findings as an Arrow table."""
        return to_table(self.records(), FINDING)

    def frame(self) -> pd.DataFrame:
        """The findings as a pandas frame."""
        from binlogkit.frames.natural import natural

        return natural(self.table(), FINDING)

    def _repr_html_(self) -> str:
        from binlogkit.reports.notebook import overview

        facts = [(str(g), str(sum(f.grade == g for f in self.findings))) for g in Grade]
        return overview("verification", facts, self.records())


def _kind(file: FileFacts) -> str:
    if file.loose:
        return "loose events"
    return "relay log" if file.relay else "binary log"


def verify_log(log: Streams, *, rows: bool = False) -> Verification:
    """See :meth:`binlogkit.log.log.Log.verify`."""
    stream = FindingStream(log, rows=rows)
    return Verification(list(stream), stream.files, stream.joints, stream.unreadable)


class FindingStream:
    """The findings of a log as they are found; the other facts are there when it has ended.

    ``rows``: step over all rows, not only those whose bytes no checksum vouches for; ``files``:
    what was learned of each file.
    """

    def __init__(self, log: Streams, *, rows: bool = False) -> None:
        self._log = log
        self._all_rows = rows
        self._soundness = Soundness(keeps=log.options.duplicates == "keep")
        self.files = self._soundness.files
        self._counts = RowCounts(stops=False)
        self._vouched = False
        self.unreadable: InputError | None = None
        self.worst = Grade.NOTE

    @property
    def joints(self) -> list[Joint]:
        """The pairs of files that follow each other."""
        return self._soundness.joints

    def __iter__(self) -> Iterator[Finding]:
        for found in self._found():
            if found.grade == Grade.DAMAGE or self.worst == Grade.NOTE:
                self.worst = found.grade
            yield found

    def _found(self) -> Iterator[Finding]:
        carriers, series = list(self._log.carriers), None
        while carriers:
            reading = Reading(carriers, self._log.options, series=series)
            series = reading.series
            carriers = []
            try:
                for window in reading.windows():
                    yield from self.take(window)
            except DamageError as error:
                stopped = reading.carriers[reading.at]
                carriers = list(reading.carriers[reading.at + 1 :])
                yield from self._soundness.stop(stopped, error, loose=stopped.name in reading.loose)
            except InputError:
                pass
            if reading.unreadable is not None:
                known = self.unreadable
                self.unreadable = (
                    known.and_also(reading.unreadable) if known else reading.unreadable
                )
        yield from self.end()

    def take(self, window: Window) -> list[Finding]:
        """The findings of a window, of a reading that others take as well."""
        return self._soundness.take(window, self._unread_rows(window))

    def end(self) -> list[Finding]:
        """The findings after the last window; logs that have copies are read again for it."""
        log, copied = self._log, self._soundness.copied()
        copies = differing(log.carriers, log.options, *copied)
        return [*self._soundness.end(), *(found for found, _ in copies)]

    def _unread_rows(self, window: Window) -> list[Met]:
        """The rows that cannot be read, among those whose bytes no checksum vouches for."""
        stretch = window.stretch
        if stretch is None:
            return []
        vouched = self._vouching(stretch)
        if vouched.all() and not self._all_rows:
            return []
        found = self._counts.of(window)[1]
        return [met for met in found if self._all_rows or not vouched[met[0]]]

    def _vouching(self, stretch: Stretch) -> np.ndarray[Any, Any]:
        """Which events' bytes a checksum vouches for, its payload's for those inside one."""
        count = len(stretch.entries)
        if stretch.outer is not None:
            return np.full(count, self._vouched)
        if stretch.raws is None:
            self._vouched = stretch.tail > 0
            return np.full(count, self._vouched)
        found = np.zeros(count, bool)
        for i, raw in enumerate(stretch.raws[:count]):
            if raw.inner is None:
                self._vouched = raw.checksum == "ok"
            found[i] = self._vouched
        return found
