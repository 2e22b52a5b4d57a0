"""``binlogkit undo`` and ``binlogkit redo``: a SQL script."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import click

from binlogkit.cli.engine import by_engine, engine_options, master_of
from binlogkit.cli.help import Command
from binlogkit.cli.options import (
    filter_options,
    filters_of,
    input_options,
    narrowed,
    open_input,
    place_options,
    refuse_records,
)
from binlogkit.cli.pages import Page, page_of, page_options
from binlogkit.cli.sources import landing_of, only
from binlogkit.cli.startup import arrow_without_pandas
from binlogkit.cli.status import ENDS, FINDINGS, WELL, complain, gaps_of, note, status_of
from binlogkit.errors import UsageError

if TYPE_CHECKING:
    from binlogkit.log.undoing.log_plans import LogPlans, Undo
    from binlogkit.reports.model import Report
    from binlogkit.reports.sql import SqlOptions
    from binlogkit.rows.filter_args import FilterArgs

_DONE = {"undo": "undone", "redo": "redone"}


def _script(arguments: dict[str, Any], title: str) -> int:
    from binlogkit import __version__
    from binlogkit.log.filter_warnings import tables_not_met
    from binlogkit.reports.output import destination
    from binlogkit.reports.sql import Script, SqlOptions

    arrow_without_pandas()
    page = page_of(arguments, "output", "prove")
    refuse_records(arguments["output"])
    output, commit = arguments.pop("output"), arguments.pop("commit")
    despite, refused = arguments.pop("despite_gaps"), arguments.pop("despite_refused")
    whole, triggers = arguments.pop("by_transaction"), arguments.pop("despite_triggers")
    proof = arguments.pop("prove", None)
    landing, log = landing_of(arguments), None
    master = master_of(arguments, landing)
    asked = {name: arguments.pop(name) for name in ("mode", "made_again") if title == "undo"}
    if landing is not None:
        if proof is not None:
            raise UsageError("a landing has no logs to play: prove the undo of its logs")
        filters = filters_of(arguments)
        page.refuse_masks()
        only(arguments)
        files, source = landing.ledger.files, by_engine(landing, master)
    else:
        log = open_input(arguments)
        page.find(log)
        filters = filters_of(arguments)
        files, source = log.files, log
    plans: Any
    if title == "undo":
        plans = source.undo(despite_gaps=despite, by_transaction=whole, **asked, **filters)
    else:
        plans = source.redo(despite_gaps=despite, by_transaction=whole, **filters)

    def met(*, nothing: bool) -> int:
        if landing is not None:
            for line in tables_not_met(landing.ledger.met, filters):
                note(line)
            return gaps_of(landing.ledger.joined.gaps)
        assert log is not None
        return status_of(log, filters, nothing=nothing, notes=ENDS)

    if not len(plans):
        line = f"; asked for: {chosen}" if (chosen := narrowed(filters)) else ""
        complain(f"nothing to {title}: no change was chosen{line}")
        return max(met(nothing=True), FINDINGS)
    options = SqlOptions(
        title=title,
        made_by=" ".join([f"binlogkit {__version__}:", "binlogkit", *sys.argv[1:]]),
        commit=commit,
        despite_refused=refused,
        despite_triggers=triggers,
    )
    script = Script(plans, options)
    unseen = output == "-" and (proof is not None or page.path is not None)
    shown = output == "-" and not unseen
    with nullcontext() if unseen else destination(output) as sink:
        for block in script.blocks():
            if sink is not None:
                sink.write(block)
    if page.path is not None:
        page.write(_report(files, plans, page, title, script.refusals.lines(), filters), "plan")
    if script.refused:
        complain(f"{script.refused} of {len(plans)} changes could not be {_DONE[title]}:")
    for line in script.refusals.lines():
        complain(line)
    for line in plans.chosen[: not shown]:  # a script that is printed says so itself
        note(f"chosen: {line}")
    for line in plans.later[: not shown]:
        note(f"later: {line}")
    for line in plans.needs[: not shown]:
        note(f"needed: {line}")
    return max(
        met(nothing=False),
        WELL if script.statements and not script.refused else FINDINGS,
        WELL if proof is None else _prove(plans, proof, options),
    )


def _report(
    names: list[str],
    plans: LogPlans,
    page: Page,
    title: str,
    refusals: list[str],
    filters: FilterArgs,
) -> Report:
    """The plan: each row as it is and as it becomes."""
    from binlogkit.analyses.suspects.rules import file_words
    from binlogkit.analyses.undoing.shown import shown_rows
    from binlogkit.reports.diff_and_undo import plan_report
    from binlogkit.reports.model import logs

    chosen, files = page.chosen(filters), shlex.join(file_words(names))
    mode = getattr(plans, "mode", "")
    words = [f"binlogkit {title}", files, chosen, f"--mode {mode}" * bool(mode)]
    facts = [
        logs(names),
        ("only", chosen or "all changes"),
    ]
    notes = {
        "Refused": refusals, "Changes may be missing": plans.gaps, "Needed first": plans.needs,
        "Chosen": plans.chosen, "Assumed": plans.assumes,
        "Later changes that depend on it": () if page.masked else plans.later,
    }  # fmt: skip
    return plan_report(
        f"What the {title} would change", [*facts, ("mode", mode)],
        _planned(shown_rows(plans), page),
        plans.counts(), notes,
        [f"{' '.join(filter(None, words))} --output {title}.sql", f"mysql --batch < {title}.sql"],
    )  # fmt: skip


def _planned(rows: Iterator[dict[str, Any]], page: Page) -> Iterator[dict[str, Any]]:
    for row in rows:
        images = {n: json.loads(row[n] or "null") for n in ("key", "now", "after")}
        yield row | {n: page.row(row["db"], row["table"], v) for n, v in images.items()}


def _prove(plans: Undo, form: str, options: SqlOptions) -> int:
    """Print what a server shows of the script."""
    from binlogkit.reports.output import Output, write_records
    from binlogkit.reports.proof import proof_report
    from binlogkit.reports.text import write

    note("the log's statements are executed, on a MySQL server started for this only")
    proof = plans.prove(
        despite_refused=options.despite_refused, despite_triggers=options.despite_triggers
    )
    if form == "json":
        write_records([proof.record()], Output("jsonl"))
    else:
        write(proof_report(proof.record()))
    return WELL if proof.equal else FINDINGS


_script_options = (
    click.option("--output", metavar="PATH", default="-", help="Write here (mode 0600)."),
    click.option(
        "--commit", is_flag=True, help="Let the script commit if every statement changed one row."
    ),
    click.option(
        "--despite-gaps",
        is_flag=True,
        help="Make a script where changes may be missing; it names the gaps.",
    ),
    click.option(
        "--by-transaction",
        is_flag=True,
        help="All changes of the transactions that the filters touch.",
    ),
    click.option(
        "--despite-refused",
        is_flag=True,
        help="Let the script commit the other changes if some are refused.",
    ),
    click.option(
        "--despite-triggers",
        is_flag=True,
        help="Let the script commit even if triggers act on its statements.",
    ),
)


def _script_command(command: Any) -> Any:
    for option in reversed(_script_options):
        command = option(command)
    page = page_options("Write the plan as one HTML file instead; with --output the script, too.")
    engine = engine_options("local", "spark")
    return input_options(filter_options(place_options(page(engine(command)))))


@click.command("undo", cls=Command)
@_script_command
@click.option(
    "--prove",
    is_flag=False,
    flag_value="text",
    type=click.Choice(["text", "json"]),
    help="Play the log and then the script on a MySQL server started for this, and print what "
    "that shows instead of the script.",
)
@click.option(
    "--mode",
    type=click.Choice(["refuse", "skip", "cascade", "force", "merge"]),
    default="refuse",
    show_default=True,
    help="What to do with changes that later ones depend on: refuse them; skip them; cascade: "
    "revert the later ones as well; force: overwrite a row that changed later; "
    "merge: restore the columns that no later change set.",
)
@click.option(
    "--made-again",
    metavar="DB.TABLE",
    multiple=True,
    help="This table was dropped and made again, empty: restore its rows. The script names the "
    "statements that made it.",
)
def command(**arguments: Any) -> int:
    """Print the SQL that reverts the chosen changes, last change first.

    Each statement sets only the columns that its change touched, and finds the row only while it
    holds what the change left. FILE may be a landing (`binlogkit land`): its folder, or with
    --ledger its URL. Its logs are not needed; --engine spark is for landings.
    """
    return _script(arguments, "undo")


@click.command("redo", cls=Command)
@_script_command
def redo(**arguments: Any) -> int:
    """Print the SQL that makes the chosen changes again, first change first.

    FILE may be a landing, as for undo.
    """
    return _script(arguments, "redo")
