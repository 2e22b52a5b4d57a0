"""The judges of ``binlogkit conform``: what compares one log with each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from binlogkit.errors import InputError, UsageError

if TYPE_CHECKING:
    from binlogkit.analyses.conformance import ConformanceResult
    from binlogkit.log import Log
    from binlogkit.sources.carriers import Carrier


@dataclass(frozen=True, slots=True)
class Subject:
    """What is judged: a log's events and rows as ``decoded`` has them in the format ``kind``, or as
    we have them, where these are None; ``name``: of the decoder; ``known``: differences to leave
    out."""

    log: Log
    known: list[dict[str, Any]]
    decoded: str | None
    kind: str | None
    name: str

    def records(self, carrier: Carrier) -> tuple[Any, Any, list[Any]]:
        """The events, rows and schemas to judge; our rows are batches.

        Progress is that of the events, which are read as the judge proceeds.
        """
        from binlogkit.analyses.conformance import parse_decoded
        from binlogkit.cli.progress import unwatched
        from binlogkit.log import Log
        from binlogkit.log.conforming import own_records

        options, aside = self.log.options, unwatched(carrier)
        if self.decoded is None or self.kind is None:
            return own_records(carrier, aside, options)
        theirs = parse_decoded(lines_of_file(self.decoded), self.kind)
        schemas: list[Any] = [*theirs.schemas] or [*Log([aside], options).table_schemas()]
        return theirs.events, theirs.rows, schemas


Judge = Callable[[Subject, "Carrier"], "ConformanceResult"]


def judges_of(
    names: Sequence[str], oracle: Any, golden: Path | None, server: str | None
) -> Iterator[Judge]:
    """What compares one log with each judge that is named."""
    for name in dict.fromkeys(names):
        if name == "golden":
            yield partial(_by_golden, golden)
        elif name == "server":
            assert server is not None
            yield _ServerJudge(server)
        else:
            yield partial(_by_mysqlbinlog, oracle)


def judge_name(judge: str, version: str) -> str:
    """What a judge is called in the verdict; ``version``: mysqlbinlog's."""
    if judge == "server":
        return "the server"
    return "the expected lines" if judge == "golden" else f"mysqlbinlog {version}"


def _by_mysqlbinlog(oracle: Any, subject: Subject, carrier: Carrier) -> ConformanceResult:
    """One log's comparison with mysqlbinlog."""
    from binlogkit.cli.progress import unwatched
    from binlogkit.log.conforming import by_mysqlbinlog

    return by_mysqlbinlog(
        oracle, unwatched(carrier), subject.records(carrier), file=carrier.name,
        baseline=subject.known, decoder=subject.name,
    )  # fmt: skip


def _by_golden(folder: Path | None, subject: Subject, carrier: Carrier) -> ConformanceResult:
    """One log's comparison with its expected lines.

    A golden log's tables and XA transactions may begin in an earlier log, so all are read together.
    """
    from binlogkit.analyses.conformance import against_golden
    from binlogkit.log.stored_events import field_bytes
    from binlogkit.sources.expected import expected_lines

    place, log = Path(carrier.name), subject.log
    where = place.parent if folder is None else folder
    schemas: list[Any] = list(log.table_schemas())
    if subject.decoded is None:
        events: Any = (e for e in log.event_records() if e["file"] == carrier.name)
        rows: Any = (r for r in log.row_records() if r["file"] == carrier.name)
    else:
        events, rows, own = subject.records(carrier)
        schemas = own or schemas
    return against_golden(
        events, rows, schemas, expected_lines(where, "events", place.name),
        expected_lines(where, "rows", place.name), file=carrier.name, baseline=subject.known,
        decoder=subject.name, field_bytes=partial(field_bytes, log, carrier),
    )  # fmt: skip


class _ServerJudge:
    """Compares logs with the server that wrote them; after the last one, their tables."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._ends: dict[str, int] = {}

    def __call__(self, subject: Subject, carrier: Carrier) -> ConformanceResult:
        """One log's comparison."""
        from binlogkit.analyses.conformance.against_server import against_server
        from binlogkit.analyses.conformance.server_lines import Line, lines_of
        from binlogkit.cli.progress import unwatched
        from binlogkit.constants import EventFlag
        from binlogkit.log.conforming import as_file
        from binlogkit.log.server.served import served_tables
        from binlogkit.log.stored_events import StoredEvents
        from binlogkit.rows.series import split_name
        from binlogkit.sources.server.listed import listed_events

        stem, number = split_name(carrier.name)[1:]
        if number is None:
            raise UsageError(f"{carrier.name} has no number, by which its server would know it")
        aside = unwatched(carrier)
        with as_file(aside) as path:
            size = self._ends[carrier.name] = Path(path).stat().st_size
        first = next(iter(StoredEvents(aside)), None)
        relay = first is not None and bool(first.raw.header.flags & EventFlag.RELAY_LOG)
        listed = listed_events(self._server, f"{stem}.{number:06}", relay=relay)
        last = len(self._ends) == len(subject.log.carriers) and not relay
        return against_server(
            lines_of(StoredEvents(carrier), relay=relay),
            (Line.shown(*one) for one in listed),
            served_tables(subject.log, self._server, self._ends) if last else (),
            file=carrier.name, end=size, baseline=subject.known,
        )  # fmt: skip


def lines_of_file(path: str) -> Iterator[bytes]:
    """The lines of a file. InputError: it cannot be read."""
    try:
        with Path(path).open("rb") as file:
            yield from file
    except OSError as exc:
        raise InputError(path, f"cannot be read: {exc}") from exc
