"""Tables of the MEMORY engine, which lose their rows when their server restarts.

The server says so in its log (``TRUNCATE TABLE`` from 8.0 on, ``DELETE FROM`` before) only when the
table is next used (manual, "The MEMORY Storage Engine"; seen on 5.7.22, 8.0.31, 9.7.4).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from binlogkit.constants import TableId
from binlogkit.rows.series import split_name

if TYPE_CHECKING:
    from binlogkit.analyses.point_in_time.boundary import Boundary
    from binlogkit.log.states.gaps import Reach
    from binlogkit.rows.soundness import FileFacts

ENGINE = "MEMORY"


def emptied_by(
    files: Sequence[FileFacts], reach: Reach, boundaries: Iterable[Boundary], names: set[TableId]
) -> FileFacts | None:
    """The log that the server began with its last start before the point; None if a later logged
    change may have written the table."""
    counted = [b for b in boundaries if reach.counts(b.tx)]
    touched = {b.file for b in counted if b.may_write or any(map(b.concerns, names))}
    touched |= reach.files_with([".".join(name) for name in names])
    for facts in reversed(files):
        if facts.name in touched:
            return None
        if starts(facts) and reach.has_begun(facts):
            return facts
    return None


def starts(facts: FileFacts) -> bool:
    """Whether a server's start began the log. RESET MASTER looks alike, but begins with number
    1."""
    number = split_name(facts.name)[2]
    own = not (facts.relay or facts.foreign)
    return facts.server_started and own and number is not None and number > 1
