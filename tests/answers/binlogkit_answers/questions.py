"""What is asked of a log, by name: each question opens it anew and uses the front door alone.

A question gets :class:`asked.Asked` and gives its parts by name, each a :class:`plain.Told`. What
is raised is part of the answer.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable

from tests.answers.binlogkit_answers import readings, results
from tests.answers.binlogkit_answers.asked import QUESTIONS, Asked
from tests.answers.binlogkit_answers.plain import Told

__all__ = ["PARTS", "ask", "readings", "results"]

#: Every part that an answer can have, in the order of the digests.
PARTS = (
    "rows", "rows.met", "rows.damage", "batches", "batches.damage", "schemas", "numbers", "generic",
    "events", "transactions", "statements", "boundaries", "tables", "tables.damage", "damage",
    "frames", "columns", "verify.findings", "verify.files", "verify.joints", "verify.rows",
    "audit.counts", "audit.files", "audit.findings", "audit.limits",
    "state.end", "state.at", "state.gtid", "state.time", "state.determined", "state.findings",
    "undo", "redo", "undo.script", "redo.script", "filters", "filters.where",
)  # fmt: skip


def ask(asked: Asked, questions: Iterable[str] = ()) -> dict[str, str]:
    """The answers as texts by part."""
    found: dict[str, Told] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in questions or QUESTIONS:
            for part, told in QUESTIONS[name](asked).items():
                found.setdefault(part, Told()).facts += told.facts
    assert set(found) <= set(PARTS), set(found) - set(PARTS)
    return {part: "\n".join(told.facts) for part, told in found.items()}
