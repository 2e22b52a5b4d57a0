"""What mysqlbinlog's text says of the transaction that rows are of: before them, and at its end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from binlogkit.analyses.conformance.event_fields import fields_of
from binlogkit.analyses.conformance.our_records import Key, Record
from binlogkit.analyses.conformance.printed import PrintedEvent
from binlogkit.analyses.conformance.rule import Difference, unexplained

Report = Callable[[Key, int | None, Difference], None]

#: What only the end of a transaction shows of its rows.
AT_THE_END = ("xid", "xa")

_BEGINS = frozenset(("GTID", "Anonymous_GTID"))
_TELLS = _BEGINS | {"Query", "Execute_load_query"}
_ENDS = frozenset((b"COMMIT", b"ROLLBACK"))
_OUTSIDE = frozenset(("Start", "Previous-GTIDs", "Rotate", "Stop"))


class PrintedTransaction:
    """``values``: record key -> value as row records have it, as far as the text has it;
    ``gtid``: of events, None outside a transaction and without one; ``over``: what comes next is of
    another."""

    def __init__(self, report: Report) -> None:
        self.values: dict[str, Any] = {}
        self.over = False
        self._report = report
        self._claims: dict[str, dict[Any, tuple[Key, int | None]]] = {}

    def event(self, printed: PrintedEvent, ours: Record | None) -> None:
        """The text continues with an event that is none of rows; ``ours``: the same of ours."""
        kind = printed.kind
        # Two servers' events can alternate only between transactions: a GTID event starts anew.
        if kind in _BEGINS:
            self.end()
        if kind in _BEGINS or self.over:  # an INCIDENT of 5.6 follows a transaction, without GTID
            self.values = {}
        self.over = kind in ("Xid", "XA") or printed.statement in _ENDS
        shown = {name: theirs for name, _, theirs in fields_of(printed)} if kind in _TELLS else {}
        if kind in _BEGINS:
            self.values["gtid"] = _known(shown.get("gtid"), "ANONYMOUS")
            self.values["commit_timestamp"] = _known(shown.get("immediate_commit_timestamp"), 0)
        elif "thread_id" in shown:
            self.values["thread_id"] = shown["thread_id"]
        if kind == "Rows_query" and ours is not None:
            self.values["query"] = (ours.get("fields") or {}).get("query")
        elif kind == "Rows_query":
            self.values.pop("query", None)
        elif kind != "Table_map":
            self.values["query"] = None
        if kind in ("Xid", "XA"):
            name = AT_THE_END[kind == "XA"]
            self.end(**{n: theirs for n, _, theirs in fields_of(printed) if n == name})
        elif printed.statement in _ENDS:
            self.end()

    def passed(self, **values: Any) -> None:
        """Whole transactions were judged otherwise; ``values``: of the last."""
        self.end()
        self.values, self.over = values, True

    def gtid_of(self, printed: PrintedEvent) -> str | None:
        """The GTID that the event's record has."""
        if printed.kind in _OUTSIDE:
            return None
        found: str | None = self.values.get("gtid")
        return found

    def claim(self, name: str, value: Any, key: Key, row: int | None) -> None:
        """A row says of its transaction's end that it is this."""
        self._claims.setdefault(name, {}).setdefault(value, (key, row))

    def claimed(self, record: Mapping[str, Any], key: Key) -> None:
        """A row's record says what it says of its transaction's end."""
        for name in AT_THE_END:
            if name in record:
                self.claim(name, record[name], key, record.get("row"))

    def end(self, **said: Any) -> None:
        """The transaction is over; ``said``: what its end shows, None of all else."""
        for name, claims in self._claims.items():
            for value, (key, row) in claims.items():
                if value != said.get(name):
                    reason = f"the row's {name} is not its transaction's"
                    self._report(key, row, unexplained(name, value, said.get(name), reason))
        self._claims = {}


def _known(value: Any, unset: Any) -> Any:
    return None if value == unset else value
