"""Changes that have expired: the table ``expired`` of a landing has where they were, by log."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pyarrow.compute as pc

from binlogkit.analyses.point_in_time.counting import touching
from binlogkit.constants import TableId
from binlogkit.frames.fields.field import arrow_schema
from binlogkit.frames.fields.ledger import EXPIRED
from binlogkit.log.index import Part
from binlogkit.rows.soundness import Gap
from binlogkit.spark.landing.journal import append_next
from binlogkit.spark.landing.landing_path import LandingPath
from binlogkit.spark.landing.shape import landed_name
from binlogkit.spark.landing.tables import last_batch, rows_of
from binlogkit.spark.splits.commits import file_number

#: The code of their gaps.
CODE = "expired"
_FOLDER = "expired"


@dataclass(frozen=True, slots=True)
class Expired:
    """The changes of one table in one log that have expired (docs/landing.md)."""

    table: str
    source: str | None
    file: str
    begun: int
    first_pos: int
    last_pos: int
    rows: int
    last_sequence: bytes
    before: str
    expired_at: int


def keep_expired(out: LandingPath, mark: str, found: Iterable[Expired]) -> None:
    """Enter what is about to expire; ``mark``: of who does it."""
    rows = [asdict(one) for one in found]
    if rows:
        append_next(out / _FOLDER, mark, rows, EXPIRED)


def last_expired(out: LandingPath) -> int:
    """A number that grows whenever changes expire."""
    return last_batch(out / _FOLDER)


def read_expired(out: LandingPath) -> list[Expired]:
    """All that has expired."""
    return [Expired(**row) for row in rows_of(out / _FOLDER, arrow_schema(EXPIRED))]


def expired_gaps(
    found: Iterable[Expired], parts: Sequence[Part], cuts: Sequence[tuple[int, int]],
    numbers: dict[str, int],
) -> Iterator[Gap]:  # fmt: skip
    """Gaps where changes were that have expired: of each table the first one between two statements
    that may have emptied tables, which are at the places ``cuts``; ``numbers``: of the logs."""
    first: dict[tuple[str, int], tuple[int, int, str, str]] = {}
    for one in found:
        table = ".".join(landed_name(one.table))
        own = _transactions(one, table, parts) or {one.file: [one.first_pos]}
        for file, places in own.items():
            number = numbers.get(file, 0)
            before = bisect_left(cuts, (number, -1))
            inside = [pos for log, pos in cuts[before:] if log == number]
            stretches = before + np.searchsorted(inside, places, side="right")
            for stretch, at in zip(*np.unique(stretches, return_index=True), strict=True):
                key, place = (table, int(stretch)), (number, int(places[at]), file, one.before)
                first[key] = min(first.get(key, place), place)
    for (table, _), (_, pos, file, before_day) in first.items():
        text = f"changes of {table} from before {before_day} have expired"
        yield Gap(CODE, file, pos, 0, frozenset([table]), text)


def _transactions(one: Expired, table: str, parts: Sequence[Part]) -> dict[str, Sequence[int]]:
    """Where the transactions begin that may have had these changes, in order, by log."""
    found: dict[str, Sequence[int]] = {}
    for part in parts:
        names = {file_number(name): name for name in part.names}
        head, name = part.head, names.get(file_number(one.file))
        if head is None or name is None or head.begun != one.begun:
            continue
        rows = part.ledger["transactions"].select(["file", "pos", "end_pos", "tables"])
        rows = rows.filter(touching(rows, [table]))
        if len(part.names) == 1:
            inside = pc.and_(
                pc.less_equal(rows["pos"], one.last_pos), pc.greater(rows["end_pos"], one.first_pos)
            )
            rows = rows.filter(inside)
        for file in rows["file"].unique().to_pylist():
            own = rows.filter(pc.equal(rows["file"], file))["pos"]
            found[file] = np.sort(np.asarray(own)).tolist()
    return found


def since(found: Iterable[Expired], names: Iterable[TableId]) -> tuple[str, bytes] | None:
    """The day before which changes of tables have expired, and the last ``_sequence`` of these."""
    tables = {*names}
    own = [one for one in found if landed_name(one.table) in tables]
    if not own:
        return None
    return max(one.before for one in own), max(one.last_sequence for one in own)


def before_of(found: Iterable[Expired], name: TableId) -> str | None:
    """The day before which changes of a table have expired; None if none have."""
    own = since(found, [name])
    return None if own is None else own[0]
