"""What filters name and the log does not have: tables without a row change, points outside it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from binlogkit.errors import UnmetWarning, printable
from binlogkit.log.past_the_end import filters_behind_end, times_outside
from binlogkit.rows.filters import Filters, TableName, written_table_name

if TYPE_CHECKING:
    from binlogkit.log.streams import Streams

__all__ = ["others", "tables_not_met", "unmet", "warn_of_unmet"]

_NAMED, _LIKENESS = 3, 0.75  # of those that may be meant


def unmet(log: Streams, filters: Mapping[str, Any], *, nothing: bool) -> list[str]:
    """What to tell of the ``filters`` of the last read; ``nothing``: whether it gave nothing."""
    told = [*filters_behind_end(log, filters), *tables_not_met(log, filters)]
    return [*told, *times_outside(log, filters)] if nothing else told


def warn_of_unmet(
    log: Streams, filters: Mapping[str, Any], *, nothing: bool, level: int = 3
) -> None:
    """The same as warnings; ``level``: how far up the user's call is, 3 for that of our caller."""
    for text in unmet(log, filters, nothing=nothing):
        warnings.warn(printable(text), UnmetWarning, stacklevel=level)


def tables_not_met(log: Streams, filters: Mapping[str, Any]) -> list[str]:
    """What to tell of the tables in ``filters`` that the last read met no rows of; of those to be
    left out only where another may be meant."""
    tables = Filters.build(table=filters.get("table"), exclude_table=filters.get("exclude_table"))
    met = list(log.met)
    lacking = {name: others(name, met) for name in tables.tables if not _there(name, met)}
    told = [f"no rows of {_written(name)} were read{like}" for name, like in lacking.items()]
    lacking = {name: others(name, met) for name in tables.exclude_tables if not _there(name, met)}
    return told + [
        f"there are no rows of {_written(name)} to leave out{like}"
        for name, like in lacking.items()
        if like
    ]


def _there(name: TableName, met: list[tuple[str, str]]) -> bool:
    return any(name(*other) for other in met)


def _written(name: TableName) -> str:
    return written_table_name(*([] if name.db is None else [name.db]), name.table)


def others(name: TableName, met: list[tuple[str, str]]) -> str:
    """Which of the tables with rows may be meant instead; nothing where none is.

    The one that differs in capitals alone (names in a log are compared letter by letter, also where
    the server has ``lower_case_table_names=1`` and keeps small ones), or those most like it.
    """
    asked, texts = _written(name).casefold(), dict[str, str]()
    for db, table in met:
        whole = written_table_name(db, table)
        texts.setdefault(
            (whole if name.db is not None else written_table_name(table)).casefold(), whole
        )
    like = [texts[asked]] if asked in texts else []
    like = like or [texts[text] for text in get_close_matches(asked, texts, _NAMED, _LIKENESS)]
    like = like or [written_table_name(*other) for other in met if other[1] == name.table][:_NAMED]
    return f"; there are rows of {', '.join(like)}" if like else ""
