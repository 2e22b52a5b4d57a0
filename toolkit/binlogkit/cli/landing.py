"""``binlogkit status``: where a landing stands, for schedulers and people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from binlogkit.cli.help import Command
from binlogkit.cli.options import check_sections, output_of, output_options, place_options
from binlogkit.cli.sources import pairs_of
from binlogkit.cli.startup import arrow_without_pandas
from binlogkit.cli.status import FINDINGS, WELL
from binlogkit.frames.fields.field import fields
from binlogkit.frames.fields.ledger import STATUS

if TYPE_CHECKING:
    import pyarrow as pa

    from binlogkit.reports.model import Report

#: The column that comes before a section's own in records.
SECTION = fields(("section", "string", "which section of the status it belongs to"))
_TITLES = {
    "landing": "Landing",
    "sources": "Sources",
    "tables": "Tables",
    "waiting": "Rows that wait",
}


@click.command("status", cls=Command)
@click.argument("landing", metavar="DIR")
@click.option(
    "--section",
    multiple=True,
    type=click.Choice(list(STATUS)),
    metavar="NAME",
    help=f"Only these sections (repeatable): {', '.join(STATUS)}.",
)
@place_options
@output_options
def status(
    landing: str,
    section: tuple[str, ...],
    ledger: str | None,
    target_options: tuple[str, ...],
    **arguments: Any,
) -> int:
    """Where the landing in DIR stands: of each source the last position, GTIDs, time and lag, of
    each table its rows, files and version, and what waits or is lost, with the remedy.

    As a table it is a report to read; in the other formats one record per row of every section.
    csv, parquet and arrow take one section at a time. The exit status is 1 if rows wait or are
    lost, or if the last landing has not ended. DIR may be a URL, as s3://BUCKET/PREFIX: without
    --ledger, times and lag are not known.
    """
    arrow_without_pandas()
    from binlogkit.reports.output import write_records
    from binlogkit.reports.text import write
    from binlogkit.spark.landing.standing import status as status_of

    output = output_of(arguments)
    check_sections(output, section)
    found = status_of(landing, ledger=ledger, target_options=pairs_of(target_options))
    if output.format == "table" and not section:
        write(_report(found), output.path)
    else:
        chosen = section or tuple(STATUS)
        known = {field.name: field for name in chosen for field in STATUS[name]}
        records = ({"section": n, **row} for n in chosen for row in found[n].to_pylist())
        write_records(records, output, declared=(*SECTION, *known.values()) if section else ())
    ended = all(found["landing"]["ended"].to_pylist())
    return FINDINGS if found["waiting"].num_rows or not ended else WELL


def _report(found: dict[str, pa.Table]) -> Report:
    """The sections for people."""
    from binlogkit.reports.model import Column, Report, Section, Table

    kinds: dict[str, Any] = {"microseconds": "microtime", "int64": "number"}
    plain = {"batch", "pos", "first_pos", "last_pos", "version"}
    sections = []
    for name, table in found.items():
        columns = [
            Column(one.name, kind="plain" if one.name in plain else kinds.get(one.type, "text"))
            for one in STATUS[name]
        ]
        rows = [
            row | {"lag": None if row["lag"] is None else f"{row['lag']:,.0f} s"}
            if "lag" in row
            else row
            for row in table.to_pylist()
        ]
        sections.append(Section(_TITLES[name], [Table(rows, columns)]))
    return Report("Where the landing stands", sections)
