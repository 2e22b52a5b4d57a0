"""What a state does not say with certainty, and why."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import pyarrow as pa

from binlogkit.frames.fields.field import arrow_schema, fields

FINDINGS = fields(
    ("finding", "string", "a short name"),
    ("determined", "boolean", "whether the state is determined nevertheless"),
    ("meaning", "string", "what it means for the state, one sentence"),
    ("count", "int64", "how often it was met"),
    ("file", "string?", "file of the first place, null where there is none"),
    ("pos", "int64?", "its position"),
)

KINDS = {
    "altered": "The table was altered: values of some columns in rows from before are not known.",
    "cascades": "A foreign key changes rows of the table when its parent's change, which is not in"
    " logs up to 9.5, and the parent was changed.",
    "clock_went_back": "Commit times are not in log order: transactions up to the time are not"
    " all those before it.",
    "coarse_time": "Without commit timestamps (before 8.0.1), times of events to the second stand"
    " in for them.",
    "cut": "The log ends inside a transaction; its changes are left out.",
    "duplicate": "A row was inserted whose key is there already.",
    "emptied": "The table was emptied or dropped on the way back: the rows that it had before are"
    " not in the log.",
    "if_not_exists": "CREATE TABLE IF NOT EXISTS: nothing tells whether the table was there"
    " before, with rows.",
    "incident": "The server noted that changes are missing from the log: of which tables it does"
    " not say.",
    "json_diff": "A partial JSON update does not fit the value before it.",
    "key_converted": "An ALTER TABLE converted a column of the key: rows from before cannot be"
    " found by it.",
    "key_missing": "A change's image does not hold the key; it was left out.",
    "missing_gtids": "The log lacks members of the GTID set.",
    "no_beginning": "Neither the table's creation nor a base is here: rows that no change touched"
    " are not shown.",
    "no_image": "A change has neither image; it was left out.",
    "no_transactions": "Without the transactions' outcomes, every change is taken as committed.",
    "open": "A transaction has no end yet; its changes are left out.",
    "outside": "Changes stand outside any transaction; they are taken as committed.",
    "prepared": "An XA transaction is prepared and not resolved; its changes are left out.",
    "renamed_from": "The table came from another by RENAME, of which not all rows are known.",
    "rolled_back": "Changes stand in a rolled back transaction and were left out. They stayed if"
    " the table is not transactional, which the log does not say.",
    "rows_moved": "A statement moved or dropped whole partitions or a tablespace; their rows are"
    " not in the log.",
    "statement_write": "The table was written by a statement logged as text; what it did to rows"
    " is not in the log.",
    "stopped": "An ALTER, a RENAME or a write logged as text ended the way back: the rows are"
    " those right after it.",
    "unknown_ddl": "A statement changed the table in a way that could not be understood.",
    "written_elsewhere": "Another table was written by a statement logged as text: a trigger or a"
    " routine may have written this one as well, which is not in the log.",
    "unseen": "A row was updated or deleted that is not there.",
}


@dataclass(slots=True)
class Finding:
    """What was met: how often, where first, and whether the state is determined nevertheless.

    ``at``: a number that rises in the order in which findings of one table were first met.
    """

    count: int
    determined: bool
    file: str | None
    pos: int | None
    at: int


@dataclass(slots=True)
class Findings:
    """Findings by kind (:data:`KINDS`), in the order in which they were first met."""

    found: dict[str, Finding] = field(default_factory=dict)

    def add(
        self,
        kind: str,
        file: str | None = None,
        pos: int | None = None,
        *,
        determined: bool = False,
        times: int = 1,
        at: int = 0,
    ) -> None:
        """Count more of a kind."""
        known = self.found.get(kind)
        if known is None:
            self.found[kind] = Finding(times, determined, file, pos, at)
        else:
            known.count += times

    def clear(self, kinds: Iterable[str]) -> None:
        """Forget what a later event made irrelevant."""
        for kind in kinds:
            self.found.pop(kind, None)

    def update(self, other: Findings) -> None:
        """Take over a table's findings."""
        for kind, finding in sorted(other.found.items(), key=lambda item: item[1].at):
            self.add(
                kind,
                finding.file,
                finding.pos,
                determined=finding.determined,
                times=finding.count,
            )

    def table(self) -> pa.Table:
        """As a table with the columns of :data:`FINDINGS`."""
        rows = [
            (kind, f.determined, KINDS[kind], f.count, f.file, f.pos)
            for kind, f in self.found.items()
        ]
        schema = arrow_schema(FINDINGS)
        arrays = [pa.array([row[i] for row in rows], kind) for i, kind in enumerate(schema.types)]
        return pa.table(arrays, schema=schema)
