"""``binlogkit state``: a table's rows as of a point."""

from __future__ import annotations

import logging
from typing import Any

import click

from binlogkit.cli.options import input_options, open_input, output_of, output_options
from binlogkit.cli.startup import arrow_without_pandas
from binlogkit.cli.status import ENDS, FINDINGS, complain, note, status_of

_LOG = logging.getLogger(__name__)


@click.command("state")
@input_options
@click.option("--table", required=True, metavar="DB.T", help="The table.")
@click.option("--at", metavar="FILE:POS", help="After the transactions that end by this position.")
@click.option("--until-gtid", metavar="SET", help="Up to the set's last member in log order.")
@click.option("--until-time", metavar="TIME", help="After those committed at or before this time.")
@click.option("--timezone", metavar="ZONE", help="Zone of a time without an offset.")
@click.option("--source", metavar="NAME", help="Whose logs, where several servers have the table.")
@output_options
def command(**arguments: Any) -> int:
    """One record per row that the table held: its values, and the columns that are not known.

    Without --at, --until-gtid and --until-time: at the end of the log.
    """
    from binlogkit.reports.text import write_state

    arrow_without_pandas()
    output = output_of(arguments)
    log = open_input(arguments)
    state = log.state(**{k: v for k, v in arguments.items() if v is not None})
    write_state(state.batches(), output)
    status = status_of(log, notes=ENDS, concerns=state.reach.holds)
    findings = state.findings.to_pylist()
    for finding in findings:
        if finding["finding"] == "gap":  # reported with the log's
            continue
        where = f" (first at {finding['file']}:{finding['pos']})" if finding["file"] else ""
        tell = note if finding["determined"] else complain
        tell(f"{arguments['table']}: {finding['meaning']}{where}")
    if state.unknown_cells:
        complain(f"{arguments['table']}: {state.unknown_cells} cells are not determined by the log")
    if any(finding["finding"] in ("gap", "unlogged") for finding in findings):
        cells = state.rows.num_rows * len(state.rows.schema.field("values").type)
        complain(
            f"{arguments['table']}: {state.determined_rows} of {state.rows.num_rows} rows and "
            f"{state.determined_cells} of {cells} cells are determined by the log"
        )
    for assumed in state.assumes:
        _LOG.info("%s: assumed: %s", arguments["table"], assumed)
    return status if state.determined else FINDINGS
