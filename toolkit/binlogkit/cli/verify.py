"""``binlogkit verify``: whether logs are whole, and what it means where they are not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from binlogkit.cli.engine import by_engine, engine_options, master_of
from binlogkit.cli.help import Command
from binlogkit.cli.options import (
    input_options,
    open_input,
    output_of,
    output_options,
    place_options,
)
from binlogkit.cli.progress import ended_by
from binlogkit.cli.sources import landing_of, only, refuse_landing
from binlogkit.cli.status import FINDINGS, WELL, gaps_of

if TYPE_CHECKING:
    from binlogkit.reports.output import Output
    from binlogkit.spark.landing import Landing


@click.command("verify", cls=Command, context_settings={"default_map": {"on_damage": "report"}})
@input_options
@click.option("--rows", is_flag=True, help="Decode all rows, not only those without a checksum.")
@click.option(
    "--images", is_flag=True, help="Find rows that were changed outside the log: by their images."
)
@engine_options("local", "spark")
@place_options
@output_options
def command(**arguments: Any) -> int:
    """Structure, checksums, positions, transactions, continuity; every finding graded.

    As a table it is a report to read; in the other formats one record per finding. Notes alone
    leave the exit status 0. With --images FILE may be a landing (`binlogkit land`): its folder, or
    with --ledger its URL; --engine spark is for landings.
    """
    output, rows, images = output_of(arguments), arguments.pop("rows"), arguments.pop("images")
    landing = landing_of(arguments)
    master = master_of(arguments, landing)
    if landing is not None:
        if rows or not images:
            refuse_landing(*arguments["files"])
        only(arguments)
        return _landed(by_engine(landing, master), output)
    from binlogkit.frames.fields.ledger import FINDING
    from binlogkit.log.verify import FindingStream, Verification
    from binlogkit.reports.output import write_records
    from binlogkit.rows.soundness import Grade

    stream = FindingStream(open_input(arguments), rows=rows, images=images)
    if output.format == "table" and output.columns is None:
        from binlogkit.reports.text import write
        from binlogkit.reports.verification import verification_report

        findings = list(stream)
        found = Verification(
            findings, stream.files, stream.joints, stream.images, stream.unreadable
        )
        unread = None if stream.unreadable is None else str(stream.unreadable)
        if found.files or unread is None:
            report = verification_report(
                found.records(), found.file_records(), found.image_records(), unread
            )
            write(report, output.path)
    else:
        records = ended_by((found.record() for found in stream), output.path)
        write_records(records, output, declared=FINDING)
    if stream.unreadable is not None:
        raise stream.unreadable
    return WELL if stream.worst == Grade.NOTE else FINDINGS


def _landed(landing: Landing, output: Output) -> int:
    """What images show of rows of a landing."""
    from binlogkit.frames.fields.ledger import FINDING
    from binlogkit.reports.output import write_records
    from binlogkit.reports.text import write
    from binlogkit.reports.verification import verification_report

    found = landing.unlogged()
    if output.format == "table" and output.columns is None:
        write(verification_report(found.records(), [], found.image_records()), output.path)
    else:
        write_records(found.records(), output, declared=FINDING)
    return max(WELL if found.well else FINDINGS, gaps_of(landing.ledger.joined.gaps))
