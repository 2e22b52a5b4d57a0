"""The chosen changes that cannot be taken back by themselves, since later ones depend on them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.analyses.dependents.found import Dependences
from binlogkit.analyses.point_in_time.codes import Integers
from binlogkit.frames.text_columns import Mask

#: What is done about chosen changes that later ones depend on; see :meth:`Log.undo`.
MODES = ("refuse", "skip", "cascade", "force")


@dataclass(frozen=True, slots=True)
class Blocked:
    """Those changes by ``seq``, rising, and why; ``overwritten``: those that are taken back all the
    same, whatever their rows have become; ``skipped``: whether the others are no refusals."""

    seqs: Integers
    why: pa.StringArray
    overwritten: Integers
    skipped: bool

    @classmethod
    def of(cls, found: Dependences, mode: str) -> Blocked:
        """What is blocked in one of the :data:`MODES`."""
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
        return cls(found.conflicting[order], texts, overwritten, mode == "skip")

    def reasons(self, batch: pa.RecordBatch) -> pa.StringArray:
        """Of each change why it is blocked; null where it is not."""
        return self.why.take(pc.index_in(batch["seq"], pa.array(self.seqs, pa.int64())))

    def forced(self, batch: pa.RecordBatch) -> Mask:
        """The changes that are taken back all the same."""
        found: Mask = np.isin(np.asarray(batch["seq"]), self.overwritten)
        return found
