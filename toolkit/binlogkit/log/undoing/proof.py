"""The result of trying an undo on a server; log/undoing/prove_on_server.py makes it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from binlogkit.analyses.undoing.expected_rows import DIFFERENCES, Row
from binlogkit.constants import TableId
from binlogkit.errors import printable
from binlogkit.frames.fields.field import to_table
from binlogkit.rows.filters import written_table_name

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class ProvedTable:
    """A table on the server: its rows ``before`` and ``after`` the script.

    ``played``: whether it was as the log says before, None if the log does not determine it;
    ``wrong``: rows that are not as they should be afterwards.
    """

    name: TableId
    before: int
    after: int
    inserted: int
    updated: int
    deleted: int
    played: bool | None
    wrong: int

    def record(self) -> dict[str, Any]:
        """As a record."""
        played = {True: "yes", False: "no", None: "not determined"}[self.played]
        return {
            "table": written_table_name(*self.name), "before": self.before, "after": self.after,
            "inserted": self.inserted, "updated": self.updated, "deleted": self.deleted,
            "as_logged": played, "wrong": self.wrong,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Proof:
    """The result of trying an undo on a server.

    ``verdict``: the script's; ``statement``, ``error``: the statement that failed and its error, if
    one did; ``server``: the version that it ran on, ``log_version``: the log's; ``replayed``:
    whether the result was also compared with a replay without the undone transactions; ``notes``:
    what limits the proof, a sentence each.
    """

    verdict: str
    statement: str | None
    error: str | None
    server: str
    log_version: str
    tables: tuple[ProvedTable, ...]
    replayed: bool
    notes: tuple[str, ...]
    _found: Sequence[Row] = field(repr=False)

    @property
    def committed(self) -> bool:
        """Whether the script committed."""
        return self.verdict.startswith("committed")

    @property
    def equal(self) -> bool:
        """Whether the script committed and the tables are exactly right.

        They must also have been right before it, where the log determines them.
        """
        return self.committed and all(row["between"] == "undo" for row in self._found)

    def differences(self, *between: str) -> pa.Table:
        """The rows that differ, as ``DIFFERENCES`` in analyses/undoing/expected_rows.py.

        ``between``: which comparison; all by default.
        """
        texts = [
            {
                name: json.dumps(value, ensure_ascii=False)
                if name in ("key", "before", "after") and value is not None
                else value
                for name, value in row.items()
            }
            for row in self._found
            if not between or row["between"] in between
        ]
        return to_table(texts, DIFFERENCES)

    def frame(self, *between: str) -> pd.DataFrame:
        """The same as pandas."""
        from binlogkit.frames.natural import natural

        return natural(self.differences(*between), DIFFERENCES)

    def record(self) -> dict[str, Any]:
        """All of it as one record."""
        return {
            "equal": self.equal, "verdict": self.verdict, "statement": self.statement,
            "error": self.error, "server": self.server, "log_version": self.log_version,
            "replayed": self.replayed, "notes": list(self.notes),
            "tables": [table.record() for table in self.tables], "differences": list(self._found),
        }  # fmt: skip

    def __repr__(self) -> str:
        equal = "equal" if self.equal else "not equal"
        return f"<Proof: {equal}; {printable(self.verdict)}; on MySQL {self.server}>"

    def _repr_html_(self) -> str:
        from binlogkit.reports.notebook import overview
        from binlogkit.reports.proof import facts_of

        record = self.record()
        return overview("proof of an undo", facts_of(record), record["tables"])
