"""One row change of ours against one of mysqlbinlog's: the differences of the pair."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from binlogkit.analyses.conformance.cell import Cell, family_of, same
from binlogkit.analyses.conformance.columns import ColumnFacts, TableFacts, Tables
from binlogkit.analyses.conformance.printed import PrintedCell, PrintedRow
from binlogkit.analyses.conformance.rule import EVENT_RULES, Kind, Rule
from binlogkit.analyses.conformance.rules import explain
from binlogkit.analyses.conformance.tokens import Form, Printed, TokenError, read_token

__all__ = ["Difference", "Pair", "compare_rows", "proof_of", "shown"]

Record = Mapping[str, Any]

_SHOWN = 300
_VERSIONS = 8


@dataclass(slots=True)
class Difference:
    """A difference before it is put into the frame."""

    kind: Kind
    rule: str = ""
    column: str | None = None
    ours: Any = None
    theirs: str | None = None
    reason: str = ""
    proof: str = ""

    @property
    def counts(self) -> bool:
        """Whether it makes the comparison fail."""
        return self.kind in (Kind.OURS, Kind.UNEXPLAINED)


@dataclass(slots=True)
class Pair:
    """``cells``: how many were compared."""

    differences: list[Difference] = field(default_factory=list)
    cells: int = 0

    @property
    def agrees(self) -> bool:
        """Whether nothing in it makes the comparison fail."""
        return not any(d.counts for d in self.differences)


def shown(value: Any) -> str | None:
    """A value as text for the frame, cut to 300 characters."""
    if value is None:
        return None
    text = value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def proof_of(theirs: object, rule: Rule | None = None) -> str:
    """What is printed, and the rule that speaks of it."""
    said = f"mysqlbinlog prints {shown(theirs)}"
    return f"{said}; rule {rule.id}: {rule.text} [{rule.source}]" if rule else said


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
        reason = f"the row's {name} differs"
        pair.differences.append(
            Difference(Kind.UNEXPLAINED, "", name, ours, shown(theirs), reason, proof_of(theirs))
        )


def _image_missing(pair: Pair, which: str, mine: Any, image: object) -> None:
    words = "ours has no such image" if mine is None else "mysqlbinlog prints no such image"
    theirs = None if image is None else f"{which} image"
    pair.differences.append(
        Difference(Kind.UNEXPLAINED, "", which, shown(mine), theirs, words, proof_of(theirs))
    )


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
            pair.differences.append(_absent(cell, name))
            continue
        column = facts.columns[cell.index] if facts and cell.index < len(facts.columns) else None
        earlier = _earlier(which, name, cell, ours, theirs)
        difference = _compare_cell(mine[name], cell, column or ColumnFacts(name), earlier, server)
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


def _earlier(
    which: str, name: str, cell: PrintedCell, ours: Record, theirs: PrintedRow
) -> tuple[Any, PrintedCell | None]:
    if which == "before":
        return None, None
    before = ours.get("before") or {}
    return before.get(name), (theirs.before or {}).get(cell.index)


def _absent(cell: PrintedCell, name: str) -> Difference:
    return Difference(
        Kind.UNEXPLAINED, "", name, None, shown(cell.token),
        "the column is in the image, ours does not have it", proof_of(cell.token),
    )  # fmt: skip


def _invented(name: str, value: Any) -> Difference:
    if value is None:
        rule = EVENT_RULES["absent-as-null"]
        return Difference(
            rule.kind, rule.id, name, "NULL", None, rule.text, proof_of("no such column", rule)
        )
    return Difference(
        Kind.UNEXPLAINED, "", name, shown(value), None,
        "ours has a value for a column that is not in the image", proof_of("no such column"),
    )  # fmt: skip


def _compare_cell(
    ours: Any,
    cell: PrintedCell,
    column: ColumnFacts,
    before: tuple[Any, PrintedCell | None],
    server: str,
) -> Difference | None:
    family = family_of(cell.type, column)
    if cell.type and column.family and family != column.family:
        return Difference(
            Kind.UNEXPLAINED, "", column.name, column.family, cell.type,
            "our schema has another type for this column", proof_of(_whole(cell)),
        )  # fmt: skip
    printed = _read(cell.token)
    if printed is None:
        return Difference(
            Kind.UNEXPLAINED, "", column.name, shown(ours), shown(cell.token),
            "none of mysqlbinlog's value forms", proof_of(_whole(cell)),
        )  # fmt: skip
    earlier = _read(before[1].token) if before[1] is not None else None
    both = Cell(ours, printed, family, cell.type, column, before[0], earlier, server)
    if same(both):
        return None
    rule = explain(both)
    theirs = shown(cell.token)
    said = "NULL" if ours is None else shown(ours)
    if rule is None:
        reason = "mysqlbinlog gives the value up" if printed.form is Form.FAULT else "other value"
        return Difference(
            Kind.UNEXPLAINED, "", column.name, said, theirs, reason, proof_of(_whole(cell))
        )
    return Difference(
        rule.kind, rule.id, column.name, said, theirs, rule.text, proof_of(_whole(cell), rule)
    )


def _whole(cell: PrintedCell) -> bytes:
    comment = f" /* {cell.type} meta={cell.meta} */" if cell.type else ""
    return b"@%d=" % (cell.index + 1) + cell.token[:_SHOWN] + comment.encode()


def _read(token: bytes) -> Printed | None:
    try:
        return read_token(token)
    except TokenError:
        return None
