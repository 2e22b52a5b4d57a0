"""``binlogkit diff``: what differs in a table between two points."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from binlogkit.cli.engine import by_engine, engine_options, master_of
from binlogkit.cli.help import Command
from binlogkit.cli.options import (
    base_options,
    input_options,
    open_input,
    output_of,
    output_options,
    place_options,
)
from binlogkit.cli.pages import Page, page_of, page_options
from binlogkit.cli.sources import landing_of, only
from binlogkit.cli.startup import arrow_without_pandas
from binlogkit.cli.state import tell_state
from binlogkit.cli.status import ENDS, FINDINGS, WELL, status_of
from binlogkit.errors import UsageError
from binlogkit.frames.fields.rows import DIFFERENCE
from binlogkit.rows.filters import written_table_name

if TYPE_CHECKING:
    from binlogkit.log.states.diff import TableDifference
    from binlogkit.reports.model import Report
    from binlogkit.spark.landing import Landing


@click.command("diff", cls=Command)
@input_options
@click.option("--table", required=True, metavar="DB.T", help="The table.")
@click.option(
    "--from",
    "first",
    required=True,
    metavar="POINT",
    help="FILE:POS, a GTID set, or a time, as of `state`.",
)
@click.option("--to", "second", metavar="POINT", help="Likewise; else the end of the log.")
@click.option("--timezone", metavar="ZONE", help="Zone of a time without an offset.")
@base_options
@click.option("--source", metavar="NAME", help="Whose logs, where several servers have the table.")
@engine_options("local", "spark")
@page_options("Write it as one HTML file.")
@place_options
@output_options
def command(**arguments: Any) -> int:
    """One record per row that was added, removed or changed between two points.

    Rows are compared by the table's key; without one they are a multiset, with counts. A row of
    which the log does not determine enough to compare it is uncertain. csv, Parquet and Arrow have
    the table's columns: before.total, after.total, and so on. FILE may be a landing
    (`binlogkit land`), for points FILE:POS: its folder, or with --ledger its URL; --engine spark is
    for landings.
    """
    from binlogkit.frames.tables import plain_batches
    from binlogkit.reports.changes import change_text, with_changes
    from binlogkit.reports.output import write_batches, write_records

    landing, log = landing_of(arguments), None
    master = master_of(arguments, landing)
    if landing is None:
        arrow_without_pandas()
    page = page_of(arguments, "output_format", "output", "columns")
    output = output_of(arguments)
    if landing is not None:
        found, files = _landed(landing, master, arguments, page), landing.ledger.files
    else:
        log = open_input(arguments)
        page.find(log)
        given = {k: v for k, v in arguments.items() if v is not None}
        points = [given.pop(name, None) for name in ("table", "first", "second")]
        found, files = log.diff(*points, **given), log.files
    name = written_table_name(*found.table)
    view = ["difference", "changes"]
    view += ["count"] * (not found.key) + ["uncertain"] * bool(found.uncertain)
    words = partial(change_text, key=found.key or ())
    if page.path is not None:
        ends = arguments["first"], arguments["second"]
        page.write(_report(files, found, page, *ends), "page")
    elif output.typed:
        write_batches(*plain_batches(found.typed()), output)
    else:
        records, declared = with_changes(found.records(), DIFFERENCE, output, words)
        write_records(records, output, declared=declared, view=view)

    def concerns(file: str, pos: int | None) -> bool:
        return any(state.reach.concerns(file, pos) for state in (found.before, found.after))

    names, status = found.before.names | found.after.names, WELL
    if log is not None:
        status = status_of(log, notes=ENDS, concerns=concerns, tables=names)
    gaps = log is None  # which of logs are reported with the logs
    tell_state(name, found.findings.to_pylist(), _doubts(found), found.assumes, gaps=gaps)
    return status if found.determined else FINDINGS


def _landed(
    landing: Landing, master: str | None, arguments: dict[str, Any], page: Page
) -> TableDifference:
    """What differs between two positions of a landing."""
    from binlogkit.log.states.point import point_args

    page.refuse_masks()
    only(arguments, "table", "first", "second")
    points = [arguments[name] for name in ("first", "second")]
    if any({*point_args(point)} - {"at"} for point in points):
        raise UsageError("a point of a landing is FILE:POS")
    return by_engine(landing, master).diff(arguments["table"], *points)


def _doubts(found: TableDifference) -> list[str]:
    """What is not certain of the difference."""
    doubts = []
    if found.uncertain:
        doubts.append(f"{found.uncertain} rows could not be compared in all cells")
    if found.unknown_cells:
        doubts.append(f"{found.unknown_cells} cells of these rows are not determined by the log")
    return doubts


def _report(
    files: list[str], found: TableDifference, page: Page, first: str, second: str | None
) -> Report:
    from binlogkit.reports.diff_and_undo import difference_report
    from binlogkit.reports.model import logs

    names = [name for name in found.key if page.row(*found.table, {name: ""})]
    facts = [
        logs(files),
        ("from", first), ("to", second or "the end of the log"),
        ("rows by", ", ".join(names) or "all their columns"),
    ]  # fmt: skip
    doubts = _doubts(found)
    if not (found.determined or doubts):
        doubts = ["The log does not determine which rows differ; see the findings."]
    return difference_report(
        f"What differs in {written_table_name(*found.table)}", facts,
        (page.images(row, *found.table) for row in found.records()),
        Counter(found.rows["difference"].to_pylist()), doubts,
        found.findings.to_pylist(), found.key,
    )  # fmt: skip
