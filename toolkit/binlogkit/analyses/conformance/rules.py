"""The rules for cells, in the order in which they are tried."""

from __future__ import annotations

from binlogkit.analyses.conformance.cell import Cell, same
from binlogkit.analyses.conformance.json_rules import JSON_RULES
from binlogkit.analyses.conformance.rule import Kind, Rule
from binlogkit.analyses.conformance.value_rules import VALUE_RULES

_ORDER = (Kind.REPRESENTATION, Kind.UNDER_DETERMINED, Kind.THEIRS, Kind.OURS)
RULES = tuple(sorted([*JSON_RULES, *VALUE_RULES], key=lambda rule: _ORDER.index(rule.kind)))

_BY_FAMILY: dict[str, tuple[Rule, ...]] = {"": RULES}


def explain(cell: Cell) -> Rule | None:
    """The first rule that explains why the two sides of a cell are not written the same way."""
    assert not same(cell)
    if cell.family not in _BY_FAMILY:
        chosen = (r for r in RULES if not r.families or cell.family in r.families)
        _BY_FAMILY[cell.family] = tuple(chosen)
    return next((rule for rule in _BY_FAMILY[cell.family] if rule.fits(cell)), None)
