"""Why a value is not the expected one: rules that recompute it from that or from the cell's bytes.

For comparisons with expected rows (``rows.jsonl`` of golden logs), whose values are the contract's
and have the log's own bytes beside them. The first rule that fits names the difference.
"""

from __future__ import annotations

from binlogkit.analyses.conformance.expected_bytes import BYTES
from binlogkit.analyses.conformance.expected_cell import ANY_DECODER, ExpectedCell
from binlogkit.analyses.conformance.expected_json import JSON
from binlogkit.analyses.conformance.expected_numbers import NUMBERS
from binlogkit.analyses.conformance.expected_times import TIMES
from binlogkit.analyses.conformance.rule import Kind, Rule, Rules

_ANY = Rules(ANY_DECODER)


@_ANY.add("value-as-null", "the log has a value, ours says NULL", kind=Kind.OURS)
def _lost(cell: ExpectedCell) -> bool:
    return cell.ours is None and cell.raw is not None


EXPECTED_RULES: tuple[Rule, ...] = (*NUMBERS, *TIMES, *BYTES, *JSON, *_ANY)


def explain_expected(cell: ExpectedCell) -> Rule | None:
    """The first rule that explains why a value is not the expected one."""
    family = cell.column.family
    chosen = (rule for rule in EXPECTED_RULES if not rule.families or family in rule.families)
    return next((rule for rule in chosen if rule.fits(cell)), None)
