"""The verification of a log: what the evidence report and the command ``verify`` are made from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from binlogkit.analyses.verify import FileFacts, Finding, Grade, Joint, Verifier
from binlogkit.constants import ENCRYPTED_MAGIC
from binlogkit.errors import DamageError, InputError, MalformedEventError
from binlogkit.events.base import Event
from binlogkit.events.early import EarlyRows
from binlogkit.events.rows import RowsEvent
from binlogkit.events.table_map import TableMap
from binlogkit.frames.fields.ledger import FINDING
from binlogkit.rows.images import Decoders
from binlogkit.rows.reading import Reading
from binlogkit.rows.steps import Step, steps_of
from binlogkit.sources.keyring import NO_KEYS

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from binlogkit.log.log import Log
    from binlogkit.sources.carriers import Carrier

__all__ = ["FindingStream", "Verification", "verify", "verify_log"]


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
        import pyarrow as pa

        from binlogkit.frames.fields.field import arrow_schema

        return pa.Table.from_pylist(self.records(), schema=arrow_schema(FINDING))

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


def verify(
    source: Any, *, rows: bool = False, on_damage: str = "report", **options: Any
) -> Verification:
    """Verify logs: ``binlogkit.open(source, …).verify()``; see :meth:`binlogkit.Log.verify`."""
    from binlogkit.log.opening import open_log

    return open_log(source, on_damage=on_damage, **options).verify(rows=rows)


def verify_log(log: Log, *, rows: bool = False) -> Verification:
    """See :meth:`binlogkit.log.log.Log.verify`."""
    stream = FindingStream(log, rows=rows)
    return Verification(list(stream), stream.files, stream.joints, stream.unreadable)


class FindingStream:
    """The findings of a log as they are found; the other facts are there when it has ended.

    ``rows``: decode all rows, not only those whose bytes no checksum vouches for.
    """

    def __init__(self, log: Log, *, rows: bool = False) -> None:
        self._log = log
        self._all_rows = rows
        self._verifier = Verifier()
        self._decoders = Decoders()
        self._vouched = False
        self._loose: dict[str, int] = {}
        self.unreadable: InputError | None = None
        self.worst = Grade.NOTE

    @property
    def files(self) -> list[FileFacts]:
        """What was learned of each file."""
        return self._verifier.files

    @property
    def joints(self) -> list[Joint]:
        """The pairs of files that follow each other."""
        return self._verifier.joints()

    def __iter__(self) -> Iterator[Finding]:
        for found in self._found():
            if found.grade == Grade.DAMAGE or self.worst == Grade.NOTE:
                self.worst = found.grade
            yield found

    def _found(self) -> Iterator[Finding]:
        verifier = self._verifier
        for carrier in self._log.carriers:
            try:
                yield from self._of(carrier)
            except InputError as error:
                self.unreadable = self.unreadable.and_also(error) if self.unreadable else error
                continue
            yield from verifier.end_file()
        yield from verifier.end()

    def _of(self, carrier: Carrier) -> Iterator[Finding]:
        verifier = self._verifier
        begun = False
        for event, damages, step in self._events(carrier):
            if not begun:
                begun = True
                yield from verifier.begin(carrier.name, encrypted=_is_encrypted(carrier))
            for error in damages:
                yield from verifier.damaged(error, event)
            if event is None or step is None:
                continue
            yield from verifier.feed(event)
            yield from self._check_rows(step)
        if not begun:
            yield from verifier.begin(carrier.name, encrypted=_is_encrypted(carrier))
        verifier.facts.loose = carrier.name in self._loose

    def _events(
        self, carrier: Carrier
    ) -> Iterator[tuple[Event | None, list[DamageError], Step | None]]:
        """Each event with the damage that was met before or in it; last what the end has."""
        reading = Reading([carrier], self._log.options)
        try:
            for step in steps_of(reading):
                yield step.event, self._fresh(reading, step), step
        except DamageError as error:
            reading.damages.append(error)
        self._loose |= reading.loose
        rest = self._fresh(reading, None)
        if rest:
            yield None, rest, None

    @staticmethod
    def _fresh(reading: Reading, step: Step | None) -> list[DamageError]:
        """Take the reading's new damage; what the checks of rows tell themselves is left out."""
        if not reading.damages:
            return []
        taken, reading.damages[:] = list(reading.damages), []
        if step is None or not isinstance(step.event.body, (RowsEvent, EarlyRows, TableMap)):
            return taken
        return [e for e in taken if not _told_elsewhere(e, step)]

    def _check_rows(self, step: Step) -> Iterator[Finding]:
        """Decode rows whose bytes no checksum vouches for."""
        event = step.event
        if event.raw.inner is None:
            self._vouched = event.raw.checksum == "ok"
        wanted = self._all_rows or not self._vouched
        if not wanted or step.schema is None or not isinstance(event.body, RowsEvent):
            return
        try:
            for _ in self._decoders.of(step.schema, step.server_version).rows(event):
                pass
        except DamageError as error:
            yield from self._verifier.damaged(error, event)


def _told_elsewhere(error: DamageError, step: Step) -> bool:
    return (
        isinstance(error, MalformedEventError)
        and error.field == "table_id"
        and error.offset == step.event.raw.pos
    )


def _is_encrypted(carrier: Carrier) -> bool:
    """Whether the file is encrypted; without keys it is not read at all."""
    if carrier.keys == NO_KEYS:
        return False
    try:
        with carrier.opener() as stored:
            return stored.read(len(ENCRYPTED_MAGIC)) == ENCRYPTED_MAGIC
    except OSError:  # the reading itself tells
        return False
