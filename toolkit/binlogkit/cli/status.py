"""Exit status, and the lines that go to standard error."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from binlogkit.cli.progress import end_progress
from binlogkit.constants import TableId
from binlogkit.errors import printable
from binlogkit.rows.filters import Filters

if TYPE_CHECKING:
    from binlogkit.log import Log
    from binlogkit.rows.soundness import Gap

WELL, FINDINGS, UNREADABLE = 0, 1, 2
ENDS = ("begins_later", "in_use", "no_format_description", "not_closed")  # of logs
_LOG = logging.getLogger(__name__)
_DAMAGES = ("damage", "rows_without_map", "zeros_at_end")  # as damage, with what it may have cost


def complain(text: str) -> None:
    """One line of what went wrong."""
    _say(f"binlogkit: {printable(text)}")


def note(text: str) -> None:
    """One line that is no finding."""
    _say(f"note: {printable(text)}")


def note_index(log: Log) -> None:
    """When the indexed logs of an answer were last read in full, if an index was used."""
    if log.read_before:
        oldest = datetime.fromtimestamp(min(log.read_before) // 1_000_000, UTC)
        note(f"{len(log.read_before)} logs from the index, last read in full since {oldest:%F %TZ}")


def _say(line: str) -> None:
    end_progress()
    if sys.stderr is not None:
        print(line, file=sys.stderr)


def _complain_of(gaps: Sequence[Gap]) -> None:
    """A line for each kind of gap in each file."""
    kinds: dict[tuple[str, str], list[Gap]] = {}
    for gap in gaps:
        kinds.setdefault((gap.file, gap.code), []).append(gap)
    for first, *others in kinds.values():
        complain(f"{first}{f' ({len(others)} more like it)' if others else ''}")


def gaps_of(gaps: Sequence[Gap]) -> int:
    """Report gaps, and the status that follows."""
    _complain_of(gaps)
    return FINDINGS if gaps else WELL


def status_of(
    log: Log,
    filters: Mapping[str, Any] | None = None,
    *,
    nothing: bool = False,
    losses: bool = True,
    notes: Collection[str] = (),
    concerns: Callable[[str, int | None], bool] = lambda _file, _pos: True,
    tables: Collection[TableId] | None = None,
) -> int:
    """Report what the reading of ``log`` met, and the status that follows from it.

    ``filters``: those that it was read with, which may name what the log does not have;
    ``nothing``: whether there was nothing to write; ``losses``: whether to report what may be
    missing around damage, which an answer may hold itself; ``notes``: codes of those to report,
    others only with ``--verbose``; ``concerns``: whether what is missing at a place, which may
    stand after the point that was asked for, concerns the answer; ``tables``: those that the
    answer is of, which itself says what it supposes: what does not fit of others is a note.
    """
    damages = [damage for damage in log.damages if concerns(damage.file, damage.offset)]
    for damage in log.damages:
        (complain if damage in damages else note)(str(damage))
    for loss in log.losses if losses else ():
        complain(str(loss))
    gaps = [g for g in log.gaps if g.code not in _DAMAGES and concerns(g.file, g.pos)]
    _complain_of(gaps)
    asked = Filters.build(**(filters or {}))
    problems = [
        problem
        for problem in log.problems
        if (asked.wants_table(*problem.table) if tables is None else problem.table in tables)
    ]
    for problem in log.problems:
        (complain if problem in problems else note)(problem)
    supposed = log.suppositions if tables is None else []
    for supposition in supposed:
        complain(str(supposition))
    for name, alone in log.loose.items():
        if alone:
            rows = "1 statement's rows stand" if alone == 1 else f"{alone} statements' rows stand"
            note(
                f"{name}: {rows} without a transaction around them; each is taken as one, and as "
                "committed"
            )
    for found in log.notes:
        text = f"{found.place.file}: {found.found}. {found.meaning}"
        if found.code in notes:
            note(text)
        else:
            _LOG.info("%s", text)
    if filters:
        from binlogkit.log.filter_warnings import unmet

        for warning in unmet(log, filters, nothing=nothing):
            note(warning)
    if log.undecodable:
        cells = "cell" if log.undecodable == 1 else "cells"
        complain(f"{log.undecodable} {cells} could not be decoded")
    doubtful = problems or supposed or log.undecodable
    return FINDINGS if damages or gaps or doubtful else WELL
