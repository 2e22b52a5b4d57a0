"""One row change of ours against one of mysqlbinlog's: the differences of the pair."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from binlogkit.analyses.conformance.cell import (
    Cell,
    ColumnFacts,
    TableFacts,
    Tables,
    family_of,
    same,
)
from binlogkit.analyses.conformance.printed import PrintedCell, PrintedRow
from binlogkit.analyses.conformance.rule import EVENT_RULES, Difference, unexplained
from binlogkit.analyses.conformance.rules import explain
from binlogkit.analyses.conformance.tokens import Form, Printed, TokenError, read_token

Record = Mapping[str, Any]

_SHOWN = 300
_VERSIONS = 8


@dataclass(slots=True)
class Pair:
    """``cells``: how many were compared."""

    differences: list[Difference] = field(default_factory=list)
    cells: int = 0

    @property
    def agrees(self) -> bool:
        """Whether nothing in it makes the comparison fail."""
        return not any(d.counts for d in self.differences)


def compare_rows(ours: Record, theirs: PrintedRow, tables: Tables, server: str = "") -> Pair:
    """The differences of a pair; :class:`Tables` moves on to the table version that fits."""
    db, table = str(ours.get("db")), str(ours.get("table"))
    names = {name for which in ("before", "after") for name in ours.get(which) or ()}
    candidates = tables.candidates(db, table, names)[:_VERSIONS]
    first: Pair | None = None
    for facts in candidates:
        pair = _compare(ours, theirs, facts, server)
        if pair.agrees:
            tables.use(facts)
            return pair
        first = first or pair
    return first or _compare(ours, theirs, None, server)


def _compare(ours: Record, theirs: PrintedRow, facts: TableFacts | None, server: str) -> Pair:
    pair = Pair()
    _same_field(pair, "op", ours.get("op"), theirs.op)
    _same_field(pair, "db", ours.get("db"), _name(theirs.table[0]))
    _same_field(pair, "table", ours.get("table"), _name(theirs.table[1]))
    for which, image in (("before", theirs.before), ("after", theirs.after)):
        mine = ours.get(which)
        if mine is None or image is None:
            if theirs.fault is None and (mine is None) != (image is None):
                _image_missing(pair, which, mine, image)
            continue
        _compare_images(pair, which, ours, theirs, facts, server)
    return pair


def _name(raw: bytes) -> str:
    return raw.decode("utf-8", "backslashreplace")


def _same_field(pair: Pair, name: str, ours: Any, theirs: str) -> None:
    if ours != theirs:
        pair.differences.append(unexplained(name, ours, theirs, f"the row's {name} differs"))


def _image_missing(pair: Pair, which: str, mine: Any, image: object) -> None:
    words = "ours has no such image" if mine is None else "mysqlbinlog prints no such image"
    theirs = None if image is None else f"{which} image"
    pair.differences.append(unexplained(which, mine, theirs, words))


def _compare_images(
    pair: Pair,
    which: str,
    ours: Record,
    theirs: PrintedRow,
    facts: TableFacts | None,
    server: str,
) -> None:
    mine: Mapping[str, Any] = ours[which]
    image = theirs.after if which == "after" else theirs.before
    assert image is not None
    name_of = _names(mine, image, facts)
    seen = set()
    for cell in image.values():
        name = name_of(cell.index)
        seen.add(name)
        pair.cells += 1
        if name not in mine:
            reason = "the column is in the image, ours does not have it"
            pair.differences.append(unexplained(name, None, cell.token, reason))
            continue
        column = facts.columns[cell.index] if facts and cell.index < len(facts.columns) else None
        before = (theirs.before or {}).get(cell.index) if which == "after" else None
        difference = _compare_cell(mine[name], cell, column or ColumnFacts(name), before, server)
        if difference is not None:
            pair.differences.append(difference)
    if theirs.fault is None:
        pair.differences.extend(_invented(name, mine[name]) for name in mine if name not in seen)


def _names(
    mine: Mapping[str, Any], image: Mapping[int, PrintedCell], facts: TableFacts | None
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
    reason = "mysqlbinlog gives the value up" if printed.form is Form.FAULT else "other value"
    return unexplained(column.name, said, cell.token, reason, _whole(cell))


def _whole(cell: PrintedCell) -> bytes:
    comment = f" /* {cell.type} meta={cell.meta} */" if cell.type else ""
    return b"@%d=" % (cell.index + 1) + cell.token[:_SHOWN] + comment.encode()


def _read(token: bytes) -> Printed | None:
    try:
        return read_token(token)
    except TokenError:
        return None
