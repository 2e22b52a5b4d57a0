"""One row change of ours against one of mysqlbinlog's: the differences of the pair.

What mysqlbinlog's text lacks is compared with the log's own bytes, where they are at hand:
FLOAT and VECTOR, of which it prints six digits, and the cells that it does not print.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from binlogkit.analyses.conformance.cell import (
    Cell,
    ColumnFacts,
    TableVersion,
    TableVersions,
    family_of,
    same,
)
from binlogkit.analyses.conformance.decoded import value_of
from binlogkit.analyses.conformance.expected_cell import ExpectedCell
from binlogkit.analyses.conformance.expected_rules import explain_expected
from binlogkit.analyses.conformance.printed import PrintedCell, PrintedRow
from binlogkit.analyses.conformance.rule import (
    EVENT_RULES,
    Difference,
    Kind,
    Rule,
    not_stored,
    unexplained,
)
from binlogkit.analyses.conformance.rules import explain
from binlogkit.analyses.conformance.stored import StoredCell, StoredRow
from binlogkit.analyses.conformance.tokens import Printed, TokenError, TokenForm, read_token
from binlogkit.analyses.conformance.written import gives

Record = Mapping[str, Any]

_SHOWN = 300
_SINGLE = struct.Struct("<f")
_VERSIONS = 8


@dataclass(slots=True)
class Pair:
    """``cells``: how many were compared, ``by_bytes`` of them with the log's own;
    ``differences``: with the text; ``undecided``: what the text leaves open."""

    differences: list[Difference] = field(default_factory=list)
    undecided: list[Difference] = field(default_factory=list)
    cells: int = 0
    by_bytes: int = 0

    @property
    def reads_alike(self) -> bool:
        """Whether nothing in the text makes the comparison fail."""
        return not any(d.counts for d in self.differences)

    @property
    def agrees(self) -> bool:
        """Whether nothing makes the comparison fail."""
        return self.reads_alike and not any(d.counts for d in self.undecided)


@dataclass(frozen=True, slots=True)
class _Context:
    """``facts``: the table's version, None where none is known; ``stored``: the row's own bytes,
    None where they are not at hand; ``server``: see :class:`Cell`."""

    facts: TableVersion | None
    stored: StoredRow | None
    server: str

    def column(self, index: int, name: str) -> ColumnFacts:
        """The column at ``index``; just its name where no more is known."""
        columns = self.facts.columns if self.facts else ()
        return columns[index] if index < len(columns) else ColumnFacts(name)

    def image(self, which: str) -> Mapping[int, StoredCell] | None:
        """The stored cells of an image; None: not at hand, or there is no such image."""
        if self.stored is None:
            return None
        return self.stored.after if which == "after" else self.stored.before


def compare_rows(
    ours: Record,
    theirs: PrintedRow,
    tables: TableVersions,
    server: str = "",
    stored: StoredRow | None = None,
) -> Pair:
    """The differences of a pair; :class:`TableVersions` moves on to the table version that fits.

    ``stored``: the same row as the log stores it.
    """
    db, table = str(ours.get("db")), str(ours.get("table"))
    names = {name for which in ("before", "after") for name in ours.get(which) or ()}
    candidates = tables.candidates(db, table, names)[:_VERSIONS]
    current = tables.current(db, table)
    if not candidates and current is not None and not _in_order(ours, theirs):
        candidates = [current]
    first: Pair | None = None
    for facts in candidates:
        pair = _compare(ours, theirs, _Context(facts, stored, server))
        if pair.agrees:
            tables.use(facts)
            return pair
        first = first or pair
    return first or _compare(ours, theirs, _Context(None, stored, server))


def _in_order(ours: Record, theirs: PrintedRow) -> bool:
    """Whether columns without known names are known by their order, or are numbered."""
    for which, image in (("before", theirs.before), ("after", theirs.after)):
        mine = ours.get(which)
        if mine and image and len(mine) != len(image):
            return all(name.startswith("@") for name in mine)
    return True


def fits(theirs: PrintedRow, stored: StoredRow) -> bool:
    """Whether a stored row can be the printed one: the same change, columns and NULLs."""
    if theirs.op != stored.op:
        return False
    whole = theirs.fault is None
    for image, cells in ((theirs.before, stored.before), (theirs.after, stored.after)):
        if (image is None) != (cells is None) and whole:
            return False
        if image is None or cells is None:
            continue
        if image.keys() - cells.keys() or (whole and image.keys() != cells.keys()):
            return False
        if any((cell.token == b"NULL") != (cells[i].content is None) for i, cell in image.items()):
            return False
    return True


def as_printed(stored: StoredRow) -> PrintedRow:
    """A stored row as if mysqlbinlog had printed its head and no cell."""
    table = (stored.db.encode("utf-8"), stored.table.encode("utf-8"))
    row = PrintedRow(table, stored.op, fault="not printed")
    row.before = None if stored.before is None else {}
    row.after = None if stored.after is None else {}
    return row


def _compare(ours: Record, theirs: PrintedRow, context: _Context) -> Pair:
    pair = Pair()
    _same_field(pair, "op", ours.get("op"), theirs.op)
    _same_field(pair, "db", ours.get("db"), _name(theirs.table[0]))
    _same_field(pair, "table", ours.get("table"), _name(theirs.table[1]))
    for which, image in (("before", theirs.before), ("after", theirs.after)):
        mine = ours.get(which)
        there = image is not None or context.image(which) is not None
        if mine is None or not there:
            known = theirs.fault is None or context.stored is not None
            if known and (mine is None) == there:
                _image_missing(pair, which, mine, there)
            continue
        _compare_images(pair, which, mine, theirs, context)
    return pair


def _name(raw: bytes) -> str:
    return raw.decode("utf-8", "backslashreplace")


def _same_field(pair: Pair, name: str, ours: Any, theirs: str) -> None:
    if ours != theirs:
        pair.differences.append(unexplained(name, ours, theirs, f"the row's {name} differs"))


def _image_missing(pair: Pair, which: str, mine: Any, there: bool) -> None:
    words = "ours has no such image" if there else "mysqlbinlog prints no such image"
    theirs = f"{which} image" if there else None
    pair.differences.append(unexplained(which, mine, theirs, words))


def _compare_images(
    pair: Pair, which: str, mine: Mapping[str, Any], theirs: PrintedRow, context: _Context
) -> None:
    image = (theirs.after if which == "after" else theirs.before) or {}
    stored = context.image(which) or {}
    name_of = _names(mine, stored or image, context.facts)
    seen = set()
    for cell in image.values():
        name = name_of(cell.index)
        seen.add(name)
        pair.cells += 1
        if name not in mine:
            reason = "the column is in the image, ours does not have it"
            pair.differences.append(unexplained(name, None, cell.token, reason))
            continue
        before = (theirs.before or {}).get(cell.index) if which == "after" else None
        column = context.column(cell.index, name)
        difference = _compare_cell(mine[name], cell, column, before, context.server)
        cut = stored.get(cell.index)
        if difference is not None and difference.kind is Kind.UNEXPLAINED and cut is not None:
            rule = _by_any_decoder(mine[name], cell, before, column, cut)
            if rule is not None:
                said = "NULL" if mine[name] is None else mine[name]
                pair.differences.append(
                    rule.difference(column.name, said, cell.token, _whole(cell))
                )
                continue
        if difference is not None:
            pair.differences.append(difference)
        shortened = cell.token != b"NULL" and family_of(cell.type, column) in ("FLOAT", "VECTOR")
        if (difference is None or not difference.counts) and shortened:
            _decide(pair, mine[name], stored.get(cell.index), column, context.server)
    for index, unprinted in stored.items():
        if index in image:
            continue
        name = name_of(index)
        seen.add(name)
        pair.cells += 1
        if name in mine:
            _decide(pair, mine[name], unprinted, context.column(index, name), context.server)
        else:
            reason = "the column is in the image, ours does not have it"
            pair.undecided.append(not_stored(name, None, unprinted.content, reason))
    if theirs.fault is None or context.stored is not None:
        pair.differences.extend(_invented(name, mine[name]) for name in mine if name not in seen)


def _by_any_decoder(
    ours: Any, cell: PrintedCell, before: PrintedCell | None, column: ColumnFacts, cut: StoredCell
) -> Rule | None:
    """The rule about any decoder's values that explains one, from what is printed and stored."""
    expected = _expected(cell, before, column, cut.content)
    return explain_expected(ExpectedCell(ours, expected, cut.content, column))


