"""``binlogkit state``: tables' rows as of a point."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import click

from binlogkit.cli.options import (
    base_options,
    input_options,
    open_input,
    output_of,
    output_options,
)
from binlogkit.cli.startup import arrow_without_pandas
from binlogkit.cli.status import ENDS, FINDINGS, complain, note, status_of
from binlogkit.rows.filters import written_table_name

if TYPE_CHECKING:
    from binlogkit.log.table_state import TableState

_LOG = logging.getLogger(__name__)


@click.command("state")
@input_options
@click.option("--table", multiple=True, metavar="DB.T", help="The table (repeatable); else all.")
@click.option("--at", metavar="FILE:POS", help="After the transactions that end by this position.")
@click.option("--until-gtid", metavar="SET", help="Up to the set's last member in log order.")
@click.option("--until-time", metavar="TIME", help="After those committed at or before this time.")
@click.option("--timezone", metavar="ZONE", help="Zone of a time without an offset.")
@base_options
@click.option("--source", metavar="NAME", help="Whose logs, where several servers have the table.")
@output_options
def command(**arguments: Any) -> int:
    """One record per row that the table held: its values, and the columns that are not known.

    Without --at, --until-gtid and --until-time: at the end of the log. With several tables, or
    without --table (all that the log names and that may be there at the point), each record begins
    with its db and table.
    """
    from binlogkit.reports.text import write_state, write_states

    arrow_without_pandas()
    output = output_of(arguments)
    log = open_input(arguments)
    tables = list(arguments.pop("table"))
    point = {k: v for k, v in arguments.items() if v is not None}
    states = _States(log.states(tables or None, **point))
    if len(tables) == 1:
        (state,) = states
        write_state(state.batches(), output, state.facts().metadata())
    else:
        passing = iter(states)
        first = list(islice(passing, 1))  # an input that cannot be read gives no output
        whole = chain(first, passing)
        write_states(((state.table, state.batches()) for state in whole), output)
    if states.last is not None:
        status = status_of(log, notes=ENDS, concerns=states.last.reach.concerns)
    else:
        status = status_of(log, notes=ENDS)
        note("the log names no table that may be there at the point")
    for told in states.told:
        told.tell()
    return status if all(told.determined for told in states.told) else FINDINGS


class _States:
    """States as they pass; ``told``: what is to be said of each, ``last``: one of them."""

    def __init__(self, states: Iterable[TableState]) -> None:
        self._states = states
        self.told: list[Told] = []
        self.last: TableState | None = None

    def __iter__(self) -> Iterator[TableState]:
        for state in self._states:
            self.told.append(Told(written_table_name(*state.table), state))
            self.last = state
            yield state


class Told:
    """What goes to standard error of a state, without its rows."""

    def __init__(self, name: str, state: TableState) -> None:
        self.name, self.determined, self._assumes = name, state.determined, state.assumes
        self._findings = state.findings.to_pylist()
        self._rows, self._known_rows = state.rows.num_rows, state.determined_rows
        self._unknown, self._known_cells = state.unknown_cells, state.determined_cells
        self._cells = self._rows * len(state.rows.schema.field("values").type)

    def tell(self) -> None:
        """Say it."""
        tell_findings(self.name, self._findings)
        if self._unknown:
            complain(f"{self.name}: {self._unknown} cells are not determined by the log")
        if any(finding["finding"] in ("gap", "base_gap", "unlogged") for finding in self._findings):
            complain(
                f"{self.name}: {self._known_rows} of {self._rows} rows and "
                f"{self._known_cells} of {self._cells} cells are determined by the log"
            )
        for assumed in self._assumes:
            _LOG.info("%s: assumed: %s", self.name, assumed)


def tell_findings(name: str, findings: Iterable[dict[str, Any]]) -> None:
    """A line for each finding but gaps, which are reported with the log's."""
    for finding in findings:
        if finding["finding"] == "gap":
            continue
        where = f" (first at {finding['file']}:{finding['pos']})" if finding["file"] else ""
        tell = note if finding["determined"] else complain
        tell(f"{name}: {finding['meaning']}{where}")
