"""The verification of a log: the data of the evidence report and the command ``verify``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from binlogkit.errors import DamageError, InputError
from binlogkit.frames.fields.field import to_table
from binlogkit.frames.fields.ledger import FINDING
from binlogkit.frames.row_counts import RowCounts
from binlogkit.log.copies import Differing, differing
from binlogkit.log.states.images.checks import Checked, ImageChecks
from binlogkit.log.states.images.contradictions import unlogged
from binlogkit.overview import Overview, Overviewed
from binlogkit.rows.filters import Filters
from binlogkit.rows.reading import Reading
from binlogkit.rows.soundness import FileFacts, Finding, Gaps, Grade, Joint, Soundness
from binlogkit.rows.window import Met, Stretch, Window

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from binlogkit.log.streams import Streams


@dataclass(frozen=True, slots=True, repr=False)
class Verification(Overviewed):
    """What was found, in order, and what was learned of each file.

    ``images``: for each table the number of compared images; ``unreadable``: the error of each
    input that could not be read.
    """

    findings: list[Finding]
    files: list[FileFacts]
    joints: list[Joint]
    images: list[Checked] = field(default_factory=list)
    unreadable: InputError | None = None

    @property
    def well(self) -> bool:
        """Whether there are only notes."""
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

    def image_records(self) -> list[dict[str, object]]:
        """How many images of each table were compared, as records."""
        return [table.record() for table in self.images]

    def table(self) -> pa.Table:
        """The findings as an Arrow table."""
        return to_table(self.records(), FINDING)

    def frame(self) -> pd.DataFrame:
        """The findings as a pandas frame."""
        from binlogkit.frames.natural import natural

        return natural(self.table(), FINDING)

    def overview(self) -> Overview:
        """How many findings there are of each grade, and what they are."""
        facts = [(str(g), sum(f.grade == g for f in self.findings)) for g in Grade]
        return Overview("verification", facts, self.records())


def _kind(file: FileFacts) -> str:
    if file.loose:
        return "loose events"
    return "relay log" if file.relay else "binary log"


def verify_log(log: Streams, *, rows: bool = False, images: bool = False) -> Verification:
    """See :meth:`binlogkit.log.log.Log.verify`."""
    stream = FindingStream(log, rows=rows, images=images)
    found = list(stream)
    return Verification(found, stream.files, stream.joints, stream.images, stream.unreadable)


class FindingStream:
    """The findings of a log as they are found; the other facts are complete at its end.

    ``rows``: check all rows, not only those whose bytes no checksum vouches for; ``images``:
    compare each image before a change with what the log last said of the row; ``gaps``: what a
    reading adds to :meth:`fresh`; ``files``: what was learned of each file.
    """

    def __init__(self, log: Streams, *, rows: bool = False, images: bool = False) -> None:
        self._log = log
        self._all_rows = rows
        self._with_images = images
        self.images: list[Checked] = []
        self._soundness = Soundness(keeps=log.options.duplicates == "keep")
        self._fresh: list[Finding] = []
        self.gaps = Gaps(self._soundness, self._unread_rows, self._fresh.extend)
        self.files = self._soundness.files
        self._counts = RowCounts(stops=False)
        self._vouched = False
        self.unreadable: InputError | None = None
        self.worst = Grade.NOTE

    @property
    def joints(self) -> list[Joint]:
        """The pairs of consecutive files."""
        return self._soundness.joints

    def __iter__(self) -> Iterator[Finding]:
        for found in self._found():
            if found.grade == Grade.DAMAGE or self.worst == Grade.NOTE:
                self.worst = found.grade
            yield found

    def _found(self) -> Iterator[Finding]:
        carriers, series = list(self._log.carriers), None
        while carriers:
            reading = Reading(carriers, self._log.options, gaps=self.gaps, series=series)
            series = reading.series
            carriers = []
            try:
                for _ in self._compared(reading) if self._with_images else reading.windows():
                    yield from self.fresh()
            except DamageError as error:
                stopped = reading.carriers[reading.at]
                carriers = list(reading.carriers[reading.at + 1 :])
                yield from self._soundness.stop(stopped, error, loose=stopped.name in reading.loose)
            except InputError:
                pass
            yield from self.fresh()
            if reading.unreadable is not None:
                known = self.unreadable
                self.unreadable = (
                    known.and_also(reading.unreadable) if known else reading.unreadable
                )
        copied = self._soundness.copied()
        yield from self.end(differing(self._log.carriers, self._log.options, *copied))

    def _compared(self, reading: Reading) -> Iterator[object]:
        """Pass the batches of a reading to the image comparison, whose result comes last."""
        checks = ImageChecks()
        try:
            yield from self._log.read_batches(reading, Filters(), frozenset(), images=checks)
        finally:
            self._fresh += self.unlogged(checks, reading)

    def unlogged(self, checks: ImageChecks, reading: Reading) -> list[Finding]:
        """The result of the image comparison."""
        self.images += checks.checked.values()
        return [one.finding() for one in unlogged(self._log, checks, reading.gaps)]

    def fresh(self) -> list[Finding]:
        """What was found since the last call."""
        found = self._fresh.copy()
        self._fresh.clear()
        return found

    def end(self, copies: Iterable[Differing]) -> list[Finding]:
        """The findings after the last window; ``copies``: how copied transactions differ."""
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
        """Which events' bytes a checksum vouches for; inside a payload, the payload's."""
        count = len(stretch.entries)
        if stretch.outer is not None:
            return np.full(count, self._vouched)
        if stretch.raws is None:
            self._vouched = stretch.checked
            return np.full(count, self._vouched)
        found = np.zeros(count, bool)
        for i, raw in enumerate(stretch.raws[:count]):
            if raw.inner is None:
                self._vouched = raw.checksum == "ok"
            found[i] = self._vouched
        return found