def _expected(
    cell: PrintedCell, before: PrintedCell | None, column: ColumnFacts, content: bytes | None
) -> Any:
    """The value in the contract's form; of FLOAT the text has six digits."""
    value = value_of(cell, before)
    if content is None:
        return value
    if column.family == "FLOAT" and len(content) == _SINGLE.size:
        (number,) = _SINGLE.unpack(content)
        digits = (float(f"{number:.{count}g}") for count in range(1, 10))
        return next((d for d in digits if _SINGLE.pack(d) == content), number)
    if column.family in ("ENUM", "SET") and column.labels and isinstance(value, int):
        bits = 1 << value - 1 if column.family == "ENUM" and value else value
        return ",".join(label for i, label in enumerate(column.labels) if bits >> i & 1)
    if column.family == "STRING" and column.charset == "binary":
        padded = content.ljust(column.length, b"\0") if column.fixed else content
        return "0x" + padded.hex().upper()
    return value


def _decide(
    pair: Pair, ours: Any, stored: StoredCell | None, column: ColumnFacts, server: str
) -> None:
    """By the log's bytes, where they are at hand."""
    said = "NULL" if ours is None else ours
    if stored is None:
        pair.undecided.append(EVENT_RULES["digits-not-judged"].difference(column.name, said, None))
        return
    verdict = gives(ours, stored, column, server)
    pair.by_bytes += verdict is not None
    if verdict is None:
        pair.undecided.append(EVENT_RULES["cell-not-judged"].difference(column.name, said, None))
    elif not verdict:
        reason = "the value, written back, does not give the bytes that the log stores"
        pair.undecided.append(not_stored(column.name, said, stored.content, reason))


