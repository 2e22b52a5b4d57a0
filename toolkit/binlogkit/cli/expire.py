"""``binlogkit expire``: deletes old changes of a landing, and files that no reader needs."""

from __future__ import annotations

import click

from binlogkit.cli.help import Command
from binlogkit.cli.options import place_options
from binlogkit.cli.sources import pairs_of
from binlogkit.cli.startup import arrow_without_pandas
from binlogkit.cli.status import FINDINGS, WELL, complain, note


@click.command("expire", cls=Command)
@click.argument("landing", metavar="DIR")
@click.option(
    "--days",
    type=click.IntRange(min=0),
    required=True,
    metavar="N",
    help="How long changes are kept; whole days of UTC expire.",
)
@click.option(
    "--readers",
    type=click.IntRange(min=0, max=168),
    default=168,
    show_default=True,
    metavar="HOURS",
    help="How long a reader may take: files that were replaced before are deleted.",
)
@place_options
def command(
    landing: str, days: int, readers: int, ledger: str | None, target_options: tuple[str, ...]
) -> int:
    """Let changes expire that were committed more than N days ago, and delete dead files.

    DIR is the landing, or its URL, as s3://BUCKET/PREFIX. Tables of current rows are first brought
    up to date, and stay right. A state that would need what has expired is not determined, and says
    so. Journal and ledger stay: by them a log is recognised, and does not land again. The exit
    status is 1 if a table keeps its changes, since its current rows are not up to date.
    """
    arrow_without_pandas()
    from binlogkit.spark.landing.expiry import expire

    done = expire(
        landing, days, readers=readers, ledger=ledger, target_options=pairs_of(target_options)
    )
    for table, rows in sorted(done.rows.items()):
        note(f"{table}: {rows} rows from before {done.before} have expired")
    if not done.rows:
        note(f"no changes from before {done.before}")
    note(f"{done.files} files deleted that were replaced more than {readers} hours ago")
    for table, reason in sorted(done.left.items()):
        complain(f"{table} keeps its changes, since its current rows are not up to date: {reason}")
    return FINDINGS if done.left else WELL
