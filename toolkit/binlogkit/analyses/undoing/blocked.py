"""The chosen changes that cannot be taken back by themselves, since later ones depend on them that
stay: since they are not chosen, or cannot be taken back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.analyses.point_in_time.codes import Integers
from binlogkit.analyses.undoing.dependents.found import Dependences
from binlogkit.analyses.undoing.plans import NO_CHANGE, NOT_COMMITTED, Plans
from binlogkit.frames.text_columns import Mask

#: What is done about chosen changes that later ones depend on; see :meth:`Log.undo`.
MODES = ("refuse", "skip", "cascade", "force")


@dataclass(frozen=True, slots=True)
class Blocked:
    """Those changes by ``seq``, rising, and why; ``overwritten``: those that are taken back all the
    same, whatever their rows have become; ``mode``: one of :data:`MODES`; ``stay``: by ``seq``,
    those with which all that goes is refused."""

    seqs: Integers
    why: pa.StringArray
    overwritten: Integers
    mode: str
    stay: Integers

    @property
    def skipped(self) -> bool:
        """Whether those that are not overwritten are no refusals."""
        return self.mode == "skip"

    @classmethod
    def of(cls, found: Dependences, mode: str, stay: Integers) -> Blocked:
        """What is blocked in one of the :data:`MODES`; ``stay``: see :func:`staying`."""
        table = found.conflicts
        inner = pc.binary_join_element_wise("/", table["other_inner"].cast("string"), "")
        gtid = pc.binary_join_element_wise(", GTID ", table["other_gtid"], "")
        why = pc.binary_join_element_wise(
            "a later change depends on it (", table["reason"].cast("string"), "): ",
            table["other_file"].cast("string"), ":", table["other_pos"].cast("string"),
            inner.fill_null(""), " row ", table["other_row"].cast("string"), gtid.fill_null(""),
            "",
        )  # fmt: skip
        order = np.argsort(found.conflicting, kind="stable")
        overwritten = found.overwritten if mode == "force" else found.overwritten[:0]
        texts = why.combine_chunks().take(pa.array(order))
        return cls(found.conflicting[order], texts, overwritten, mode, stay)

    def reasons(self, batch: pa.RecordBatch) -> pa.StringArray:
        """Of each change why it is blocked; null where it is not."""
        return self.why.take(pc.index_in(batch["seq"], pa.array(self.seqs, pa.int64())))

    def along(self, batch: pa.RecordBatch) -> Mask:
        """The changes that go with one that stays: in its transaction, or below the log."""
        found: Mask = np.isin(np.asarray(batch["seq"]), self.stay)
        return found

    def forced(self, batch: pa.RecordBatch) -> Mask:
        """The changes that are taken back all the same."""
        found: Mask = np.isin(np.asarray(batch["seq"]), self.overwritten)
        return found


def staying(plans: Plans, *, whole: bool) -> Integers:
    """The changes, by ``seq``, that plans refuse though they did something, whatever depends on
    them; with their transactions if these are taken back as a ``whole``."""
    parts = [(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, bool))]
    for chunk in plans.chunks():
        for _, made in chunk:
            nothing = pc.or_(
                pc.equal(made.refused, NO_CHANGE), pc.starts_with(made.refused, NOT_COMMITTED)
            )
            refused = pc.fill_null(pc.invert(nothing), False)
            if whole or pc.any(refused).as_py():
                tx = made.changes["tx"].fill_null(-1)
                parts.append((np.asarray(made.changes["seq"]), np.asarray(tx), np.asarray(refused)))
    seq, tx, refused = (np.concatenate(column) for column in zip(*parts, strict=True))
    if whole:
        refused = refused | (np.isin(tx, tx[refused]) & (tx >= 0))
    return np.unique(seq[refused])