def _names(
    mine: Mapping[str, Any], image: Mapping[int, object], facts: TableVersion | None
) -> Callable[[int], str]:
    """How a column's index becomes the name it has on our side.

    By the schema; else ``@n``; else, where as many columns are in both images, by their order.
    """
    if facts is not None and all(i < len(facts.columns) for i in image):
        columns = facts.columns
        return lambda index: columns[index].name
    if len(mine) == len(image) and not any(name.startswith("@") for name in mine):
        by_order = dict(zip(sorted(image), mine, strict=True))
        return lambda index: by_order[index]
    return lambda index: f"@{index + 1}"


def _invented(name: str, value: Any) -> Difference:
    said = "no such column"
    if value is None:
        return EVENT_RULES["absent-as-null"].difference(name, "NULL", None, said)
    reason = "ours has a value for a column that is not in the image"
    return unexplained(name, value, None, reason, said)


def _compare_cell(
    ours: Any,
    cell: PrintedCell,
    column: ColumnFacts,
    before: PrintedCell | None,
    server: str,
) -> Difference | None:
    family = family_of(cell.type, column)
    if cell.type and column.family and family != column.family:
        reason = "our schema has another type for this column"
        return unexplained(column.name, column.family, cell.type, reason, _whole(cell))
    printed = _read(cell.token)
    if printed is None:
        reason = "none of mysqlbinlog's value forms"
        return unexplained(column.name, ours, cell.token, reason, _whole(cell))
    earlier = _read(before.token) if before is not None else None
    both = Cell(ours, printed, family, cell.type, column, earlier, server)
    if same(both):
        return None
    rule = explain(both)
    said = "NULL" if ours is None else ours
    if rule is not None:
        return rule.difference(column.name, said, cell.token, _whole(cell))
    reason = "mysqlbinlog gives the value up" if printed.form is TokenForm.FAULT else "other value"
    return unexplained(column.name, said, cell.token, reason, _whole(cell))


def _whole(cell: PrintedCell) -> bytes:
    comment = f" /* {cell.type} meta={cell.meta} */" if cell.type else ""
    return b"@%d=" % (cell.index + 1) + cell.token[:_SHOWN] + comment.encode()


def _read(token: bytes) -> Printed | None:
    try:
        return read_token(token)
    except TokenError:
        return None
