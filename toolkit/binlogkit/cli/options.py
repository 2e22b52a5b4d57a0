"""The options that commands share."""

from __future__ import annotations

import logging
import shlex
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from binlogkit.cli.sources import refuse_landings
from binlogkit.cli.status import note
from binlogkit.errors import UsageError
from binlogkit.reports.output import FORMATS, SCREENFUL, Output, parse_columns, write_text
from binlogkit.rows.filter_args import FilterArgs
from binlogkit.rows.filters import OPS

F = TypeVar("F", bound=Callable[..., Any])


def apply(*decorators: Callable[[F], F]) -> Callable[[F], F]:
    """Several decorators as one."""

    def wrap(function: F) -> F:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return wrap


class _Notes(logging.Handler):
    """What the library logs, as notes on standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        note(record.getMessage())


def _listen(context: click.Context, _: click.Parameter, verbose: bool) -> None:
    """Let the library's log be heard until the command ends."""
    if not verbose:
        return
    logger, handler = logging.getLogger("binlogkit"), _Notes()
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    context.call_on_close(partial(logger.setLevel, before))
    context.call_on_close(partial(logger.removeHandler, handler))


index_option = click.option(
    "--index", metavar="DIR", help="An index; of the logs in it only what is needed is read."
)

reading_options = apply(
    click.option(
        "--schema", metavar="FILE.sql", help="Table definitions as they were before the log."
    ),
    click.option(
        "--schema-from",
        metavar="DSN",
        help="Take them from a live server: mysql://user@host:port "
        "(password: environment variable BINLOGKIT_PASSWORD).",
    ),
    click.option(
        "--keyring",
        metavar="FILE",
        help="The server's keyring file, for encrypted logs "
        "(else environment variable BINLOGKIT_KEYRING).",
    ),
    click.option(
        "--key-file",
        metavar="FILE",
        help="A file with one binary log key, 32 bytes or 64 hex digits "
        "(else environment variable BINLOGKIT_KEY_FILE).",
    ),
    click.option(
        "--storage-options",
        metavar="FILE",
        help="JSON of what opens URLs, credentials among it "
        "(else environment variable BINLOGKIT_STORAGE_OPTIONS: JSON, or such a file).",
    ),
    click.option(
        "--storage-option",
        multiple=True,
        metavar="KEY=VALUE",
        help="One of them, not a secret: others can read command lines (repeatable).",
    ),
    click.option("--charset", help="Character set of text whose own is unknown."),
    click.option(
        "--suppose",
        metavar="NAME",
        multiple=True,
        help="Accept a supposition as a fact, as definition:db.table (repeatable).",
    ),
    click.option(
        "--on-damage",
        type=click.Choice(["stop", "report"]),
        default="stop",
        show_default=True,
        help="report: skip the damaged range, resume after it, and report it.",
    ),
    click.option(
        "--duplicates",
        type=click.Choice(["drop", "keep"]),
        default="drop",
        show_default=True,
        help="Of a transaction whose GTID was read before.",
    ),
    click.option(
        "-v",
        "--verbose",
        is_flag=True,
        expose_value=False,
        callback=_listen,
        help="Also report which rows were read slowly, in Python, and why.",
    ),
)

input_options = apply(
    click.argument("files", nargs=-1, required=True, metavar="FILE..."), reading_options
)
#: The same where a command may find its files by itself.
found_options = apply(click.argument("files", nargs=-1, metavar="[FILE...]"), reading_options)

_READING = (
    "schema", "schema_from", "charset", "suppose", "on_damage", "keyring", "key_file",
    "duplicates",
)  # fmt: skip
_COUNT = click.IntRange(min=0)

#: Of a landing in an object store.
place_options = apply(
    click.option(
        "--ledger",
        metavar="DIR",
        help="The local folder of the ledger of a landing in a store, which needs one.",
    ),
    click.option(
        "--target-option",
        "target_options",
        multiple=True,
        metavar="NAME=VALUE",
        help="Of the landing's store, as AWS_REGION; secrets come from the environment only "
        "(repeatable).",
    ),
)

base_options = apply(
    click.option(
        "--base",
        metavar="BASE",
        help="Begin with its rows: a state written before (best as Parquet), a folder of "
        "`snapshot`, mydumper's or MySQL Shell's, a dump of mysqldump's, or a running server's "
        "tables: mysql://user@host:port.",
    ),
    click.option(
        "--back-from",
        metavar="BASE",
        help="Go back from its rows: such a base, taken later than what is asked for.",
    ),
    click.option("--base-at", metavar="FILE:POS", help="Where the base is, if it does not say so."),
    click.option("--base-gtid", metavar="SET", help="The transactions in the base, likewise."),
)

