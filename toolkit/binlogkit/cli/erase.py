"""``binlogkit erase``: rows erased from a landing by their keys."""

from __future__ import annotations

import re
from typing import Any

import click

from binlogkit.cli.help import Command
from binlogkit.cli.options import place_options
from binlogkit.cli.sources import pairs_of
from binlogkit.cli.startup import arrow_without_pandas
from binlogkit.cli.status import FINDINGS, WELL, complain, note
from binlogkit.errors import UsageError
from binlogkit.rows.filter_args import joined_by_commas
from binlogkit.rows.where import equals_of
from binlogkit.sources.carriers.urls import is_url

_ROW = re.compile(r"(?:`((?:[^`]|``)+)`|([^`=][^=]*))=(.*)", re.DOTALL)


@click.command("erase", cls=Command)
@click.argument("landing", metavar="DIR")
@click.option(
    "--row",
    "rows",
    nargs=2,
    multiple=True,
    required=True,
    metavar="DB.T COLUMN=VALUE[,…]",
    help="The rows of this table with this key, or with values that whole images have "
    "(repeatable).",
)
@place_options
def command(
    landing: str,
    rows: tuple[tuple[str, str], ...],
    ledger: str | None,
    target_options: tuple[str, ...],
) -> int:
    """Erase rows of a landing for good: all that it has of them, now and earlier.

    DIR is the landing, or its URL, as s3://BUCKET/PREFIX. Afterwards the tables are as if the rows
    had never been there, and no file of DIR has their values. All earlier versions of all tables
    go, and so do the texts of statements in the ledger. The logs themselves are not touched: those
    that have landed do not bring the rows back, but later changes of the rows land. The exit status
    is 1 if something of the rows stays, which is then said (docs/upkeep.md).
    """
    arrow_without_pandas()
    from binlogkit.spark.landing.erasure import erase

    asked = [(table, _values(text)) for table, text in rows]
    done = erase(landing, asked, ledger=ledger, target_options=pairs_of(target_options))
    for table, count in sorted(done.rows.items()):
        now = done.current[table]
        words = f"{count} images of changes and {now} current rows erased"
        note(f"{table}: {words if count or now else 'no such row'}")
    if done.statements:
        words = "lost their statement (_query): it changed the erased ones, or has a text of them"
        note(f"{done.statements} rows that stay {words}")
    if is_url(landing):
        note("a bucket that keeps versions of its objects still has them: end these there")
    for words in done.not_covered:
        complain(words)
    return FINDINGS if done.not_covered else WELL


def _values(text: str) -> dict[str, Any]:
    """``COLUMN=VALUE``, joined by commas; in quotes if a comma is in it."""
    found: dict[str, Any] = {}
    for one in joined_by_commas(text):
        match = _ROW.fullmatch(one)
        if match is None:
            how = 'COLUMN=VALUE, "COLUMN=VALUE" in quotes if a comma is in it'
            raise UsageError(f"a row is given as {how}, not {one!r}")
        equals = equals_of(match)
        if equals.column.lower() in map(str.lower, found):
            raise UsageError(f"{equals.column} is named twice: give each row a --row of its own")
        found[equals.column] = equals.value
    return found
