"""``binlogkit live``: a query's result while it changes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from binlogkit.cli.help import Command
from binlogkit.cli.status import WELL, note
from binlogkit.errors import UsageError
from binlogkit.signals import on_signals

if TYPE_CHECKING:
    from binlogkit.livestate.live import Live
    from binlogkit.livestate.query import KeptQuery
    from binlogkit.livestate.views.view import ViewChange


@click.command("live", cls=Command)
@click.argument("source", metavar="SOURCE")
@click.option("--query", "file", metavar="FILE", help="A file with one SELECT.")
@click.option("--table", multiple=True, metavar="DB.T", help="A table; else those of the query.")
@click.option("--base", metavar="PATH", help="What the tables begin with, as state --base.")
@click.option("--base-at", metavar="FILE:POS", help="The base's position.")
@click.option("--base-gtid", metavar="SET", help="The base's GTID set.")
@click.option(
    "--checkpoint", metavar="DIR", help="Begin with it if it is there; write it at the end."
)
@click.option("--copy", metavar="FILE", help="Write the tables into a DuckDB file at the end.")
@click.option(
    "--every", type=float, metavar="SECONDS", help="Write checkpoint and copy that often, too."
)
@click.option("--chunk-rows", type=int, metavar="N", help="As snapshot --chunk-rows.")
@click.option("--recompute", is_flag=True, help="Calculate it anew where changes cannot update it.")
@click.option("--no-wait", is_flag=True, help="Up to the logs' end as it is now.")
@click.option("--show", is_flag=True, help="Keep the result on the terminal instead.")
def command(source: str, file: str | None, **given: Any) -> int:
    """Keep a query's result up to date while SOURCE is written, and print what changes.

    Without a query the tables are kept, for --checkpoint and --copy.

    SOURCE is mysql://USER@HOST:PORT, or the logs that a server or a capture writes. Each line is
    one row that was removed (its weight is below 0) or added, with the position and the GTIDs at
    the end of the transaction that did it; the first lines are the rows at the beginning.
    Queries whose answer could differ from the server's are refused (docs/live.md). A server's
    account needs what `snapshot` and `capture` need.
    """
    from binlogkit.livestate.live import live
    from binlogkit.livestate.views.compile import tables_of
    from binlogkit.sources.carriers import read_schema_text

    sql = "" if file is None else read_schema_text(file)
    show, wait = given.pop("show"), not given.pop("no_wait")
    recompute = given.pop("recompute")
    tables = list(given.pop("table")) or (tables_of(sql) if sql else [])
    if not tables or (file is None and not (given["checkpoint"] or given["copy"])):
        raise UsageError("give --query, or --table with --checkpoint or --copy")
    with live(source, tables, wait=wait, **given) as kept, on_signals(kept.stop):
        if not wait or file is None:
            while not kept.ended:
                kept.wait(1.0)
        if file is None:
            return WELL
        (_show if show else _print)(kept, kept.register(sql, name=file, recompute=recompute))
    return WELL


def _print(kept: Live, query: KeptQuery) -> None:
    """The rows, and then what changes, as JSON lines."""
    changes = query.changes(beginning=True)
    for line in (line for change in changes for line in _lines(query, change)):
        click.echo(line)
    note(f"up to {kept.moment.file}:{kept.moment.pos}")


def _lines(query: KeptQuery, change: ViewChange) -> Iterator[str]:
    from binlogkit.livestate.query import json_value

    moment = change.moment
    for row, weight in change.rows:
        values = dict(zip(query.columns, map(json_value, row), strict=True))
        record = {
            "file": moment.file, "pos": moment.pos, "gtids": str(moment.gtids),
            "weight": weight, "row": values,
        }  # fmt: skip
        yield json.dumps(record, ensure_ascii=False)


def _show(kept: Live, query: KeptQuery) -> None:
    """The result on the terminal, while it changes."""
    from rich.live import Live as Screen

    with Screen(_table(kept, query), auto_refresh=False) as screen:
        for _ in query.changes(beginning=True):
            screen.update(_table(kept, query), refresh=True)


def _table(kept: Live, query: KeptQuery) -> Any:
    from rich.table import Table
    from rich.text import Text

    from binlogkit.errors import printable
    from binlogkit.livestate.query import json_value

    with kept.holding() as moment:
        rows = query.rows()
    title = f"{moment.file}:{moment.pos}, {len(rows)} rows"
    table = Table(
        *(Text(printable(name)).markup for name in query.columns), title=Text(printable(title))
    )
    for row in rows:
        table.add_row(*(Text(printable(str(json_value(value)))) for value in row))
    return table
