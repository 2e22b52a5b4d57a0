"""A point as a user gives it: a position, a GTID set or a time; what counts by it: counting.py."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

from binlogkit.errors import UsageError
from binlogkit.events.gtid_set import GtidSet
from binlogkit.log.filter_warnings import MICROSECONDS, utc
from binlogkit.rows.filter_args import place_in
from binlogkit.rows.filters import parse_time

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa

    from binlogkit.log.states.history import History
    from binlogkit.log.states.places import Logs
    from binlogkit.rows.soundness import FileFacts

_END = (1 << 63) - 1  # after every position of a file
_GTID = re.compile(r"\s*[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\s*:", re.IGNORECASE)

#: A point in one value: a position (``"FILE:POS"``, (file, pos), of one file POS alone), a GTID
#: set, a time; None: the logs' end. See :func:`point_args`.
PointArg: TypeAlias = "str | int | tuple[str, int] | GtidSet | datetime | None"


class TableArgs(TypedDict, total=False):
    """The user's facts about a table: see :meth:`Log.state`."""

    transactional: bool | None
    key: Sequence[str] | None
    source: str | Iterable[str] | None
    base: Any
    back_from: Any
    base_at: str | tuple[str, int] | None
    base_gtid: str | GtidSet | None


class PointArgs(TableArgs, total=False):
    """The arguments of :meth:`Log.state` besides the table."""

    at: str | int | tuple[str, int] | None
    until_gtid: str | GtidSet | None
    until_time: str | float | datetime | None
    timezone: str | None


class Point:
    """``place``, ``gtids``, ``time``: a file and a position, a set (up to its last member),
    microseconds; one of them, or none for the logs' end."""

    def __init__(self, log: Logs, given: PointArgs) -> None:
        at, gtids, time = given.get("at"), given.get("until_gtid"), given.get("until_time")
        if sum(x is not None for x in (at, gtids, time)) > 1:
            raise UsageError("give one of at, until_gtid and until_time")
        self.place = None if at is None else place_in(log.files, at)
        self.gtids = GtidSet.parse(gtids) if isinstance(gtids, str) else gtids
        self.time = None if time is None else parse_time(time, given.get("timezone"))
        self.files = {name: i for i, name in enumerate(log.files)}
        self._log = log

    def until(self, transactions: pa.Table) -> Any:
        """The point as the analysis takes it."""
        import numpy as np

        from binlogkit.analyses.point_in_time import AtPosition, AtTime, UpToGtids

        if self.gtids is not None:
            return UpToGtids(str(self.gtids))
        if self.place is None:
            return None if self.time is None else AtTime(self.time)
        ends = set(transactions.column("end_file").unique().to_pylist())
        file, pos = self.place
        if (copied := self._log.copied(file)) is not None:
            numbers = np.asarray(copied["tx"])
            by_then = numbers[np.asarray(copied["end_pos"]) <= pos]
            last = by_then.max() if len(by_then) else numbers.min() - 1
            return AtPosition(file, pos, int(last))
        if file in ends or not ends:
            return AtPosition(file, pos) if ends else None
        # The same point, where transactions end.
        facts = [one for one in self._log.file_facts if not one.relay]
        own = next((one for one in facts if one.name == file), None)
        alone = own is None or all(one.server_id == own.server_id for one in facts)
        if own is not None and own.previous is not None and not alone:
            return self._after(own.follows, facts, min(ends, key=self.files.__getitem__))
        before = [name for name in self.files if self.files[name] < self.files[file]]
        named = [name for name in before if name in ends]
        if named:
            return AtPosition(named[-1], _END)
        return AtPosition(next(name for name in self.files if name in ends), 0)

    def _after(self, follows: GtidSet, facts: Iterable[FileFacts], first: str) -> Any:
        """The point after some GTIDs, at which a log of one of several servers begins; ``first``:
        the first log in which transactions end."""
        from binlogkit.analyses.point_in_time import AtPosition, UpToGtids

        if not follows:
            file = "" if self.place is None else self.place[0]
            raise UsageError(f"{file} has no transactions, and does not say what it follows")
        had = GtidSet()
        for one in facts:
            had = had.union(one.gtids.common(follows))
        return UpToGtids(str(had)) if had else AtPosition(first, 0)

    def notes(self, history: History, transactions: pa.Table) -> list[str]:
        """The note for a point after the last event that was read."""
        import pyarrow.compute as pc

        if self.place is not None:
            file, pos = self.place
            end = history.ends.get(file, pos)
            return [
                f"The last event read of {file} ends at {end}, before the position {pos} that was "
                "asked for: the state is that at this end."
            ] * (pos > end)
        if self.time is None:
            return []
        commit = pc.max(transactions.column("commit_timestamp")).as_py() or 0
        latest, asked = max(history.latest, commit // MICROSECONDS), self.time // MICROSECONDS
        return [
            f"No event that was read is later than {utc(latest)}, and {utc(asked)} was asked for: "
            "the state is that at the log's end."
        ] * (asked > latest)


def point_args(point: PointArg, timezone: str | None = None) -> PointArgs:
    """A value as point arguments of :meth:`Log.state`.

    A text is a GTID set if it begins with a server's UUID and a colon, a position if it is a
    number, a time if it is one in ISO 8601, else ``FILE:POS``. A number is a position.
    """
    if isinstance(point, GtidSet) or (isinstance(point, str) and _GTID.match(point)):
        return {"until_gtid": point}
    if isinstance(point, datetime):
        return {"until_time": point, "timezone": timezone}
    if isinstance(point, str) and not point.isdecimal():
        try:
            datetime.fromisoformat(point)
        except ValueError:
            return {"at": point}
        return {"until_time": point, "timezone": timezone}
    return {"at": point}
