"""``binlogkit state``: tables' rows as of a point."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import click

from binlogkit.cli.engine import engine_options, master_of, started
from binlogkit.cli.help import Command
from binlogkit.cli.options import (
    base_options,
    index_option,
    input_options,
    open_input,
    output_of,
    output_options,
    place_options,
)
from binlogkit.cli.sources import landing_of, only
from binlogkit.cli.startup import arrow_without_pandas
from binlogkit.cli.status import ENDS, FINDINGS, WELL, complain, note, note_index, status_of
from binlogkit.errors import UsageError
from binlogkit.rows.filters import written_table_name

if TYPE_CHECKING:
    from binlogkit.log.states.table_state import TableState
    from binlogkit.reports.output import Output
    from binlogkit.spark.landing import Landing

_LOG = logging.getLogger(__name__)


@click.command("state", cls=Command)
@input_options
@click.option("--table", multiple=True, metavar="DB.T", help="The table (repeatable); else all.")
@click.option("--at", metavar="FILE:POS", help="After the transactions that end by this position.")
@click.option("--until-gtid", metavar="SET", help="Up to the set's last member in log order.")
@click.option("--until-time", metavar="TIME", help="After those committed at or before this time.")
@click.option("--timezone", metavar="ZONE", help="Zone of a time without an offset.")
@base_options
@click.option("--source", metavar="NAME", help="Whose logs, where several servers have the table.")
@index_option
@engine_options("local", "spark")
@place_options
@output_options
def command(**arguments: Any) -> int:
    """One record per row that the table held: its values, and the unknown columns.

    Without --at, --until-gtid and --until-time: at the end of the log. With several tables, or
    without --table (all that the log names and that may be there at the point), each record begins
    with its db and table. FILE may be a landing (`binlogkit land`), for one --table and --at: its
    folder, or with --ledger its URL; --engine spark is for landings. csv, Parquet and Arrow of one
    table have its columns.
    """
    from binlogkit.reports.text import write_state, write_states

    landing = landing_of(arguments)
    master = master_of(arguments, landing)
    if landing is None:
        arrow_without_pandas()
    output = output_of(arguments)
    if landing is not None:
        return _landed(landing, master, output, arguments)
    log = open_input(arguments)
    tables = list(arguments.pop("table"))
    point = {k: v for k, v in arguments.items() if v is not None}
    states = _States(log.states(tables or None, **point))
    if len(tables) == 1:
        (state,) = states
        write_state(state, output)
    else:
        passing = iter(states)
        first = list(islice(passing, 1))  # an input that cannot be read gives no output
        whole = chain(first, passing)
        write_states(((state.table, state.batches()) for state in whole), output)
    if states.last is not None:
        names = {name for notes in states.notes for name in notes.names}
        met = status_of(log, notes=ENDS, concerns=states.last.reach.concerns, tables=names)
    else:
        met = status_of(log, notes=ENDS)
        note("the log names no table that may be there at the point")
    note_index(log)
    for notes in states.notes:
        notes.tell()
    return met if all(notes.determined for notes in states.notes) else FINDINGS


def _landed(landing: Landing, master: str | None, output: Output, arguments: dict[str, Any]) -> int:
    """A landed table's state, folded here or by Spark's tasks."""
    from binlogkit.reports.text import write_state

    only(arguments, "table", "at")
    tables, at = arguments["table"], arguments["at"]
    if len(tables) != 1:
        raise UsageError("of a landing one --table is asked for")
    if master is None:
        state = landing.state(*tables, at=at)
        write_state(state, output)
        StateNotes(written_table_name(*state.table), state).tell(gaps=True)
        return WELL if state.determined else FINDINGS
    from binlogkit.spark.landing.shared import shared_state

    shared = shared_state(started(master), landing, tables[0], at)
    write_state(shared, output)
    name = written_table_name(*shared.state.table)
    unknown = [f"{shared.unknown_cells} cells are not determined by the log"]
    unknown *= bool(shared.unknown_cells)
    tell_state(name, shared.state.findings.to_pylist(), unknown, gaps=True)
    return WELL if shared.determined else FINDINGS


class _States:
    """States as they pass; ``notes``: what to report of each, ``last``: one of them."""

    def __init__(self, states: Iterable[TableState]) -> None:
        self._states = states
        self.notes: list[StateNotes] = []
        self.last: TableState | None = None

    def __iter__(self) -> Iterator[TableState]:
        for state in self._states:
            self.notes.append(StateNotes(written_table_name(*state.table), state))
            self.last = state
            yield state


class StateNotes:
    """What goes to standard error of a state, without its rows."""

    def __init__(self, name: str, state: TableState) -> None:
        self.name, self.determined, self._assumes = name, state.determined, state.assumes
        self.names = state.names
        self._findings = state.findings.to_pylist()
        self._rows, self._known_rows = state.rows.num_rows, state.determined_rows
        self._unknown, self._known_cells = state.unknown_cells, state.determined_cells
        self._cells = self._rows * len(state.rows.schema.field("values").type)

    def tell(self, *, gaps: bool = False) -> None:
        """Say it; ``gaps``: see :func:`tell_state`."""
        wrong = [f"{self._unknown} cells are not determined by the log"] * bool(self._unknown)
        doubtful = any(f["finding"] in ("gap", "base_gap", "unlogged") for f in self._findings)
        if doubtful and self._rows:
            wrong.append(
                f"{self._known_rows} of {self._rows} rows and "
                f"{self._known_cells} of {self._cells} cells are determined by the log"
            )
        tell_state(self.name, self._findings, wrong, self._assumes, gaps=gaps)
        if self.determined and not self._rows:
            note(f"{self.name}: 0 rows")


def tell_state(
    name: str,
    findings: Iterable[dict[str, Any]],
    wrong: Iterable[str],
    assumes: Iterable[str] = (),
    *,
    gaps: bool = False,
) -> None:
    """A line for each finding, for what else is ``wrong``, and with ``--verbose`` for what is
    assumed; ``gaps``: also for gaps, which of logs are reported with the logs."""
    for finding in findings:
        if finding["finding"] == "gap" and not gaps:
            continue
        where = f" (first at {finding['file']}:{finding['pos']})" if finding["file"] else ""
        tell = note if finding["determined"] else complain
        tell(f"{name}: {finding['meaning']}{where}")
    for text in wrong:
        complain(f"{name}: {text}")
    for assumed in assumes:
        _LOG.info("%s: assumed: %s", name, assumed)