filter_options = apply(
    click.option("--table", multiple=True, metavar="DB.T", help="Only these tables (repeatable)."),
    click.option("--exclude-table", multiple=True, metavar="DB.T", help="Not these tables."),
    click.option(
        "--op",
        multiple=True,
        type=click.Choice(OPS, case_sensitive=False),
        help="Only these changes.",
    ),
    click.option("--gtid", metavar="SET", help="Only transactions of this GTID set."),
    click.option(
        "--at",
        metavar="FILE:POS",
        help="Only the transaction that begins at this position or has an event there.",
    ),
    click.option("--thread", type=_COUNT, multiple=True, help="Only these connection ids."),
    click.option("--server-id", type=_COUNT, multiple=True, help="Only these server ids."),
    click.option("--source", metavar="NAME", multiple=True, help="Only these servers' logs."),
    click.option(
        "--where",
        multiple=True,
        metavar="COLUMN=VALUE",
        help="Only rows with this value; or an expression: after.total > 100 AND op = 'update'.",
    ),
    click.option(
        "--start-position", type=_COUNT, metavar="POS", help="From here in the first file."
    ),
    click.option(
        "--stop-position",
        type=_COUNT,
        metavar="POS",
        help="Up to here in the last file, exclusive.",
    ),
    click.option("--start-time", metavar="TIME", help="ISO 8601, UTC unless it carries an offset."),
    click.option("--stop-time", metavar="TIME", help="Likewise, exclusive."),
    click.option("--timezone", metavar="ZONE", help="Zone of times without an offset."),
)

FILTERS = tuple(FilterArgs.__annotations__)

output_options = apply(
    click.option(
        "--format",
        "output_format",
        type=click.Choice(FORMATS),
        help="How to print the records; by default as the name of --output ends, else a table.",
    ),
    click.option("--output", metavar="PATH", default="-", help="Write here (mode 0600)."),
    click.option("--columns", metavar="A,B", help="Only these columns, in this order."),
    click.option(
        "--limit",
        type=_COUNT,
        metavar="N",
        help=f"Only the first N records, 0: all; by default {SCREENFUL} on a terminal, else all.",
    ),
    click.option("--csv-raw", is_flag=True, help="Do not guard text cells against spreadsheets."),
)


_PAGES = (".html", ".htm")
_ENDINGS = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".csv": "csv", ".parquet": "parquet",
    ".arrow": "arrow", ".feather": "arrow", "": "table", ".txt": "table", ".log": "table",
}  # fmt: skip


def _format_of(path: str) -> str:
    """The format that a file's name asks for. UsageError."""
    ending = Path(path).suffix.lower()
    if ending not in _ENDINGS and Path(path).parent != Path("/dev"):
        page = "; audit, conform, diff, explain and undo have --html" if ending in _PAGES else ""
        raise UsageError(f"--output {path}: {ending} names no format: use --format{page}")
    return _ENDINGS.get(ending, "table")


def refuse_records(path: str) -> None:
    """UsageError: a script is to be written under a name of records."""
    ending = Path(path).suffix.lower()
    if ending in _PAGES or _ENDINGS.get(ending, "table") != "table":
        raise UsageError(
            f"--output {path}: the script is SQL, {ending} is a name of something else"
        )


def output_of(arguments: dict[str, Any]) -> Output:
    """Take the output options out of a command's arguments."""
    columns, path = arguments.pop("columns"), arguments.pop("output")
    return Output(
        format=arguments.pop("output_format") or _format_of(path),
        path=path,
        columns=None if columns is None else parse_columns(columns),
        limit=arguments.pop("limit"),
        csv_raw=arguments.pop("csv_raw"),
    )


def check_sections(output: Output, sections: Sequence[str]) -> None:
    """UsageError: a format, or an option of records, asks for one section, or for some."""
    if output.format not in ("table", "jsonl") and len(sections) != 1:
        raise UsageError(f"--format {output.format} takes exactly one --section")
    if output.format == "table" and not sections and (output.columns or output.limit):
        raise UsageError("--columns and --limit are for records: name a --section, or a --format")


def open_input(arguments: dict[str, Any]) -> Any:
    """Take the input options out of a command's arguments and open the log."""
    return open_stored(arguments)[0]


def open_stored(arguments: dict[str, Any]) -> tuple[Any, Any]:
    """The same, and what opens its files in an object store."""
    from binlogkit.cli.progress import with_progress
    from binlogkit.log import open_log

    files = arguments.pop("files")
    if not files:
        raise UsageError("no file is named")
    if not isinstance(files, bytes):
        refuse_landings(files)
    storage = _storage_of(arguments)
    log = open_log(
        files if isinstance(files, bytes) else list(files),
        storage_options=storage,
        index=arguments.pop("index", None),
        name=arguments.pop("name", None),
        **{name: arguments.pop(name) for name in _READING},
    )
    return with_progress(log), storage


def _storage_of(arguments: dict[str, Any]) -> Any:
    """Take the options of object stores out: a file's or the environment's, and single ones."""
    from binlogkit.sources.carriers.storage import from_file, storage_options, with_pairs

    path, pairs = arguments.pop("storage_options"), arguments.pop("storage_option")
    given = from_file(path) if path is not None else None
    return with_pairs(storage_options(given), pairs)


def write_html(path: str, html: str, what: str) -> None:
    """Write a page; ``what``: what to call it in the note that says where it is."""
    write_text(path, [html])
    if path != "-":
        note(f"the {what} is {path}")


def filters_of(arguments: dict[str, Any]) -> FilterArgs:
    """Take the filters out of a command's arguments; empty ones left out."""
    taken = {name: arguments.pop(name) for name in FILTERS if name in arguments}
    return cast("FilterArgs", {n: value for n, value in taken.items() if value not in (None, ())})


def narrowed(filters: FilterArgs) -> str:
    """The filters as options."""
    given = [
        (name, one)
        for name, value in filters.items()
        for one in (value if isinstance(value, list | tuple) else [value])
    ]
    return " ".join(shlex.join([f"--{name.replace('_', '-')}", str(one)]) for name, one in given)
