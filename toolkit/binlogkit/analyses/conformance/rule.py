"""What explains a difference: a rule, and those of events, which the comparison names itself.

A cell's rule is a function that recomputes one side from the other: value_rules.py, json_rules.py.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

_PRINT = "log_event_print_value, sql/log_event.cc (8.0); seen with mysqlbinlog 9.7.4"
_CONTRACT = "docs/records.md, row"
_SEEN = "seen with mysqlbinlog 9.7.4"
_SHOWN = 300

Explains = Callable[[Any], bool]  # of a Cell, or of an ExpectedCell (expected_cell.py)


class Kind(StrEnum):
    """What a difference is."""

    OURS = "ours"  # the decoder under test is wrong, and how is known
    THEIRS = "theirs"  # mysqlbinlog is wrong
    REPRESENTATION = "representation"  # the same value, written otherwise
    UNDER_DETERMINED = "under_determined"  # nothing decides: neither text nor bytes
    UNEXPLAINED = "unexplained"


@dataclass(frozen=True, slots=True)
class Rule:
    """``families``: the column families it is for (empty: all); ``source``: where it is known from.

    ``explains`` is None for a rule that is not about a cell.
    """

    id: str
    kind: Kind
    text: str
    source: str = _SEEN
    explains: Explains | None = None
    families: tuple[str, ...] = ()

    def fits(self, cell: Any) -> bool:
        """Whether it explains a cell; one that it is not about (NULL, another type, what cannot be
        decoded) it does not."""
        try:
            return self.explains is not None and self.explains(cell)
        except (ValueError, TypeError, AttributeError, ArithmeticError, struct.error):
            return False

    def difference(
        self, column: str | None, ours: Any, theirs: Any, said: Any = None
    ) -> Difference:
        """A difference that it explains; ``said``: what is printed, if not ``theirs``."""
        return self.proved(column, ours, theirs, _proof(theirs if said is None else said))

    def proved(self, column: str | None, ours: Any, theirs: Any, proof: str) -> Difference:
        """The same, with what proves it."""
        proof = f"{proof}; rule {self.id}: {self.text} [{self.source}]"
        return difference(column, ours, theirs, self.text, proof, self.kind, self.id)


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference before it is put into the frame; ``ours``, ``theirs``: as texts."""

    kind: Kind
    rule: str
    column: str | None
    ours: str | None
    theirs: str | None
    reason: str
    proof: str

    @property
    def counts(self) -> bool:
        """Whether it makes the comparison fail."""
        return self.kind in (Kind.OURS, Kind.UNEXPLAINED)


def difference(
    column: str | None, ours: Any, theirs: Any, reason: str, proof: str,
    kind: Kind = Kind.UNEXPLAINED, rule: str = "",
) -> Difference:  # fmt: skip
    """A difference of two sides, which become texts."""
    return Difference(kind, rule, column, shown(ours), shown(theirs), reason, proof)


def unexplained(
    column: str | None, ours: Any, theirs: Any, reason: str, said: Any = None
) -> Difference:
    """A difference that no rule explains; ``said``: what is printed, if not ``theirs``."""
    return difference(column, ours, theirs, reason, _proof(theirs if said is None else said))


def not_stored(column: str | None, ours: Any, stored: Any, reason: str) -> Difference:
    """A difference with the log's own bytes, or what they say; ``stored``: None where it has none
    there, or NULL."""
    said = "nothing" if stored is None else stored
    said = "0x" + stored.hex().upper() if isinstance(stored, bytes) else str(said)
    return difference(column, ours, said, reason, f"the log stores {shown(said)}")


def _proof(said: object) -> str:
    return f"mysqlbinlog prints {shown(said)}"


def shown(value: Any) -> str | None:
    """A value as text for the frame, cut to 300 characters."""
    if value is None:
        return None
    # A decoder may write half of a surrogate pair.
    data = value if isinstance(value, bytes) else str(value).encode("utf-8", "backslashreplace")
    text = data.decode("utf-8", "backslashreplace")
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


