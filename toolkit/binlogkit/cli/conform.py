"""``binlogkit conform``: a decoder's output against mysqlbinlog, every difference explained."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from binlogkit.cli.help import Command
from binlogkit.cli.options import (
    input_options,
    open_input,
    output_of,
    output_options,
)
from binlogkit.cli.pages import page_of, page_options
from binlogkit.cli.status import FINDINGS, WELL, complain, note, status_of
from binlogkit.errors import InputError, UsageError

if TYPE_CHECKING:
    from binlogkit.analyses.conformance import ConformanceResult
    from binlogkit.log import Log
    from binlogkit.reports.output import Output
    from binlogkit.sources.carriers import Carrier


#: What has no meaning with --rules.
_COMPARING = (
    "program", "golden", "server", "decoded", "decoded_format", "decoder", "junit", "html",
    "mask_key", "baseline", "write_baseline",
)  # fmt: skip
#: The formats that name no program.
_NAMELESS = {"rows": "the decoder", "binlogkit": "the decoder"}


def _print_row_form(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        from binlogkit.schemas import load

        click.echo(json.dumps(load("decoded_row"), indent=1, ensure_ascii=False))
        context.exit()


@click.command("conform", cls=Command)
@input_options
@click.option(
    "--against",
    "judges",
    type=click.Choice(["mysqlbinlog", "golden", "server"]),
    multiple=True,
    default=["mysqlbinlog"],
    show_default=True,
    help="The judge; several when it is given again.",
)
@click.option(
    "--server",
    metavar="DSN",
    help="The server of --against server: mysql://user@host:port (password: environment variable "
    "BINLOGKIT_PASSWORD).",
)
@click.option(
    "--golden",
    "golden",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Where events.jsonl and rows.jsonl of --against golden are; by default beside FILE.",
)
@click.option("--mysqlbinlog", "program", metavar="PROGRAM", help="The mysqlbinlog to use.")
@click.option("--decoded", metavar="OUT", help="Another decoder's output for the one FILE.")
@click.option(
    "--as",
    "decoded_format",
    metavar="FORMAT",
    help="What --decoded is: rows (the default; --row-form prints its JSON Schema), binlogkit, "
    "mysqlbinlog, debezium, maxwell, canal.",
)
@click.option(
    "--row-form",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_row_form,
    help="Instead: print the JSON Schema of a line of --as rows.",
)
@click.option(
    "--decoder", metavar="NAME", help="What --decoded's maker is called; by default as its format."
)
@click.option(
    "--explained",
    is_flag=True,
    help="List every difference: those that a rule explains, too.",
)
@click.option("--junit", metavar="FILE", help="Write the result as JUnit XML, too.")
@page_options("Write it as a report, one HTML file, too; with --mask alone.")
@click.option("--baseline", metavar="FILE", help="Known differences to leave out (JSON lines).")
@click.option(
    "--allow-unjudged",
    is_flag=True,
    help="Status 0 even where neither mysqlbinlog nor the log's bytes decide.",
)
@click.option("--write-baseline", metavar="FILE", help="Write the differences found as a baseline.")
@click.option(
    "--rules",
    "by_rules",
    is_flag=True,
    help="Instead: the events that contradict the logging rules (docs/logging-rules.md).",
)
@click.option(
    "--set",
    "declared",
    multiple=True,
    metavar="NAME=VALUE",
    help="With --rules: the server's binlog_format and binlog_row_image (repeatable).",
)
@output_options
def command(**arguments: Any) -> int:
    """The verdict, and one record per difference that no rule explains.

    Event structure is compared first, values second, and each difference classified. Of the rules
    by which the decoder is wrong the first difference each is listed, all with --explained.

    The judge is mysqlbinlog with the log's own bytes; or the expected events and rows of a golden
    log, of which every key is compared; or the running server that wrote the log, by SHOW BINLOG
    EVENTS, and by SELECT of its tables beside the log's states at the server's position. Several
    judge one after the other.

    Kinds: ours, theirs, representation, under_determined, unexplained. The verdict goes to
    standard error, with the counts of all. Status 1: a difference is ours or unexplained, or nobody
    judged something.

    With --rules one record per event that no server could have written under what --set declares:
    images with other columns than the tables' keys allow, changes in another format. Status 1:
    there is one.
    """
    declared = arguments.pop("declared")
    explained = arguments.pop("explained")
    if arguments.pop("by_rules"):
        return _by_rules(arguments, declared)
    if declared:
        raise UsageError("--set goes with --rules")
    from binlogkit.analyses.conformance import Verdict, baseline_lines, merge, read_baseline
    from binlogkit.reports.conformance import verdict_lines, worth_listing
    from binlogkit.reports.junit import write_junit
    from binlogkit.sources.mysqlbinlog import find

    page = page_of(arguments, "output_format", "output", "columns", "junit", "write_baseline")
    output = output_of(arguments)
    program, judges = arguments.pop("program"), arguments.pop("judges")
    oracle = find(program) if "mysqlbinlog" in judges else None
    golden, junit = arguments.pop("golden"), arguments.pop("junit")
    named, server = arguments.pop("decoder"), arguments.pop("server")
    baseline = arguments.pop("baseline")
    lines = () if baseline is None else _lines(baseline)
    known = read_baseline(line.decode("utf-8", "replace") for line in lines)
    decoded, kind = arguments.pop("decoded"), arguments.pop("decoded_format")
    write_to, allowed = arguments.pop("write_baseline"), arguments.pop("allow_unjudged")
    log = open_input(arguments)
    page.find(log)
    if decoded is None and kind is not None:
        raise UsageError("--as goes with --decoded")
    if decoded is not None:
        kind = kind or "rows"
    if decoded is not None and len(log.carriers) != 1:
        raise UsageError("--decoded goes with one FILE")
    name = named or _NAMELESS.get(kind, kind or "ours")
    if ("server" in judges) != (server is not None):
        raise UsageError("--against server and --server go together")
    if server is not None and decoded is not None:
        raise UsageError("a server judges no --decoded: it has no rows of its log")
    subject = _Subject(log, known, decoded, kind, name)
    judging = _judges(judges, oracle, golden, server)
    result = merge([against(subject, carrier) for against in judging for carrier in log.carriers])
    differences = result.differences.to_pylist()
    judge = " and ".join(_called(judge, oracle) for judge in judges)
    shown = [page.difference(one) for one in differences]
    whole = explained or page.masked
    tell(verdict_lines(result.summary, shown, judge, name, explained=whole), result)
    if not page.masked:
        listed = differences if explained else worth_listing(differences)
        _write(listed, output, name, "mysqlbinlog" if judges[0] == "mysqlbinlog" else "expected")
    if write_to is not None:
        Path(write_to).write_text("\n".join([*baseline_lines(result), ""]), "utf-8")
    if junit is not None:
        write_junit(Path(junit), name, differences, result.summary)
    if page.path is not None:
        from binlogkit.reports.conformance import conformance_report

        who = "binlogkit" if name == "ours" else name
        page.write(conformance_report(who, judge, shown, result.summary, log.files))
    passes = allowed and result.summary.verdict is Verdict.UNJUDGED
    return max(
        0 if passes else result.summary.exit_status, 0 if decoded is not None else status_of(log)
    )


def _by_rules(arguments: dict[str, Any], declared: tuple[str, ...]) -> int:
    """The events that contradict the logging rules."""
    from binlogkit.analyses.logging_rules.contradictions import CONTRADICTIONS, Judgement, judgement
    from binlogkit.cli.rules import settings_in
    from binlogkit.reports.output import write_records
    from binlogkit.sources.carriers import read_schema_text

    output = output_of(arguments)
    arguments.pop("judges")
    for name in (*_COMPARING, "masks"):
        if arguments.pop(name) not in (None, ()):
            raise UsageError("--rules compares with no other decoder")
    schema = arguments["schema"]
    tables = None if schema is None else read_schema_text(schema)
    log = open_input(arguments)
    judge: Judgement = judgement(settings_in(declared), tables)
    count = write_records(judge.of(log.event_records()), output, declared=CONTRADICTIONS)
    verdict = f"{count} events contradict the rules; rows events judged: {judge.judged}"
    if judge.unjudged:
        verdict += f", not judged, since their tables' keys are unknown: {judge.unjudged}"
    (complain if count else note)(verdict)
    return max(FINDINGS if count else WELL, status_of(log))


@dataclass(frozen=True, slots=True)
class _Subject:
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
        from binlogkit.analyses.conformance import RowWindows, parse_decoded
        from binlogkit.cli.progress import unwatched
        from binlogkit.log import Log

        options = self.log.options
        aside = Log([unwatched(carrier)], options)
        schemas: list[Any] = list(aside.table_schemas())
        if self.decoded is None or self.kind is None:
            rows = RowWindows(aside.row_windows())
            return Log([carrier], options).event_records(), rows, schemas
        theirs = parse_decoded(_lines(self.decoded), self.kind)
        return theirs.events, theirs.rows, list(theirs.schemas) or schemas


_Judge = Callable[[_Subject, "Carrier"], "ConformanceResult"]


def _judges(
    names: Sequence[str], oracle: Any, golden: Path | None, server: str | None
) -> Iterator[_Judge]:
    for name in dict.fromkeys(names):
        if name == "golden":
            yield partial(_by_golden, golden)
        elif name == "server":
            assert server is not None
            yield _ServerJudge(server)
        else:
            yield partial(_by_mysqlbinlog, oracle)


def _write(records: Sequence[Mapping[str, Any]], output: Output, decoder: str, judge: str) -> None:
    """The records; a table for people has what the sides are called, no column that is empty, and
    on a terminal no proofs."""
    from binlogkit.analyses.conformance import COLUMNS
    from binlogkit.reports.output import write_records

    if output.format == "table" and output.columns is None:
        called = {"ours": decoder, "theirs": judge}
        long = ("proof",) if output.on_terminal else ()
        full = [name for name in COLUMNS if any(r[name] not in (None, "") for r in records)]
        columns = {name: called.get(name, name) for name in full if name not in long}
        if len(set(columns.values())) == len(columns):
            records = [{columns[name]: record[name] for name in columns} for record in records]
            write_records(records, output, names=list(columns.values()))
            return
    write_records(records, output, names=COLUMNS)


def _called(judge: str, oracle: Any) -> str:
    if judge == "server":
        return "the server"
    return "the expected lines" if judge == "golden" else f"mysqlbinlog {oracle.version or ''}"


def _by_mysqlbinlog(oracle: Any, subject: _Subject, carrier: Carrier) -> ConformanceResult:
    """One log's comparison with mysqlbinlog."""
    from binlogkit.analyses.conformance import TextBlocks, against_mysqlbinlog
    from binlogkit.cli.progress import unwatched
    from binlogkit.log.stored_events import stored_events
    from binlogkit.sources.mysqlbinlog import read_blocks

    aside = unwatched(carrier)
    with _as_file(aside) as path:
        return against_mysqlbinlog(
            *subject.records(carrier), TextBlocks(read_blocks(path, using=oracle)),
            file=carrier.name, baseline=subject.known, stored=stored_events(aside),
            decoder=subject.name,
        )  # fmt: skip


