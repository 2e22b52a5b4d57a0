"""The chosen changes that cannot be undone alone, since later changes depend on them and stay.

Those stay because they are not chosen or cannot be undone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.analyses._cells import Cells
from binlogkit.analyses.point_in_time.codes import Integers
from binlogkit.analyses.undoing.cascaded_keys import Followed
from binlogkit.analyses.undoing.dependents.chains import KINDS
from binlogkit.analyses.undoing.dependents.found import Dependences
from binlogkit.analyses.undoing.dependents.merged import LaterValues
from binlogkit.analyses.undoing.plans import NO_CHANGE, NOT_COMMITTED, Plans
from binlogkit.constants import TableId
from binlogkit.frames.schema import table_of
from binlogkit.frames.text_columns import Mask
from binlogkit.rows.ddl.keys import NO_ACTION

#: What to do with chosen changes on which later ones depend; see :meth:`Log.undo`.
NONE: Integers = np.zeros(0, np.int64)
MODES = ("refuse", "skip", "cascade", "force", "merge")


@dataclass(frozen=True, slots=True)
class Blocked:
    """The blocked changes by ``seq``, sorted, with the reason.

    ``overwritten``: those that are undone nevertheless, whatever their rows have become; ``mode``:
    one of :data:`MODES`; ``stay``: by ``seq``, those whose refusal extends to everything that goes
    with them; ``later``: what later changes left in columns that chosen ones set (mode merge);
    ``left``: what the log leaves of the blocked changes' rows.
    """

    seqs: Integers
    why: pa.StringArray
    overwritten: Integers
    mode: str
    stay: Integers
    later: Mapping[tuple[TableId, str], LaterValues] = field(default_factory=dict)
    left: Mapping[tuple[TableId, str], LaterValues] = field(default_factory=dict)

    @property
    def skipped(self) -> bool:
        """Whether blocked changes that are not overwritten count as skipped, not refused."""
        return self.mode == "skip"

    @classmethod
    def of(cls, found: Dependences, mode: str, stay: Integers) -> Blocked:
        """The blocked changes in one of the :data:`MODES`; ``stay``: see :func:`staying`."""
        table = found.conflicts
        kinds = [KINDS[reason] for reason in table["reason"].to_pylist()]
        inner = pc.binary_join_element_wise("/", table["other_inner"].cast("string"), "")
        gtid = pc.binary_join_element_wise(", GTID ", table["other_gtid"], "")
        why = pc.binary_join_element_wise(
            "a later change depends on it (", pa.chunked_array([kinds], pa.string()), "): ",
            table["other_file"].cast("string"), ":", table["other_pos"].cast("string"),
            inner.fill_null(""), " row ", table["other_row"].cast("string"), gtid.fill_null(""),
            "",
        )  # fmt: skip
        order = np.argsort(found.conflicting, kind="stable")
        overwritten = found.overwritten if mode == "force" else found.overwritten[:0]
        texts = why.combine_chunks().take(pa.array(order))
        return cls(
            found.conflicting[order], texts, overwritten, mode, stay, found.later, found.left
        )

    def reasons(self, batch: pa.RecordBatch) -> pa.StringArray:
        """For each change why it is blocked; null if it is not."""
        return self.why.take(pc.index_in(batch["seq"], pa.array(self.seqs, pa.int64())))

    def along(self, batch: pa.RecordBatch) -> Mask:
        """The changes tied to one that stays: by its transaction or by an unlogged cascade."""
        found: Mask = np.isin(np.asarray(batch["seq"]), self.stay)
        return found

    def forced(self, batch: pa.RecordBatch) -> Mask:
        """The changes that are undone nevertheless."""
        found: Mask = np.isin(np.asarray(batch["seq"]), self.overwritten)
        return found

    def stands(
        self, batch: pa.RecordBatch, cells: Mapping[str, Cells]
    ) -> tuple[dict[str, Cells], dict[str, Mask]]:
        """The cells of a table's changes as the log leaves them, and which of them are known."""
        table = table_of(batch)
        own, known = dict[str, Cells](), dict[str, Mask]()
        for (name, column), left in self.left.items():
            if name == table and column in cells:
                own[column], known[column], _ = left.over(cells[column], np.asarray(batch["seq"]))
        return own, known

    def merged(
        self, batch: pa.RecordBatch, cells: Mapping[str, Cells]
    ) -> tuple[dict[str, Cells], dict[str, Mask], dict[str, Mask], Mask]:
        """The cells of a table's updates as later changes left them; which cells these left; which
        of them the update set; in which rows it set some that the server sets with every update,
        which are not among those."""
        table = table_of(batch)
        own, left, kept = {**cells}, dict[str, Mask](), dict[str, Mask]()
        auto = np.zeros(batch.num_rows, np.bool_)
        for (name, column), later in self.later.items():
            if name == table and column in own:
                found = later.over(own[column], np.asarray(batch["seq"]))
                own[column], left[column], kept[column] = found
                if later.auto:
                    auto |= kept.pop(column)
        return own, left, kept, auto


def staying(plans: Plans, *, whole: bool) -> Integers:
    """The changes, by ``seq``, that plans refuse for reasons other than dependents.

    Changes without an effect do not count. With ``whole``, also all changes of their transactions.
    """
    parts = [(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, bool))]
    for chunk in plans.chunks():
        for _, made in chunk:
            nothing = pc.or_(
                pc.equal(made.refused, NO_CHANGE), pc.starts_with(made.refused, NOT_COMMITTED)
            )
            refused = pc.fill_null(pc.invert(nothing), False)
            if made.skipped is not None:  # on request: that says by itself what else stays
                refused = pc.and_not(refused, pa.array(made.skipped))
            if whole or pc.any(refused).as_py():
                seq, tx = np.asarray(made.changes["seq"]), np.full(len(refused), -1)
                if "tx" in made.changes.schema.names:  # not of what happened to whole tables
                    tx = np.asarray(made.changes["tx"].fill_null(-1))
                parts.append((seq, tx, np.asarray(refused)))
    seq, tx, refused = (np.concatenate(column) for column in zip(*parts, strict=True))
    if whole:
        refused = refused | (np.isin(tx, tx[refused]) & (tx >= 0))
    return np.unique(seq[refused])


def refused_along(plans: Plans, followed: Followed) -> Integers:
    """The changes of parents, by ``seq``, that rows would follow back, but whose statements the
    server would refuse if other rows refer to theirs."""
    guarded = (
        np.asarray(made.changes["seq"])[rows]
        for chunk in (plans.chunks() if followed.along else ())
        for _, made in chunk
        for key, rows in made.unreferred
        if made.kind == "update" and key.on_update == NO_ACTION
    )
    along = np.concatenate([NONE, *(one.seqs for one in followed.along)])
    return np.intersect1d(np.concatenate([NONE, *guarded]), along)
