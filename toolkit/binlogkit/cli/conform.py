"""``binlogkit conform``: a decoder's output against mysqlbinlog, every difference explained."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from binlogkit.cli.options import input_options, open_input, output_of, output_options
from binlogkit.cli.status import complain, note, status_of
from binlogkit.errors import InputError, UsageError

if TYPE_CHECKING:
    from binlogkit.analyses.conformance import ConformanceResult
    from binlogkit.log import Log
    from binlogkit.sources.carriers import Carrier


@click.command("conform")
@input_options
@click.option(
    "--against",
    type=click.Choice(["mysqlbinlog"]),
    default="mysqlbinlog",
    show_default=True,
    help="The judge.",
)
@click.option("--mysqlbinlog", "program", metavar="PROGRAM", help="Which mysqlbinlog.")
@click.option("--decoded", metavar="OUT", help="Another decoder's output for the one FILE.")
@click.option("--as", "decoded_format", metavar="FORMAT", help="What --decoded is.")
@click.option("--baseline", metavar="FILE", help="Known differences to leave out (JSON lines).")
@click.option(
    "--allow-unjudged",
    is_flag=True,
    help="Status 0 although neither mysqlbinlog nor the log's bytes decide something.",
)
@click.option("--write-baseline", metavar="FILE", help="Write the differences found as a baseline.")
@output_options
def command(**arguments: Any) -> int:
    """One record per difference: event structure first, values second; each classified.

    Kinds: ours, theirs, representation, under_determined, unexplained. The verdict goes to
    standard error. Status 1: a difference is ours or unexplained, or nobody judged something.
    """
    from binlogkit.analyses.conformance import (
        COLUMNS,
        Verdict,
        baseline_lines,
        merge,
        read_baseline,
    )
    from binlogkit.reports.output import write_records
    from binlogkit.sources.mysqlbinlog import find

    output = output_of(arguments)
    oracle = find(arguments.pop("program"))
    baseline = arguments.pop("baseline")
    known = (
        []
        if baseline is None
        else read_baseline(line.decode("utf-8", "replace") for line in _lines(baseline))
    )
    decoded, kind = arguments.pop("decoded"), arguments.pop("decoded_format")
    write_to, allowed = arguments.pop("write_baseline"), arguments.pop("allow_unjudged")
    log = open_input(arguments)
    if (decoded is None) != (kind is None):
        raise UsageError("--decoded and --as go together")
    if decoded is not None and len(log.carriers) != 1:
        raise UsageError("--decoded goes with one FILE")
    result = merge(compare(log, carrier, oracle, known, decoded, kind) for carrier in log.carriers)
    differences = result.differences
    write_records(differences.to_pylist(), output, names=COLUMNS)
    if write_to is not None:
        Path(write_to).write_text("\n".join([*baseline_lines(result), ""]), "utf-8")
    tell(result, oracle.version)
    passes = allowed and result.summary.verdict is Verdict.UNJUDGED
    return max(
        0 if passes else result.summary.exit_status, 0 if decoded is not None else status_of(log)
    )


def compare(
    log: Log,
    carrier: Carrier,
    oracle: Any,
    known: list[dict[str, Any]],
    decoded: str | None = None,
    kind: str | None = None,
) -> ConformanceResult:
    """One log's comparison."""
    from binlogkit.analyses.conformance import against_mysqlbinlog, parse_decoded
    from binlogkit.log import Log
    from binlogkit.log.stored_events import stored_events
    from binlogkit.sources.mysqlbinlog import read

    alone = Log([carrier], log.options)
    schemas: list[Any] = list(alone.table_schemas())
    events: Any = alone.event_records()
    rows: Any = alone.row_records()
    if decoded is not None and kind is not None:
        theirs = parse_decoded(_lines(decoded), kind)
        events, rows, schemas = theirs.events, theirs.rows, list(theirs.schemas) or schemas
    with _as_file(carrier) as path:
        return against_mysqlbinlog(
            events, rows, schemas, read(path, using=oracle), file=carrier.name, baseline=known,
            stored=stored_events(carrier),
        )  # fmt: skip


def tell(result: ConformanceResult, version: str | None) -> None:
    """The verdict, on standard error."""
    summary = result.summary
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(summary.kinds.items()))
    verdict = (
        f"{summary.verdict}: {summary.events} events, {summary.rows} rows, {summary.cells} cells "
        f"compared with mysqlbinlog {version or ''}; differences: {kinds or 'none'}"
    )
    if summary.cells_by_bytes:
        verdict += f"; {summary.cells_by_bytes} cells decided by the log's bytes"
    if summary.baselined:
        verdict += f"; {summary.baselined} known ones left out"
    if summary.rows_not_judged:
        verdict += f"; {summary.rows_not_judged} rows that nobody judged"
    (complain if summary.exit_status else note)(verdict)
    if summary.problem is not None:
        complain(f"mysqlbinlog gave up: {summary.problem}")


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
