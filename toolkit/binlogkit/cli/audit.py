"""``binlogkit audit``: who changed what and when, and what the log cannot show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from binlogkit.cli.engine import by_engine, engine_options, master_of
from binlogkit.cli.help import Command
from binlogkit.cli.options import (
    FILTERS,
    check_sections,
    filter_options,
    filters_of,
    input_options,
    open_input,
    output_of,
    output_options,
    place_options,
)
from binlogkit.cli.pages import Page, page_of, page_options
from binlogkit.cli.sources import landing_of, only
from binlogkit.cli.startup import arrow_without_pandas
from binlogkit.cli.status import FINDINGS, WELL, gaps_of, note, status_of
from binlogkit.log.audit import SECTION, SECTIONS

if TYPE_CHECKING:
    from binlogkit.log import Log
    from binlogkit.log.audit import Audit
    from binlogkit.reports.model import Report
    from binlogkit.reports.output import Output
    from binlogkit.spark.landing import Landing

#: Sections that the report does not have.
_NOT_IN_REPORT = {"longest", "formats"}
_NOTHING = {
    "suspects": ": nothing unusual was found in what was read",
    "by_statement": ": the log has no statement texts of what was read "
    "(a server logs them with binlog_rows_query_log_events)",
}
#: What may hold values: statements, and what says in words what was changed.
_TEXTS = {
    "suspects": ("what", "why"), "integrity": ("found",), "largest": ("first_query",),
    "longest": ("first_query",), "by_statement": ("query",), "statements": ("query",),
    "settings": ("query",), "limits": ("evidence",),
}  # fmt: skip
_LEFT_OUT = "left out: columns are masked"
_LINES = 60  # of the report on a terminal


@click.command("audit", cls=Command)
@input_options
@filter_options
@page_options("Write the evidence report as one HTML file.")
@click.option("--title", help="Its title.")
@click.option(
    "--section",
    multiple=True,
    type=click.Choice(SECTIONS),
    metavar="NAME",
    help=f"Only these sections (repeatable): {', '.join(SECTIONS)}.",
)
@engine_options("local", "spark")
@place_options
@click.option("--all", "whole", is_flag=True, help="On a terminal: the whole report.")
@output_options
def command(**arguments: Any) -> int:
    """The audit: suspects first, then files, integrity, what was changed by table, minute,
    transaction, connection and statement.

    As a table it is a report to read, of which a terminal shows the beginning; in the other formats
    one record per row of every section. csv, parquet and arrow take one section at a time.

    FILE may be a landing (`binlogkit land`): its folder, or with --ledger its URL. Its logs are not
    needed; --engine spark is for landings. Suspects, continuity and integrity are of logs alone,
    and so are statement texts where columns are masked: the limits say so.
    """
    arrow_without_pandas()
    page = page_of(arguments, "section", "output_format", "output", "columns")
    output = output_of(arguments)
    sections, title = arguments.pop("section"), arguments.pop("title")
    lines = None if arguments.pop("whole") else _LINES
    check_sections(output, sections)
    write = partial(_write, output=output, sections=sections, page=page, title=title, lines=lines)
    landing = landing_of(arguments)
    master = master_of(arguments, landing)
    if landing is not None:
        return _of_landing(landing, master, arguments, page, sections, title, write)
    log = open_input(arguments)
    filters = filters_of(arguments)
    page.find(log)
    audit = log.audit(**filters)
    write(audit, lambda: _page(log, _masked(audit, page), title, page.chosen(filters), page))
    found = FINDINGS if audit["integrity"].num_rows else WELL
    return max(status_of(log, filters, nothing=not audit["by_table"].num_rows, losses=False), found)


def _of_landing(
    landing: Landing,
    master: str | None,
    arguments: dict[str, Any],
    page: Page,
    sections: Sequence[str],
    title: str | None,
    write: Callable[..., None],
) -> int:
    """The audit of a landing's logs, without the logs."""
    page.refuse_masks()
    only(arguments, *FILTERS)
    filters = filters_of(arguments)
    audit = by_engine(landing, master).audit(**filters)
    for name in sections:
        audit[name]  # those that it lacks
    write(audit, lambda: report_of(audit, title, chosen=page.chosen(filters)))
    if not sections:
        note(f"no {', '.join(audit.lacking)} of a landing: name its logs; the limits say why")
    return gaps_of(landing.ledger.joined.gaps)


def _write(
    audit: Audit,
    page_of_it: Callable[[], Report],
    *,
    output: Output,
    sections: Sequence[str],
    page: Page,
    title: str | None,
    lines: int | None,
) -> None:
    """Write an audit, and its page if one is asked for."""
    from binlogkit.reports.output import write_records

    if page.path is not None:
        page.write(page_of_it())
    read = output.on_terminal and output.columns is None and _NOT_IN_REPORT.isdisjoint(sections)
    if output.format == "table" and (read or not sections):
        if page.path is None:
            from binlogkit.reports.text import write, write_sections

            report = report_of(audit, title, sections)
            if sections:
                write_sections(report, output)
            else:
                write(report, output.path, lines, "--all shows all of it.")
    else:
        known = {field.name: field for s in sections for field in SECTIONS[s]}
        declared = (*SECTION, *known.values()) if sections else ()
        write_records(audit.records(*sections), output, declared=declared)
    for name in sections:
        if not audit[name].num_rows and not (read and name == "suspects"):  # which the report says
            note(f"no {name}" + _NOTHING.get(name, ""))


def _page(log: Log, audit: Audit, title: str | None, chosen: str, page: Page) -> Report:
    """The report, with rows of the first suspects."""
    from binlogkit.log.suspects import rows_of_suspect
    from binlogkit.reports.suspects import EXAMPLES, LEADING, SuspectExample

    examples = []
    for suspect in audit["suspects"].slice(0, LEADING).to_pylist():
        rows = [page.images(row) for row in islice(rows_of_suspect(log, suspect), EXAMPLES)]
        met = log.met.get((suspect["db"], suspect["table"]))
        examples.append(
            SuspectExample(rows, met[-1].key if met else (), rows[0]["query"] if rows else None)
        )
    return report_of(audit, title, chosen=chosen, examples=examples)


def _masked(audit: Audit, page: Page) -> Audit:
    """An audit without texts that may hold values of masked columns."""
    if not page.masked:
        return audit
    import pyarrow as pa

    from binlogkit.analyses.suspects import rules

    sections = dict(audit.sections)
    for section, columns in _TEXTS.items():
        table = sections[section]
        for column in columns:
            texts = [_LEFT_OUT] * len(table)
            if column == "why":
                texts = [rules()[rule].says for rule in table["rule"].to_pylist()]
            at = table.schema.get_field_index(column)
            table = table.set_column(at, table.schema.field(at), pa.array(texts, pa.string()))
        sections[section] = table
    return replace(audit, sections=sections)


def report_of(audit: Audit, title: str | None, only: Sequence[str] = (), **more: Any) -> Report:
    """The evidence report of an audit, of some sections if named; ``more``: as for it."""
    from binlogkit.reports.evidence import evidence_report

    shown = {name: table for name, table in audit.sections.items() if not only or name in only}
    if not only and len(audit.files) < 2:
        shown.pop("continuity", None)
    return evidence_report(shown, title or "What this binary log shows", **more)
