"""The audit of a landing: the logs' own, from its tables and its ledger."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.analyses._frames import to_arrow
from binlogkit.analyses.audit.limits import LIMITS
from binlogkit.frames.fields.field import arrow_schema, to_table
from binlogkit.frames.fields.ledger import BOUNDARY, FILE, STATEMENT
from binlogkit.log.audit import SECTIONS, Audit, assumes_of, counted, file_record
from binlogkit.log.index.transactions import joined_boundaries, joined_statements
from binlogkit.rows.filter_args import FilterArgs
from binlogkit.spark.landing.activity import activity, in_order
from binlogkit.spark.landing.chosen import Chosen

if TYPE_CHECKING:
    from binlogkit.spark.landing.ledger import Ledger

#: Why a landing's audit has no such section.
_LACKING = {
    "suspects": "they are weighed by the logs' rows, also by those that were rolled back",
    "continuity": "whether a log follows another one is read from both: verify the logs",
    "integrity": "no byte of the logs is read: verify them",
}
_NO_STATEMENTS = "its ledger keeps no statement texts, since columns are masked or rows were erased"
_STATEMENTS = ("by_statement", "statements", "settings")


#: Gives what an audit counts of a ledger's changes: of all transactions the chosen ones, as a frame
#: of any engine, and how many of them have not landed.
Changes: TypeAlias = Callable[["Ledger", pa.Table, Chosen], tuple[Any, int]]


def changes_here(ledger: Ledger, transactions: pa.Table, chosen: Chosen) -> tuple[pa.Table, int]:
    """See :data:`Changes`."""
    landed, others = (chosen.changes(one) for one in activity(ledger, transactions))
    return in_order(pa.concat_tables([landed, others]), ledger.numbers), rows_of(others)


def rows_of(changes: pa.Table) -> int:
    """How many changes these are."""
    return pc.sum(changes["rows"]).as_py() or 0


def audit_landing(
    ledger: Ledger,
    transactions_of: Callable[..., pa.Table],
    filters: FilterArgs,
    changes_of: Changes = changes_here,
) -> Audit:
    """See :meth:`binlogkit.spark.landing.Landing.audit`; ``transactions_of``: gives those that
    filters want."""
    every = transactions_of()
    transactions = transactions_of(**filters) if filters else every
    chosen = Chosen(ledger, every, transactions_of, filters)
    changes, others = changes_of(ledger, every, chosen)
    parts, joined, all_sources = ledger.parts, ledger.joined, frozenset[str]()
    statements = joined_statements(parts, joined, all_sources)
    lacking = dict(_LACKING)
    if statements is None:
        lacking |= dict.fromkeys(_STATEMENTS, _NO_STATEMENTS)
        statements, boundaries = to_table([], STATEMENT), to_table([], BOUNDARY)
    else:
        boundaries = joined_boundaries(parts, joined, all_sources, ledger.files, statements)
        statements, boundaries = (
            rows.filter(chosen.of(rows, chosen.numbers(rows))) for rows in (statements, boundaries)
        )
    sources = {position.part: position.source for position in ledger.joined.positions}
    files = [
        replace(file, source=sources[i])
        for i, part in enumerate(ledger.parts)
        for file in part.alone.files
    ]
    found = counted(
        transactions,
        changes,
        statements,
        boundaries,
        sorted(".".join(name) for name, known in ledger.met.items() if known[-1].cascades),
        {f.name: f.alone for f in files if f.loose},
    ) | {
        "files": to_table((file_record(f, f.size, None) for f in files), FILE),
        "assumes": assumes_of(ledger, files),
    }
    found["limits"] = pa.concat_tables([found["limits"], _limits(lacking, others)])
    sections = {
        name: to_arrow(found[name]).cast(arrow_schema(declared))
        for name, declared in SECTIONS.items()
        if name not in lacking
    }
    return Audit(sections, ledger.files, lacking)


def _limits(lacking: dict[str, str], others: int) -> pa.Table:
    """What a landing cannot show of its logs."""
    asked = "asked of a landing, not of its logs"
    rows = [
        {"limit": name, "grade": "applies", "meaning": f"No {name}: {why}.", "evidence": asked}
        for name, why in lacking.items()
    ]
    if others:
        rows.append({
            "limit": "not_in_tables",
            "grade": "applies",
            "meaning": "Place, time to the second, statement and cells of changes that are not in "
            "the landing's tables, since they were rolled back, were left out, wait, expired or "
            "were erased: they are counted at the beginning of their transaction.",
            "evidence": f"{others} row changes are known by their number alone",
        })  # fmt: skip
    return to_table(rows, LIMITS)
