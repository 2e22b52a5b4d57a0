"""``binlogkit land``: logs into Delta tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import click

from binlogkit.cli.engine import engine_options, spark_of
from binlogkit.cli.help import Command
from binlogkit.cli.options import found_options, open_stored, place_options
from binlogkit.cli.progress import batches_done
from binlogkit.cli.sources import pairs_of
from binlogkit.cli.startup import arrow_without_pandas
from binlogkit.cli.status import FINDINGS, WELL, complain, note

if TYPE_CHECKING:
    from binlogkit.spark.landing.waiting import Waiting


@click.command("land", cls=Command)
@found_options
@click.option(
    "--out", required=True, metavar="DIR", help="The landing, or s3://, gs://, az://BUCKET/PREFIX."
)
@place_options
@click.option("--table", "tables", multiple=True, metavar="NAME", help="Only this table; else all.")
@click.option("--exclude-table", "exclude", multiple=True, metavar="NAME", help="Not this table.")
@click.option(
    "--mask",
    "masks",
    multiple=True,
    metavar="COLUMN=HOW",
    help="How a column lands, [db.]table.column=drop, =hash or =truncate:N.",
)
@click.option(
    "--change-terms",
    is_flag=True,
    help="From now on these tables and masks hold; =clear takes a mask off.",
)
@click.option(
    "--retry",
    is_flag=True,
    help="Also land the logs whose rows wait or were lost, from where they were.",
)
@click.option("--mask-key", metavar="FILE", help="The key of the hashes, 16 bytes or more.")
@click.option(
    "--name", metavar="NAME", help="The server's name, for _source; else the path of its logs."
)
@click.option("--current", is_flag=True, help="Also keep tables of the current rows.")
@click.option("--compact", is_flag=True, help="Also make few files of many small ones.")
@engine_options("auto", "local", "spark")
def command(
    out: str,
    ledger: str | None,
    target_options: tuple[str, ...],
    tables: tuple[str, ...],
    exclude: tuple[str, ...],
    masks: tuple[str, ...],
    mask_key: str | None,
    change_terms: bool,
    retry: bool,
    current: bool,
    compact: bool,
    **arguments: Any,
) -> int:
    """Land the committed changes of logs that have not landed in DIR.

    DIR then holds a Delta table for each table, partitioned by the day of the commit and the
    source, and a ledger of the logs and their transactions (docs/landing.md). Whatever ends a
    landing, the next one resumes where it ended, and no change is there twice. Tables and masks are
    the same in all landings of a folder, until --change-terms sets others.
    """
    arrow_without_pandas()
    from binlogkit.spark.landing.journal import logs_apart
    from binlogkit.spark.landing.land_logs import check, fresh_logs, land_on
    from binlogkit.spark.landing.store import place_of
    from binlogkit.spark.landing.terms import Terms
    from binlogkit.spark.masks import parse_masks

    terms = Terms(tables, exclude, parse_masks(masks, mask_key), change_terms)
    place = place_of(out, ledger, pairs_of(target_options))
    check(place, terms)
    if retry:
        files = arguments["files"]
        arguments["files"] = [*logs_apart(place, alone=not files), *files]
    log, storage = open_stored(arguments)
    spark = spark_of(arguments, log.carriers, lambda: fresh_logs(log, place))
    arrived = land_on(
        spark,
        log,
        place,
        terms,
        storage,
        retry=retry,
        current=current,
        compact=compact,
        reached=batches_done(),
    )
    for line in (*_waiting(arrived.waiting), *map(_lost, arrived.lost)):
        complain(line)
    for line in arrived.changed:
        note(line)
    for table, rows in sorted(arrived.rows.items()):
        note(f"{rows} rows of {table}")
    images = " (an update has two rows)" * bool(arrived.rows)
    note(f"{len(arrived.spans)} logs in {arrived.batches} batches, {arrived.files} files{images}")
    for one in arrived.current:
        if one.how in ("merged", "replayed"):
            note(f"{one.table}: {one.how}, {one.written} rows written, {one.deleted} deleted")
    for done in arrived.compacted:
        note(f"{done.folder}: {done.after} files of {done.before}")
    doubtful = [one for one in arrived.current if not one.determined]
    for one in doubtful:
        why = one.reason or ", ".join(sorted({f["finding"] for f in one.findings}))
        problem = "has no current state" if one.how == "refused" else "is not determined"
        complain(f"{one.table} {problem}: {why}")
    for file, reason in arrived.updated.left.items():
        complain(f"{file} is not in the ledger: {reason}")
    for file, damage in arrived.updated.damaged.items():
        complain(f"{file} is damaged at {damage}")
    failed = arrived.updated.left or arrived.updated.damaged or doubtful
    return FINDINGS if failed or arrived.waiting or arrived.lost else WELL


def _lost(one: Waiting) -> str:
    """What is lost of a table in one log."""
    place = f"{one.file} from {one.first_pos} to {one.last_pos}"
    return f"{one.rows} changes of {one.table} are lost: their log, {place}, is gone. {one.remedy}"


def _waiting(found: Iterable[Waiting]) -> Iterator[str]:
    """What waits, a line for each table and reason, with the remedy."""
    rows: dict[tuple[str, str], list[Waiting]] = {}
    for one in found:
        rows.setdefault((one.table, one.reason), []).append(one)
    for (table, reason), several in rows.items():
        count, first = sum(one.rows for one in several), several[0]
        place = f"{first.file} at {first.first_pos}"
        yield f"{count} changes of {table} wait, from {place} on: {reason}. {first.remedy}"
