"""Rows of landed tables that were changed outside the logs: what ``verify --images`` says of logs,
from what has landed.

Each table's changes are replayed, and images compared with the rows (LandedStates).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from binlogkit.errors import InputError, SchemaError, UsageError
from binlogkit.log.states.images.checks import (
    ENGINE_WITHOUT_ROWS,
    KEY_UNKNOWN,
    NO_KEY,
    NO_ROWS,
    Checked,
)
from binlogkit.log.verify import Verification
from binlogkit.rows.filters import written_table_name

if TYPE_CHECKING:
    from binlogkit.analyses.point_in_time.state import Images
    from binlogkit.constants import TableId
    from binlogkit.log.states.images.contradictions import Contradiction
    from binlogkit.spark.landing.ledger import Ledger
    from binlogkit.spark.landing.states import LandedStates


def unlogged_in(ledger: Ledger, states: Callable[[str], LandedStates]) -> Verification:
    """See :meth:`binlogkit.spark.landing.Landing.unlogged`; ``states``: of a table."""
    ledger.check()
    found: list[Contradiction] = []
    images = []
    for name in ledger.met:
        images.append(checked := Checked((ledger.met[name][-1].source, *name)))
        try:
            checked.reason = _missing(ledger, name, "it")
            if checked.reason is None:
                found += _compared(checked, ledger, states(written_table_name(*name)))
        except (SchemaError, UsageError) as exc:  # its key is masked, it is several servers'
            checked.reason = str(exc)
    return Verification([one.finding() for one in found], [], [], images)


def _missing(ledger: Ledger, name: TableId, what: str) -> str | None:
    """Why changes of a table are not there."""
    try:
        ledger.refuse_waiting([name])
    except InputError as exc:
        return exc.reason
    return None if ledger.has(name) else f"{what} has not landed"


def _compared(checked: Checked, ledger: Ledger, states: LandedStates) -> list[Contradiction]:
    """Compare a table's images."""
    earlier = [name for name in states.wanted.lineage if name in ledger.met]
    gone = (_missing(ledger, one, written_table_name(*one)) for one in earlier)
    checked.reason = next(filter(None, gone), None)
    if checked.reason is not None:
        return []
    images, found = states.compared()
    checked.changes, checked.compared = images.tally.changes, images.tally.compared
    checked.count = len(found)
    checked.reason = "; ".join(_limits(checked, ledger, states, images)) or None
    return found


def _limits(
    checked: Checked, ledger: Ledger, states: LandedStates, images: Images
) -> Iterator[str]:
    """Why not all images of a table were compared."""
    layout, table = states.wanted.layout, frozenset([".".join(checked.name[1:])])
    if (layout.engine or "").upper() in NO_ROWS:
        yield ENGINE_WITHOUT_ROWS
    elif not layout.key and not images.complete:
        known = ledger.met[states.wanted.table.name][-1].key_kind == "none"
        yield NO_KEY if known else KEY_UNKNOWN
    if not ledger.erased.keys().isdisjoint(states.wanted.lineage):
        yield "rows of it were erased, and later changes of such rows would not fit"
    if (doubt := images.doubt) is not None:
        since = "" if doubt.file is None else f"from {doubt.file} at {doubt.pos} on: "
        yield f"{since}{doubt.meaning}"
    yield from dict.fromkeys(gap.found for gap in ledger.gaps if gap.tables == table)
