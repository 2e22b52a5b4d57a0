"""One table's rows while its changes are applied, chunk by chunk.

Changes are kept until they take as much memory as the rows do, then folded into the rows together:
the work is linear in the changes, and memory holds twice the rows and 64 MB.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from binlogkit.analyses.point_in_time.chunk import WAS, Chunk, KeptPiece
from binlogkit.analyses.point_in_time.defaults import with_defaults
from binlogkit.analyses.point_in_time.findings import StateFindings
from binlogkit.analyses.point_in_time.keyed import Applied, fold_keyed, mark_rows
from binlogkit.analyses.point_in_time.multiset import fold_multiset
from binlogkit.analyses.point_in_time.rows import Rows
from binlogkit.analyses.point_in_time.unlogged import (
    BREAKS,
    CONTRADICTIONS,
    Broken,
    Tally,
    difference_of,
)
from binlogkit.analyses.point_in_time.virtual_columns import without_doubtful
from binlogkit.constants import MERGE
from binlogkit.rows.schema import TableDefinition

_CHUNK = 64 << 20
_KEPT = 1000
_ERASED = "Rows of the table were erased, and a later change does not fit the others."

# Findings about a table's rows that no longer hold once it is emptied.
_ROW_KINDS = (
    "altered", "cascades", "duplicate", "erased", "if_not_exists", "incident", "key_converted",
    "key_missing", "renamed_from", "rows_moved", "statement_write", "unknown_ddl", "unlogged",
    "unseen", "written_elsewhere",
)  # fmt: skip


class Fold:
    """The rows of a table up to the last applied change.

    ``key``: the columns that identify a row, empty for a multiset; ``complete``: every row of the
    table is known from the log or the base; ``definition``: None if the log does not define it;
    ``findings``: in the order of their first places once :meth:`settled`; ``backwards``: changes
    are undone, the last one first; ``rejected``: JSON diffs that did not fit the value before;
    ``numbered``: an ALTER TABLE gave the rows a key, and it is not known which row got which value;
    ``erased``: rows of it were erased, so that changes may not fit; ``compares``: images before
    changes are compared with what is known of their rows (set while no change waits); ``broken``:
    those that did not fit then, at most a thousand; ``tally``: how many there were.
    """

    def __init__(self, key: Sequence[str], *, backwards: bool = False) -> None:
        self.key = tuple(key)
        self.backwards = backwards
        self.compares = self.erased = False
        self.broken: list[Broken] = []
        self.tally = Tally()
        self.findings = StateFindings()
        self.complete = False
        self.definition: TableDefinition | None = None
        self.numbered = False
        self._rows = Rows()
        self.rejected = 0
        self._pieces: list[KeptPiece] = []
        self._bytes = 0
        self._limit = _CHUNK

    @property
    def keeps_rows(self) -> bool:
        """Whether its engine stores rows: BLACKHOLE logs changes and stores nothing."""
        return self.definition is None or self.definition.engine != "BLACKHOLE"

    @property
    def _merges(self) -> bool:
        """Whether its rows are other tables'."""
        return self.definition is not None and self.definition.engine == MERGE

    def begin(self, base: pa.Table) -> None:
        """Begin with a base: rows, as inserts. No two may have one key."""
        for batch in base.to_batches():
            self._take(KeptPiece.of(batch, self.key))
        self._settle()
        if self.findings.found:
            self.findings = StateFindings()
            self.findings.add("base_key")
        self.complete = True

    def feed(self, batch: pa.RecordBatch) -> None:
        """Apply changes of the table."""
        self.tally.changes += batch.num_rows
        if self.keeps_rows:
            if self.numbered and "before_state" in batch.schema.names:
                self._doubt_partial(batch)
            if self.definition is not None and "after_state" in batch.schema.names:
                batch = without_doubtful(with_defaults(batch, self.definition), self.definition)
            piece = KeptPiece.of(batch, self.key, backwards=self.backwards, whole=self.compares)
            self._take(piece)

    def _doubt_partial(self, batch: pa.RecordBatch) -> None:
        """Note images in which only the new key identifies the row."""
        partial = batch.filter(batch["before_state"].is_valid())
        if partial.num_rows:
            seq, file, pos = (partial[name][0].as_py() for name in ("seq", "file", "pos"))
            self.findings.add("key_converted", file, pos, at=seq)

    def settled(self) -> Rows:
        """The rows after every applied change."""
        self._settle()
        return self._rows

    def empty(self) -> None:
        """The table is known to be empty: doubts about earlier rows end."""
        self._settle()
        self._rows = Rows(self._rows.deltas)
        self.rejected = 0
        self.complete = True
        self.numbered = False
        self.findings.clear(_ROW_KINDS)

    def identify_by(self, key: Sequence[str]) -> bool:
        """Take another key for the rows; whether it is known and of one row each."""
        if self.key == tuple(key):
            return True
        rows, self.key = self.settled(), tuple(key)
        rows.unmark()
        return not key or mark_rows(rows, key)

    def _take(self, piece: KeptPiece) -> None:
        if self._pieces and self._pieces[-1].fields != piece.fields:
            self._settle()
        self._pieces.append(piece)
        self._bytes += piece.table.nbytes
        if self._bytes >= self._limit:
            self._settle()

    def _settle(self) -> None:
        if not self._pieces:
            return
        chunk = Chunk(self._pieces)
        self._rows.declare(chunk.fields)
        if self.key:
            unchecked = self._unchecked() if self.compares else None
            found = fold_keyed(
                self._rows, chunk, self.key, backwards=self.backwards, unchecked=unchecked
            )
        else:
            found = fold_multiset(self._rows, chunk, backwards=self.backwards)
        self._note(chunk, found)
        self.rejected += found.rejected
        self._rows.seen += chunk.size
        self._pieces, self._bytes = [], 0
        self._limit = max(_CHUNK, self._rows.nbytes)

    def _unchecked(self) -> frozenset[str]:
        """The columns that identify a row, or follow from others."""
        columns = () if self.definition is None else self.definition.columns
        return frozenset(self.key).union(c.name for c in columns if c.generated)

    def _compared(self, chunk: Chunk, found: Applied) -> int:
        """How many images before changes could be compared: also with there being no such row."""
        if not self.key:
            return int(chunk.there[WAS].sum()) if self.complete else 0
        unseen = len(found.problems.get("unseen", ())) if self.complete else 0
        return unseen + (0 if found.compared is None else found.compared.count)

    def _note(self, chunk: Chunk, found: Applied) -> None:
        """Findings about changes; without its beginning the table has unseen rows."""
        certain = not (self._merges or self.findings.undetermined(CONTRADICTIONS))
        tells = self.compares and certain
        if tells:
            self.tally.compared += self._compared(chunk, found)
        for kind, which in found.problems.items():
            if not len(which) or (kind == "unseen" and not self.complete):
                continue
            if kind == "unlogged" and not tells:
                continue  # of rows that were not certain
            first, text = int(which[0]), None
            if tells and kind in CONTRADICTIONS:
                compared = found.compared if kind == "unlogged" else None
                text = difference_of(chunk, first, self.key, kind, compared)
                seqs = (chunk.place(one)[0] for one in which[: _KEPT - len(self.broken)].tolist())
                self.broken += [(one, BREAKS[kind], self.key) for one in seqs if one is not None]
            seq, file, pos = chunk.place(first)
            at = 0 if seq is None else -seq if self.backwards else seq
            if self.erased and kind in CONTRADICTIONS:
                kind, text = "erased", _ERASED
            self.findings.add(kind, file, pos, times=len(which), at=at, text=text)
