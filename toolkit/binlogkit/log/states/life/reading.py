"""The changes of a table in which one row is searched: all while they are few, else those of its
known keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.analyses._savepoints import Undone
from binlogkit.analyses.point_in_time.batches import pieces
from binlogkit.analyses.point_in_time.codes import Integers
from binlogkit.analyses.point_in_time.identity import Identity, Key, Move, linked
from binlogkit.analyses.point_in_time.repeats import not_done
from binlogkit.constants import TableId
from binlogkit.errors import UsageError
from binlogkit.frames.key_texts import asked_text, key_texts, values_of
from binlogkit.rows.filters import written_table_name

if TYPE_CHECKING:
    from binlogkit.log.states.reading import RowSource

_MOST = 64 << 20  # bytes of changes that are kept whatever their row
_PLACE = ("seq", "tx", "file", "pos", "inner")


@dataclass(frozen=True, slots=True)
class KeptChanges:
    """Changes, with the texts of their keys before and after."""

    batch: pa.RecordBatch
    was: pa.Array
    now: pa.Array

    def those(self, which: Any) -> KeptChanges:
        """Some of them."""
        return KeptChanges(self.batch.filter(which), self.was.filter(which), self.now.filter(which))

    def of(self, keys: pa.Array) -> KeptChanges:
        """The changes of rows that have one of the keys before or after."""
        return self.those(pc.or_(pc.is_in(self.was, keys), pc.is_in(self.now, keys)))


class Candidates:
    """The changes kept of a table.

    ``given``: the key's values; ``tracked``: the keys whose changes are kept, None for all;
    ``asked``: the wanted key as texts, each with the first place that it was met (``seq``);
    ``complete``: whether every change of the row is kept; ``without``: how many changes lack the
    key; ``misfit``: why the values do not fit one of the table's versions, the last one, from
    ``misfit_at`` on.
    """

    def __init__(self, given: Any, tracked: set[str] | None = None) -> None:
        self._given = given
        self.tracked, self._anew = tracked, tracked is not None
        self.asked: dict[str, int] = {}
        self.complete = True
        self.without = 0
        self.misfit: UsageError | None = None
        self.misfit_at = -1
        self._kept: list[KeptChanges] = []
        self._moves: list[KeptChanges] = []
        self._bytes = 0

    def feed(self, batch: pa.RecordBatch, key: Key, table: str) -> None:
        """Take changes; the key's columns have these names."""
        if not key:
            self.without += batch.num_rows
            return
        try:
            text = asked_text(batch, key, values_of(self._given, key, table))
        except UsageError as error:  # in this version of the table; others may have another type
            self.misfit, self.misfit_at, text = error, int(batch["seq"][0].as_py()), None
        if text is not None:
            self.asked.setdefault(text, int(batch["seq"][0].as_py()))
        kept = KeptChanges(batch, key_texts(batch, "before", key), key_texts(batch, "after", key))
        nothing = pc.and_(kept.was.is_null(), kept.now.is_null())
        self.without += pc.sum(nothing).as_py() or 0
        moves = kept.those(pc.fill_null(pc.not_equal(kept.was, kept.now), False))
        if moves.batch.num_rows:
            self._moves.append(KeptChanges(moves.batch.select(_PLACE), moves.was, moves.now))
        if self.tracked is not None and not self._anew:
            self._follow(self.tracked, moves)
        if self.tracked is not None:
            self.tracked.update(self.asked)
            kept = kept.of(pa.array(sorted(self.tracked), pa.string()))
        if kept.batch.num_rows:
            self._kept.append(kept)
            self._bytes += batch.nbytes
        if self.tracked is None and self._bytes > _MOST:
            self.tracked = linked(_pairs(self._moves), self.asked)
            keys = pa.array(sorted(self.tracked), pa.string())
            own = (found.of(keys) for found in self._kept)
            self._kept = [found for found in own if found.batch.num_rows]

    @property
    def changes(self) -> Iterator[pa.RecordBatch]:
        """The changes that are kept."""
        return (kept.batch for kept in self._kept)

    def facts(self) -> dict[str, Any]:
        """What is known besides changes, for JSON."""
        misfit = None if self.misfit is None else [self.misfit_at, str(self.misfit)]
        return {"asked": self.asked, "without": self.without, "misfit": misfit}

    def add(self, facts: Sequence[Mapping[str, Any]]) -> None:
        """Add what candidates among other changes of the table know."""
        asked = sorted((seq, text) for one in facts for text, seq in one["asked"].items())
        for seq, text in asked:
            self.asked.setdefault(text, seq)
        self.without += sum(one["without"] for one in facts)
        for at, why in (one["misfit"] for one in facts if one["misfit"] is not None):
            if at > self.misfit_at:
                self.misfit, self.misfit_at = UsageError(why), at

    def _follow(self, tracked: set[str], moves: KeptChanges) -> None:
        for was, now in _pairs([moves]):
            if was in tracked:
                tracked.add(now)
            elif now in tracked:
                self.complete = False  # earlier changes of the row have already passed

    def keys_tracked(self, numbers: Integers, undone: Sequence[Undone]) -> set[str]:
        """The keys that the row had, by counted transactions; see :meth:`found`."""
        return linked(_pairs(list(_counted(self._moves, numbers, undone))), self.asked)

    def found(
        self, keys: set[str], numbers: Integers, undone: Sequence[Undone]
    ) -> list[KeptChanges]:
        """The changes of these keys that count, each table's in log order.

        ``numbers``: the counted transactions; ``undone``: what ROLLBACK TO SAVEPOINT undid.
        """
        wanted = pa.array(sorted(keys), pa.string())
        those = (kept.of(wanted) for kept in _counted(self._kept, numbers, undone))
        return [kept for kept in those if kept.batch.num_rows]


def candidates(reading: RowSource, identity: Identity, given: Any, numbers: Integers) -> Candidates:
    """The changes of a table among which all those of one row are, as a source gives them.

    ``given``: the row's key; ``numbers``: the transactions that count. They are read twice if they
    are many, and an early key of the row shows late.
    """
    tables = [written_table_name(*name) for name in identity.names]
    found = gathered(reading.rows(tables), identity, Candidates(given))
    if not found.complete:
        tracked = found.keys_tracked(numbers, reading.undone)
        found = gathered(reading.rows(tables), identity, Candidates(given, tracked))
    return found


def gathered(
    changes: Iterable[tuple[TableId, pa.RecordBatch]], identity: Identity, found: Candidates
) -> Candidates:
    """Let candidates take changes of tables: those of one table under all of its names."""
    for name, batch in changes:
        for seq, piece in pieces(batch, identity.since):
            there, key = identity.at(seq)
            if there == name:
                found.feed(piece, key, written_table_name(*name))
    return found


def _counted(
    kept: list[KeptChanges], numbers: Integers, undone: Sequence[Undone]
) -> Iterator[KeptChanges]:
    left_out = not_done(undone)
    for found in sorted(kept, key=lambda one: int(one.batch["seq"][0].as_py())) if kept else ():
        tx = found.batch["tx"]
        counts = np.asarray(tx.is_null()) | np.isin(np.asarray(tx.fill_null(-1)), numbers)
        counts &= ~left_out(found.batch)
        yield found if counts.all() else found.those(pa.array(counts))


def _pairs(moves: list[KeptChanges]) -> list[Move]:
    """Key changes in log order."""
    found = [
        item
        for kept in moves
        for item in zip(
            kept.batch["seq"].to_pylist(), kept.was.to_pylist(), kept.now.to_pylist(), strict=True
        )
    ]
    return [(was, now) for _, was, now in sorted(found)]
