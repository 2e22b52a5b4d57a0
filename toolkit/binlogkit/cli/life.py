"""``binlogkit life``: what happened to one row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from binlogkit.cli.engine import by_engine, engine_options, master_of
from binlogkit.cli.help import Command
from binlogkit.cli.options import (
    index_option,
    input_options,
    open_input,
    output_of,
    output_options,
    place_options,
)
from binlogkit.cli.sources import landing_of, only
from binlogkit.cli.startup import arrow_without_pandas
from binlogkit.cli.state import tell_state
from binlogkit.cli.status import ENDS, FINDINGS, WELL, note_index, status_of
from binlogkit.frames.fields.rows import LIFE
from binlogkit.rows.filters import written_table_name

_VIEW = (
    "pos", "timestamp", "thread_id", "life", "op", "changes",
)  # fmt: skip


@click.command("life", cls=Command)
@input_options
@click.option("--table", required=True, metavar="DB.T", help="The row's table.")
@click.option(
    "--key",
    required=True,
    metavar="VALUE[,VALUE…]",
    help='The value of its key; of several columns joined by commas ("a,b" in quotes).',
)
@click.option(
    "--key-columns", metavar="A,B", help="Its key's columns, where the log and --schema name none."
)
@click.option("--source", metavar="NAME", help="Whose logs, where several servers have the table.")
@index_option
@engine_options("local", "spark")
@place_options
@output_options
def command(**arguments: Any) -> int:
    """One record per change of a row, in log order, and per DDL of its table in between.

    The row is followed through changes of its key, forwards and back. Text in keys is compared by
    its bytes, whatever the collation. FILE may be a landing (`binlogkit land`): its folder, or with
    --ledger its URL. Its answer is that of its logs, which are not needed; --engine spark is for
    landings.
    """
    from binlogkit.reports.changes import with_changes
    from binlogkit.reports.output import parse_columns, write_records

    arrow_without_pandas()
    output, status = output_of(arguments), WELL
    if arguments["key_columns"] is not None:
        arguments["key_columns"] = parse_columns(arguments["key_columns"])
    landing = landing_of(arguments)
    master = master_of(arguments, landing)
    if landing is not None:
        only(arguments, "table", "key", "key_columns")
        given = {name: arguments[name] for name in ("table", "key", "key_columns")}
        found = by_engine(landing, master).life(**given)
        several = len(landing.ledger.files) > 1
    else:
        log = open_input(arguments)
        found = log.life(**{k: v for k, v in arguments.items() if v is not None})
        several = len(log.carriers) > 1
    name = written_table_name(*found.table)
    view = ["file"] * several + [*_VIEW] + ["unknown"] * bool(found.unknown_cells)
    records, declared = with_changes(found.records(), LIFE, output, _words)
    write_records(records, output, declared=declared, view=view)
    if landing is None:
        status = status_of(log, notes=ENDS, tables=found.names)
        note_index(log)
    wrong = [f"{found.unknown_cells} columns of these changes are not known"]
    wrong *= bool(found.unknown_cells)
    gaps = landing is not None  # which of logs are reported with the logs
    tell_state(name, found.findings.to_pylist(), wrong, found.assumes, gaps=gaps)
    return status if found.determined else FINDINGS


def _words(record: Mapping[str, Any]) -> str:
    """What a change did; of DDL its text."""
    from binlogkit.reports.changes import change_text

    return change_text(record) or record["query"] or ""