def _by_golden(folder: Path | None, subject: _Subject, carrier: Carrier) -> ConformanceResult:
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

    def __call__(self, subject: _Subject, carrier: Carrier) -> ConformanceResult:
        """One log's comparison."""
        from binlogkit.analyses.conformance.against_server import against_server
        from binlogkit.analyses.conformance.server_lines import Line, lines_of
        from binlogkit.cli.progress import unwatched
        from binlogkit.constants import EventFlag
        from binlogkit.log.served import served_tables
        from binlogkit.log.stored_events import stored_events
        from binlogkit.rows.series import split_name
        from binlogkit.sources.server.listed import listed_events

        stem, number = split_name(carrier.name)[1:]
        if number is None:
            raise UsageError(f"{carrier.name} has no number, by which its server would know it")
        aside = unwatched(carrier)
        with _as_file(aside) as path:
            size = self._ends[carrier.name] = Path(path).stat().st_size
        first = next(stored_events(aside), None)
        relay = first is not None and bool(first.raw.header.flags & EventFlag.RELAY_LOG)
        listed = listed_events(self._server, f"{stem}.{number:06}", relay=relay)
        last = len(self._ends) == len(subject.log.carriers) and not relay
        return against_server(
            lines_of(stored_events(carrier), relay=relay),
            (Line.shown(*one) for one in listed),
            served_tables(subject.log, self._server, self._ends) if last else (),
            file=carrier.name, end=size, baseline=subject.known,
        )  # fmt: skip


def tell(lines: Iterable[str], result: ConformanceResult) -> None:
    """The verdict, on standard error."""
    for line in lines:
        (complain if result.summary.exit_status else note)(line)


@contextmanager
def _as_file(carrier: Carrier) -> Iterator[str]:
    """The log as a plain file, as mysqlbinlog needs it."""
    path = Path(carrier.name)
    with carrier.open() as plain:
        head = plain.read(4)
        if path.is_file():
            with path.open("rb") as stored:
                if stored.read(4) == head:
                    yield str(path)
                    return
        with TemporaryDirectory(prefix="binlogkit-") as folder:
            copy = Path(folder) / "log"
            with copy.open("wb") as file:
                file.write(head)
                while chunk := plain.read(1 << 20):
                    file.write(chunk)
            yield str(copy)


def _lines(path: str) -> Iterator[bytes]:
    try:
        with Path(path).open("rb") as file:
            yield from file
    except OSError as exc:
        raise InputError(path, f"cannot be read: {exc}") from exc
