"""``binlogkit rules``: what a server logs of a statement, and by which rules."""

from __future__ import annotations

from typing import Any

import click

from binlogkit.cli.help import Command
from binlogkit.cli.options import output_of, output_options
from binlogkit.errors import SchemaError, UsageError


@click.command("rules", cls=Command)
@click.argument("statement")
@click.option(
    "--schema",
    metavar="FILE.sql",
    help="What is defined: tables, views, triggers, routines; as mysqldump writes them.",
)
@click.option("--database", default="", metavar="DB", help="The default database.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="binlog_format, binlog_row_image, transaction_isolation, sql_log_bin, "
    "binlog_direct_non_transactional_updates (repeatable).",
)
@click.option(
    "--server", default="8.0", show_default=True, metavar="VERSION", help="The server's version."
)
@click.option("--all", "every", is_flag=True, help="Also the rules that do not hold.")
@output_options
def command(**arguments: Any) -> int:
    """One record per rule that holds of a statement: its tables, why it is unsafe, whether it is
    impossible to log, the format, warnings, caches, the columns of its row images.

    STATEMENT can be several, divided by semicolons: one session's, in their order.
    """
    from binlogkit.analyses.logging_rules import settings_of
    from binlogkit.analyses.logging_rules.explained import EXPLAINED, explain
    from binlogkit.reports.output import write_records

    output = output_of(arguments)
    settings = settings_of(settings_in(arguments["settings"]), arguments["server"])
    statements = _statements(arguments, settings)
    every = arguments["every"]
    if not statements:
        raise UsageError("there is no statement")
    records = (r for r in explain(statements, settings) if every or r["holds"])
    text = ["text"] if len(statements) > 1 else []
    view = ["statement", *text, "step", "result", "rule", *(["holds"] if every else []), "sentence"]
    write_records(records, output, declared=EXPLAINED, view=view)
    return 0


def settings_in(pairs: tuple[str, ...]) -> dict[str, str]:
    """The values of ``--set``, by name. UsageError: one without a value."""
    values = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise UsageError(f"--set takes NAME=VALUE, not '{pair}'")
        values[name.strip()] = value.strip()
    return values


def _statements(arguments: dict[str, Any], settings: Any) -> list[Any]:
    """The statements of the script, each as it finds what those before it defined."""
    from binlogkit.analyses.logging_rules import (
        Definitions,
        read_definitions,
        settings_after,
        unrolled,
    )
    from binlogkit.rows.ddl.scan import ScriptStatements
    from binlogkit.sources.carriers import read_schema_text

    path, database = arguments["schema"], arguments["database"]
    text, release = "" if path is None else read_schema_text(path), settings.release
    definitions = read_definitions(text, release) if text else Definitions(release)
    found = []
    for statement in ScriptStatements(arguments["statement"]):
        try:
            found += unrolled(statement, definitions, settings, database)
            definitions.apply(statement, database or None)
            settings = settings_after(settings, statement)
        except SchemaError as exc:
            raise UsageError(f"the statement is not understood: {exc}") from exc
    return found