class Rules(list[Rule]):
    """Cells' rules in the order in which they are defined; ``source``: where they are known from,
    None for what their kind says."""

    def __init__(self, source: str | None = None) -> None:
        super().__init__()
        self._source = source

    def add(
        self,
        id_: str,
        text: str,
        *families: str,
        kind: Kind = Kind.REPRESENTATION,
        source: str | None = None,
    ) -> Callable[[Explains], Explains]:
        """The function below says whether the rule explains a cell (:meth:`Rule.fits`)."""
        known_from = source or self._source or (_CONTRACT if kind is Kind.OURS else _PRINT)

        def define(explains: Explains) -> Explains:
            self.append(Rule(id_, kind, text, known_from, explains, families))
            return explains

        return define


EVENT_RULES: dict[str, Rule] = {
    rule.id: rule
    for rule in (
        Rule(
            "inner-position", Kind.REPRESENTATION,
            "inside a payload mysqlbinlog prints the payload's end as the position and the end of "
            "every event",
        ),
        Rule(
            "inner-checksum", Kind.REPRESENTATION,
            "events inside a payload have no checksum; mysqlbinlog prints one it computed",
            "8.0.31 logs; " + _SEEN,
        ),
        Rule(
            "format-description-checksum", Kind.REPRESENTATION,
            "a format description always carries a CRC32 (from 5.6.1 on), also where the log's "
            "events have none; mysqlbinlog then does not print it",
            "Log_event::need_checksum, sql/log_event.cc (8.0); " + _SEEN,
        ),
        Rule(
            "names-not-escaped", Kind.UNDER_DETERMINED,
            "a name with a backtick or a line end stands raw in this line, so the line can be read "
            "in more than one way, and the log's bytes are not at hand; both sides are compared as "
            "they stand",
        ),
        Rule(
            "text-looks-like-syntax", Kind.UNDER_DETERMINED,
            "a statement holds lines that look like mysqlbinlog's own, and the log's bytes are not "
            "at hand; the text can be read in two ways, and is read so that the statement is ours "
            "where that is possible",
        ),
        Rule(
            "load-file-name", Kind.REPRESENTATION,
            "mysqlbinlog puts the name of the file that it wrote in place of LOAD DATA's",
        ),
        Rule(
            "type-not-handled", Kind.THEIRS,
            "mysqlbinlog says that it cannot print a column and silently skips the rest of the row "
            "and all further rows of the event (docs/servers.md)",
        ),
        Rule(
            "rows-not-judged", Kind.UNDER_DETERMINED,
            "mysqlbinlog did not print these rows, and the log's bytes are not at hand or cannot "
            "be cut into cells",
        ),
        Rule(
            "cell-not-judged", Kind.UNDER_DETERMINED,
            "mysqlbinlog did not print this cell, and ours cannot be written back: a partial JSON "
            "update, no labels, a character set that the judge has no codec for, or bytes that "
            "ours could not decode",
        ),
        Rule(
            "digits-not-judged", Kind.UNDER_DETERMINED,
            "FLOAT and VECTOR are printed with six digits; the log's bytes, which say the others, "
            "are not at hand or cannot be cut into cells", _PRINT,
        ),
        Rule(
            "statement-not-ended", Kind.THEIRS,
            "the last rows events have no STMT_END_F; mysqlbinlog keeps their rows back (it warns "
            "on stderr) and prints only the headers",
        ),
        Rule(
            "oracle-stopped", Kind.UNDER_DETERMINED,
            "mysqlbinlog gave up here; what follows is not judged (9.7.4 reads no v1 or v3 log, no "
            "V1 rows events and no MariaDB events)",
        ),
        Rule(
            "end-as-position", Kind.OURS,
            "pos is the event's first byte; ours is the position after it, which its header names",
            _CONTRACT,
        ),
        Rule(
            "absent-as-null", Kind.OURS,
            "the column is not in the image, ours says NULL", _CONTRACT,
        ),
    )
}  # fmt: skip
