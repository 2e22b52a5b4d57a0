"""What a reading has not seen: damage, missing files and transactions, which a state stands on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from binlogkit.errors import DamageError
from binlogkit.rows.soundness import Finding, Grade, Soundness
from binlogkit.rows.window import SEQ_SHIFT

if TYPE_CHECKING:
    import pyarrow as pa

    from binlogkit.rows.reading import Reading
    from binlogkit.rows.window import Window

__all__ = ["Gap", "Gaps", "Reach"]

_MICROSECONDS = 1_000_000

# Findings after which changes may be missing, or stand where they do not belong. What damage takes
# is told by losses, more exactly.
_GAPS = frozenset(
    {
        "events_after_end", "file_missing", "file_order", "file_repeated", "gtid_forgotten",
        "gtid_gap", "gtid_repeated", "length_mismatch", "next_name", "no_begin",
        "position_mismatch", "rows_without_map", "sequence_back", "sequence_gap",
        "statement_not_ended", "zeros_at_end",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Gap:
    """Where changes may be missing.

    ``seq``: its place in the reading; ``tables``: ``db.table`` of those that it can concern, None
    for any; ``found``: what is missing, in words.
    """

    file: str
    pos: int | None
    seq: int
    tables: frozenset[str] | None
    found: str

    def concerns(self, names: Iterable[str]) -> bool:
        """Whether changes of one of these tables may be missing."""
        return self.tables is None or not self.tables.isdisjoint(names)


class Reach:
    """How far a state goes: which transactions it counts, and which gaps stand before its point.

    ``files``: the logs in order; ``transactions``: the ledger; ``counted``: the numbers of those
    that count; ``until``: the point, None for the logs' end.
    """

    def __init__(
        self, files: Sequence[str], transactions: pa.Table, counted: frozenset[int], until: Any
    ) -> None:
        self._files = {name: i for i, name in enumerate(files)}
        self._transactions = transactions
        self._counted = counted
        self._until = until

    def counts(self, number: int | None) -> bool:
        """Whether a transaction counts, or what stands outside any."""
        return number is None or number in self._counted

    def holds(self, gap: Gap) -> bool:
        """Whether changes that are missing there may belong to the state."""
        from binlogkit.analyses.point_in_time import AtPosition, AtTime

        until, here = self._until, (self._files.get(gap.file, 0), gap.pos or 0)
        if until is None:
            return True
        if isinstance(until, AtPosition):
            return here < (self._files.get(until.file, len(self._files)), until.pos)
        names = ("tx", "file", "pos", "end_file", "end_pos", "commit_timestamp", "end_timestamp")
        rows = self._transactions.select(names).to_pylist()
        if isinstance(until, AtTime):
            later = (row for row in rows if _moment(row) > until.microseconds)
            return not any((self._files[row["file"]], row["pos"]) < here for row in later)
        ends = [row for row in rows if row["tx"] in self._counted]
        return any((self._files[row["end_file"]], row["end_pos"]) > here for row in ends)


def _moment(row: dict[str, Any]) -> int:
    commit = row["commit_timestamp"]
    return int(row["end_timestamp"]) * _MICROSECONDS if commit is None else int(commit)


@dataclass(slots=True)
class Gaps:
    """A view of a reading's windows; :meth:`finish` gives the gaps in log order.

    ``met``: where damage was met that framing, checksums and events showed.
    """

    met: set[tuple[str, int]] = field(default_factory=set)
    _soundness: Soundness = field(default_factory=Soundness)
    _found: list[Finding] = field(default_factory=list)
    _starts: dict[str, int] = field(default_factory=dict)  # the place of each file's first event
    _places: list[tuple[str, int, int]] = field(default_factory=list)  # of findings in windows

    def take(self, window: Window) -> None:
        """Take the next window."""
        found = [f for f in self._soundness.take(window) if f.code in _GAPS]
        stretch = window.stretch
        if stretch is not None:
            self._starts.setdefault(window.carrier.name, stretch.ordinal)
        self.met |= {(error.file, error.offset) for _, error in window.damages}
        for one in found:
            ordinal = self._starts.get(one.place.file, 0) if stretch is None else stretch.ordinal
            self._places.append((one.place.file, one.place.pos or 0, ordinal))
        self._found += found

    def finish(self, reading: Reading, stopped: DamageError | None) -> list[Gap]:
        """The gaps; ``stopped``: what ended the reading before the logs' end."""
        return sorted(self._gaps(reading, stopped), key=lambda gap: gap.seq)

    def _gaps(self, reading: Reading, stopped: DamageError | None) -> Iterator[Gap]:
        for one, (_, _, ordinal) in zip(self._found, self._places, strict=True):
            if one.grade != Grade.NOTE:
                yield _gap(one, ordinal)
        for one in self._soundness.end():
            if one.code in _GAPS and one.grade != Grade.NOTE:
                yield _gap(one, self._starts.get(one.place.file, 0))
        for loss in reading.losses:
            tables = None if loss.concerns is None else frozenset(loss.concerns)
            if tables is None or tables:
                seq = loss.ordinal << SEQ_SHIFT
                yield Gap(loss.file, loss.pos, seq, tables, f"damage: {loss.sentence}")
        if stopped is not None:
            seq = reading.ordinal << SEQ_SHIFT
            yield Gap(
                stopped.file, stopped.offset, seq, None, f"damage ends the reading: {stopped}"
            )


def _gap(one: Finding, ordinal: int) -> Gap:
    at = one.place
    return Gap(at.file, at.pos, ordinal << SEQ_SHIFT, None, f"{one.found}. {one.meaning}")
