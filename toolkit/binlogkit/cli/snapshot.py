"""``binlogkit snapshot``: a server's tables as of one moment, as bases for states."""

from __future__ import annotations

import click

from binlogkit.cli.help import Command
from binlogkit.cli.status import WELL, note


@click.command("snapshot", cls=Command)
@click.argument("server", metavar="mysql://USER@HOST:PORT")
@click.option("--out", required=True, metavar="DIR", help="A new folder (made with mode 0700).")
@click.option("--table", multiple=True, metavar="DB.T", help="The table (repeatable); else all.")
@click.option(
    "--lock",
    type=click.Choice(["tables", "held", "global"]),
    default="tables",
    show_default=True,
    help="Who waits: tables: their writers, for a moment; held: the same until they are read "
    "(MyISAM); global: all writers, for a moment.",
)
@click.option(
    "--chunk-rows",
    type=int,
    metavar="N",
    help="Read so many rows at a time, with no transaction open in between.",
)
def command(
    server: str, out: str, table: tuple[str, ...], lock: str, chunk_rows: int | None
) -> int:
    """Write a running server's tables as of one moment, with their position in its logs.

    The folder is a base for `state --base`. Memory is bounded. Tables from which foreign keys
    change the wanted ones are included up to 9.5. DDL on the tables waits until they are read;
    with --chunk-rows it does not, and ends the command: try again. The chunks are then brought to
    one moment by the log, in memory. The account needs SELECT, LOCK TABLES, REPLICATION
    CLIENT, RELOAD for --lock global, and REPLICATION SLAVE for --chunk-rows; its password is in the
    environment variable BINLOGKIT_PASSWORD.
    """
    from binlogkit.log.server.snapshot import snapshot

    taken = snapshot(server, out, tables=list(table) or None, lock=lock, chunk_rows=chunk_rows)
    for name, rows in taken.tables.items():
        note(f"{name}: {rows} rows")
    if taken.file is not None:
        note(f"position {taken.file}:{taken.pos}")
    if taken.gtids is not None:
        note(f"GTIDs {taken.gtids}")
    if taken.file is None and taken.gtids is None:
        note("the server has no binary log: a state that begins with it needs --base-at")
    return WELL
