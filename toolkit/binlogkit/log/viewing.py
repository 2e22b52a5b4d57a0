"""One reading for several views: folds over its windows (docs/design.md)."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import TYPE_CHECKING

from binlogkit.errors import DamageError, InputError
from binlogkit.frames.row_counts import RowCounts
from binlogkit.rows.filters import Filters
from binlogkit.rows.reading import Reading

if TYPE_CHECKING:
    from binlogkit.frames.key_filters import KeyFilters


def view(
    reading: Reading,
    *take: Callable[..., object],
    counting: bool | Filters = False,
    keys: KeyFilters | None = None,
) -> InputError | None:
    """Give the windows of a reading to views; returns the error of a log that cannot be read.

    ``counting``: rows are counted, and each view gets the count of each event; filters: which
    tables' rows must be readable; ``keys``: receives the values of their keys. Damage goes to
    ``reading.damages``, including damage that ends the reading.
    """
    stops = reading.options.on_damage == "stop"
    counts: RowCounts | None = None
    if counting:
        wanted = Filters() if counting is True else counting
        counts = RowCounts(stops=stops, keys=keys, wanted=wanted)
    try:
        for window in reading.windows():
            damages, counted = window.damages, None
            if counts is not None:
                counted, found = counts.of(window)
                for i, error in found:
                    reading.unread_rows(window, i, error)
                if found and stops:
                    window, counted = window.before(found[0][0]), counted[: found[0][0]]
                damages = sorted([*window.damages, *found], key=itemgetter(0))
            for one in take:
                one(window) if counts is None else one(window, counted)
            reading.damages.extend(error for _, error in damages)
            if counts is not None and stops and found:
                break
    except DamageError as error:
        reading.damages.append(error)
    except InputError as error:
        if reading.unreadable is None:
            raise
        return error
    return None
