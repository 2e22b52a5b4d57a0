"""``binlogkit conform``: a decoder's output against mysqlbinlog, every difference explained."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from binlogkit.cli.engine import engine_options, spark_of
from binlogkit.cli.help import Command
from binlogkit.cli.judges import Judge, Subject, judge_name, judges_of, lines_of_file
from binlogkit.cli.options import (
    input_options,
    open_input,
    open_stored,
    output_of,
    output_options,
)
from binlogkit.cli.pages import page_of, page_options
from binlogkit.cli.status import FINDINGS, WELL, complain, note, status_of
from binlogkit.errors import InputError, UsageError, together

if TYPE_CHECKING:
    from binlogkit.analyses.conformance import ConformanceResult
    from binlogkit.reports.output import Output


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
@engine_options("local", "spark")
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

    With --engine spark each log is a task's, which runs the mysqlbinlog of its worker.

    With --rules one record per event that no server could have written under what --set declares:
    images with other columns than the tables' keys allow, changes in another format. Status 1:
    there is one.
    """
    declared = arguments.pop("declared")
    asked = arguments["by_rules"], arguments["decoded"], *arguments["judges"]
    if arguments["engine"] == "spark" and asked != (False, None, "mysqlbinlog"):
        raise UsageError("--engine spark compares our rows with mysqlbinlog, and with nothing else")
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
    golden, junit = arguments.pop("golden"), arguments.pop("junit")
    named, server = arguments.pop("decoder"), arguments.pop("server")
    baseline = arguments.pop("baseline")
    lines = () if baseline is None else lines_of_file(baseline)
    known = read_baseline(line.decode("utf-8", "replace") for line in lines)
    decoded, kind = arguments.pop("decoded"), arguments.pop("decoded_format")
    write_to, allowed = arguments.pop("write_baseline"), arguments.pop("allow_unjudged")
    log, storage = open_stored(arguments)
    spark = spark_of(arguments, log.carriers)
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
    subject = Subject(log, known, decoded, kind, name)
    if spark is None:
        oracle = find(program) if "mysqlbinlog" in judges else None
        judging = judges_of(judges, oracle, golden, server)
        results, unread = _judged(judging, subject)
        version = "" if oracle is None else oracle.version or ""
    else:
        from binlogkit.spark.conformance import judged_by_tasks

        given = log.carriers, log.options, storage
        results, unread, versions = judged_by_tasks(spark, *given, baseline=known, program=program)
        version = ", ".join(versions)
    if unread and not results:
        raise together(unread)
    result = merge(results)
    differences = result.differences.to_pylist()
    judge = " and ".join(judge_name(judge, version) for judge in judges)
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
    if unread:
        raise together(unread)
    passes = allowed and result.summary.verdict is Verdict.UNJUDGED
    return max(
        0 if passes else result.summary.exit_status, 0 if decoded is not None else status_of(log)
    )


def _judged(
    judging: Iterable[Judge], subject: Subject
) -> tuple[list[ConformanceResult], list[InputError]]:
    """Each judge's result on each log, and the logs that cannot be read."""
    results: list[ConformanceResult] = []
    unread: dict[str, InputError] = {}
    for against in judging:
        for carrier in subject.log.carriers:
            try:
                results.append(against(subject, carrier))
            except InputError as error:
                unread.setdefault(error.file, error)
    return results, [*unread.values()]


def _by_rules(arguments: dict[str, Any], declared: tuple[str, ...]) -> int:
    """The events that contradict the logging rules."""
    from binlogkit.analyses.logging_rules.contradictions import CONTRADICTIONS, Judgement, judgement
    from binlogkit.cli.rules import settings_in
    from binlogkit.reports.output import write_records
    from binlogkit.sources.carriers import read_schema_text

    output = output_of(arguments)
    arguments.pop("judges")
    spark_of(arguments)
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


def tell(lines: Iterable[str], result: ConformanceResult) -> None:
    """The verdict, on standard error."""
    for line in lines:
        (complain if result.summary.exit_status else note)(line)
