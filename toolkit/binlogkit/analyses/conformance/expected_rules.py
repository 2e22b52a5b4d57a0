"""Why a value is not the expected one: rules that recompute it from that or from the cell's bytes.

For comparisons with expected rows (``rows.jsonl`` of golden logs), whose values are the contract's
and have the log's own bytes beside them. The first rule that fits names the difference.
"""

from __future__ import annotations

import struct
from binascii import Error as Base64Error

from binlogkit.analyses.conformance.expected_bytes import BYTES
from binlogkit.analyses.conformance.expected_cell import ExpectedCell, adding
from binlogkit.analyses.conformance.expected_json import JSON
from binlogkit.analyses.conformance.expected_numbers import NUMBERS
from binlogkit.analyses.conformance.expected_times import TIMES
from binlogkit.analyses.conformance.rule import Kind, Rule, Rules

_ANY = Rules()


@adding(_ANY)("value-as-null", "the log has a value, ours says NULL", kind=Kind.OURS)
def _lost(cell: ExpectedCell) -> bool:
    return cell.ours is None and cell.raw is not None


EXPECTED_RULES: tuple[Rule, ...] = (*NUMBERS, *TIMES, *BYTES, *JSON, *_ANY)


#: What a rule meets in a value that it is not about: NULL, another type, what cannot be decoded.
_UNFIT = (ValueError, TypeError, AttributeError, ArithmeticError, struct.error, Base64Error)


def explain_expected(cell: ExpectedCell) -> Rule | None:
    """The first rule that explains why a value is not the expected one."""
    for rule in EXPECTED_RULES:
        if rule.families and cell.column.family not in rule.families:
            continue
        try:
            if rule.explains is not None and rule.explains(cell):
                return rule
        except _UNFIT:
            continue
    return None
