"""Child rows that followed a parent's key by ON UPDATE CASCADE, and how they come back.

By a foreign key that still cascades they follow the parent's statement back: it checks that as many
rows refer to its row, so that none goes along that did not follow. They need statements of their
own if it is gone or has another action since, or where the server would refuse the parent's, since
other rows refer to it, too, by a foreign key that restricts. So they do if rows that followed them
in turn no longer would.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from binlogkit.analyses.point_in_time.boundary import Boundary
from binlogkit.analyses.point_in_time.cascades import Cascaded
from binlogkit.analyses.point_in_time.codes import Flags, Integers
from binlogkit.analyses.references import Reference
from binlogkit.analyses.undoing._later_ddl import LaterDDL
from binlogkit.constants import TableId
from binlogkit.errors import printable

#: Counts for changes before which other rows may have had the parent's new key: these would go
#: back, too. Some rows followed, or none did.
STAYED, NONE_FOLLOWED = -1, -2
TEXT_WRITES = "a later statement that is logged as text may have written them"
_NONE: Integers = np.zeros(0, np.int64)
_Key = tuple[TableId, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class UnknownChild:
    """A ``table`` of which it is not known which rows foreign keys deleted or changed with those of
    a parent; ``unset``: the parent's columns, in small letters, by which ON UPDATE SET NULL acts.
    """

    table: str
    unset: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Followed:
    """``counts``: by a foreign key's child and columns, as they are called at the end, how many
    rows followed a change of the parent (``seq``); ``along``: those; ``left``: those whose foreign
    key is gone, or which do not follow back: then ``held`` has the changes of the parent; ``lost``:
    by change of a parent why those that followed it cannot go back; ``unsure``: the changes of a
    parent that rows may have followed, which is not certain."""

    counts: Mapping[_Key, Mapping[int, int]] = field(default_factory=dict)
    along: Sequence[Cascaded] = ()
    left: Sequence[Cascaded] = ()
    lost: Mapping[int, str] = field(default_factory=dict)
    unsure: Integers = field(default_factory=_NONE.copy)
    held: Mapping[_Key, set[int]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        done: Sequence[Cascaded],
        keys: Iterable[Reference],
        boundaries: Sequence[Boundary],
        unsure: Integers = _NONE,
        apart: Integers = _NONE,
    ) -> Followed:
        """``keys``: the foreign keys at the end; ``boundaries``: what happened to tables;
        ``apart``: the changes of parents whose rows get statements of their own."""
        later, counts = LaterDDL(boundaries), dict[_Key, dict[int, int]]()
        along, left, lost = list[Cascaded](), list[Cascaded](), dict[int, str]()
        held = dict[_Key, set[int]]()
        went, stand = set[tuple[int, TableId]](), set[tuple[int, TableId]]()
        there = {(_small(key.child, key.columns), key.parent): key for key in keys}
        for one in done:
            seq, fate = one.at.seq, later.fate(one.child, one.at.seq)
            columns = (fate.renamed.get(column, column) for column in one.by.columns)
            parent = later.fate((one.by.db or one.child[0], one.by.table), seq).name
            key = there.get((_small(fate.name, columns), parent))
            why = fate.refused or (fate.written and f"{TEXT_WRITES} {fate.written}")
            if key is not None and why is not None:
                reason = f"rows of {printable('.'.join(key.child))} followed it, but {why}"
                lost |= dict.fromkeys(one.seqs.tolist(), reason)
            elif key is not None and one.action in (key.on_update, "SET NULL") and seq not in apart:
                along.append(one)
                went.add((seq, fate.name))
                of_key = counts.setdefault((key.child, key.columns), {})
                so_far = of_key.get(seq, 0)
                some = len(one.seqs) > 0 or so_far not in (0, NONE_FOLLOWED)
                if one.stayed or so_far < 0:
                    of_key[seq] = STAYED if some else NONE_FOLLOWED
                else:
                    of_key[seq] = so_far + len(one.seqs)
            elif fate.refused is None:
                left.append(one)
                if key is not None:
                    held.setdefault((key.child, key.columns), set()).update(one.seqs.tolist())
                    stand.add((seq, parent))
        if stand & went:
            more = np.array([seq for seq, _ in stand & went], np.int64)
            return cls.of(done, there.values(), boundaries, unsure, np.union1d(apart, more))
        return cls(counts, along, left, lost, unsure, held)

    def reasons(self, seqs: Integers) -> pa.StringArray:
        """Why changes of a parent cannot be undone with those that followed; null if they can."""
        return pa.array(map(self.lost.get, seqs.tolist()), pa.string())

    def by(self, key: Reference, seqs: Integers) -> Integers:
        """How many rows followed changes of a parent, or :data:`STAYED`, or
        :data:`NONE_FOLLOWED`."""
        of_key = self.counts.get((key.child, key.columns), {})
        return np.array([of_key.get(seq, 0) for seq in seqs.tolist()], np.int64)

    def holding(self, key: Reference, seqs: Integers) -> Flags:
        """Which changes of a parent rows followed that go back with statements of their own."""
        return np.isin(seqs, [*self.held.get((key.child, key.columns), ())])


def later_names(boundaries: Sequence[Boundary]) -> Callable[[Cascaded], TableId]:
    """The name that a child got by later RENAMEs."""
    later = LaterDDL(boundaries)
    return lambda one: later.fate(one.child, one.at.seq).name


def _small(child: TableId, columns: Iterable[str]) -> _Key:
    return child, tuple(map(str.lower, columns))
