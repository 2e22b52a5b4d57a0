"""Which cache a statement's events go to, and when each cache is written to the log.

Source: the MySQL internals manual, "Logging Transactions": rows of N-tables and statements over
them alone go to the statement cache, which is written when the statement ends; all else goes to the
transaction cache, which is written when the transaction ends. Where 5.7.22, 8.0.31 and 9.7.4 do
otherwise, what they do is here (docs/logging-rules.md).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from enum import StrEnum

from binlogkit.analyses.logging_rules.decision import Decision, Outcome, decide
from binlogkit.analyses.logging_rules.model import Read, Settings, Statement, Transaction
from binlogkit.analyses.logging_rules.reasons import KEPT
from binlogkit.analyses.logging_rules.texts import invocation, temporary_groups, texts
from binlogkit.constants import TableId
from binlogkit.rows.filters import backquoted


class Cache(StrEnum):
    """Where events go."""

    TRANSACTION = "transaction cache"
    STATEMENT = "statement cache"
    NONE = "binary log"


@dataclass(frozen=True, slots=True)
class Logged:
    """``caches``: where the statement's events went; ``written``: what is in the log after it that
    was not before: BEGIN, COMMIT, ROLLBACK, a statement's text, or ``rows of db.table``."""

    caches: tuple[Cache, ...] = ()
    written: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Entry:
    """What stands in the transaction cache; ``lasting``: ROLLBACK does not undo it."""

    text: str
    lasting: bool = False


@dataclass(frozen=True, slots=True)
class _Temporary:
    """A temporary table of the session; ``logged``: so was what made it."""

    transactional: bool
    logged: bool


#: The place of a savepoint that was set before anything of the transaction was logged.
_BEFORE_ALL = -1
_NAME = r"(`(?:[^`]|``)+`|[^\s;]+)"
_SAVEPOINT = re.compile(rf"\s*SAVEPOINT\s+{_NAME}", re.I)
_ROLLBACK_TO = re.compile(rf"\s*ROLLBACK\s+(?:WORK\s+)?TO\s+(?:SAVEPOINT\s+)?{_NAME}", re.I)
_AUTOCOMMIT = re.compile(r"\s*SET\s+(?:SESSION\s+|@@(?:SESSION\.)?)?AUTOCOMMIT\s*=\s*(\w+)", re.I)
_TEMPORARY = re.compile(r"\s*(CREATE|DROP)\s+TEMPORARY\b", re.I)
_CONTROL = re.compile(r"\s*(BEGIN|START\s+TRANSACTION|COMMIT|ROLLBACK|LOCK|UNLOCK)\b", re.I)


@dataclass(slots=True)
class Caches:
    """A session's caches, and the transaction that it is in."""

    settings: Settings
    begun: bool = False
    autocommit: bool = True
    registered: bool = False  # something of this transaction went to one of the caches
    transaction_cache: list[_Entry] = field(default_factory=list)
    savepoints: dict[str, int] = field(default_factory=dict)
    temporaries: dict[TableId, _Temporary] = field(default_factory=dict)
    stays_rows: bool = False  # up to 5.7: MIXED keeps rows while there are temporary tables
    after_rows: bool = False  # the statement before was carried out as rows
    marks: dict[str, tuple[Read, frozenset[str]]] = field(default_factory=dict)
    reread: set[str] = field(default_factory=set)  # places of expressions

    @property
    def open(self) -> bool:
        """Whether several statements are in the transaction."""
        return self.begun or not self.autocommit

    @property
    def transaction(self) -> Transaction:
        """What the decision of the next statement asks."""
        return Transaction(
            self.open,
            self.wrote_transactional,
            rows_since_temporary=self.stays_rows,
            after_rows=self.after_rows,
            marked={(which, read): names for which, (read, names) in self.marks.items()},
        )

    @property
    def wrote_transactional(self) -> bool:
        """Whether something stands in the transaction cache (``trans_has_updated_trans_table``)."""
        return self.open and bool(self.transaction_cache)

    def decided(self, statement: Statement) -> tuple[Statement, Decision]:
        """A statement as the session has it, and how that is logged."""
        found = self._found(statement)
        return found, decide(found, self.settings, self.transaction)

    def _found(self, statement: Statement) -> Statement:
        """A statement as the session has it: an expression of a routine that it has evaluated
        before is read again once tables that it uses were changed, and then is a SELECT (the
        default of DECLARE; up to 5.7 every expression), until the routine itself is read anew."""
        if statement.kind != "expression" or statement.place is None:
            return statement
        which, read = statement.place
        before = self.marks[which][0] if which in self.marks else read
        if before[0] != read[0]:
            self.reread.discard(which)
        elif before != read:
            self.reread.add(which)
        declared = statement.text.upper().startswith("DEFAULT")
        again = which in self.reread and (declared or self.settings.version < 80000)
        return replace(statement, kind="select") if again else statement

    def take(
        self,
        statement: Statement,
        decision: Decision,
        *,
        changed: bool = True,
        failed: bool = False,
    ) -> Logged:
        """A statement that was carried out; ``changed``: it changed rows; ``failed``: it ended with
        an error."""
        self._count_temporary(statement, decision, failed)
        self._keep(statement, decision)
        if statement.kind == "control":
            return Logged(written=tuple(self._control(statement.text)))
        if (set_to := _AUTOCOMMIT.match(statement.text)) is not None:
            before, self.autocommit = self.autocommit, set_to[1].lower() in ("1", "on", "true")
            ends = self.autocommit and not before
            return Logged(written=tuple(self._commit() if ends else ()))
        if commits(statement):
            return self._direct(statement, decision, failed)
        if decision.outcome == Outcome.ROWS:
            return self._rows(statement, changed, failed)
        if decision.outcome == Outcome.STATEMENT and statement.temporary:
            return self._temporary(statement, decision, failed)
        if decision.outcome == Outcome.STATEMENT and statement.invoked:
            return self._evaluated(statement)
        if decision.outcome == Outcome.STATEMENT:
            return self._statement(statement, changed, failed)
        return Logged(written=self._ended())

    def _count_temporary(self, statement: Statement, decision: Decision, failed: bool) -> None:
        logged = decision.outcome == Outcome.STATEMENT
        for use in () if failed else statement.temporaries:
            before = self.temporaries.pop((use.db, use.table), None)
            if statement.kind in ("truncate", "ddl"):  # it is made anew
                if before is not None:
                    self.temporaries[use.db, use.table] = before
            elif statement.kind != "drop":
                made = _Temporary(use.engine.transactional, logged)
                self.temporaries[use.db, use.table] = made
        self.stays_rows = (self.stays_rows or decision.as_rows) and bool(self.temporaries)

    def _keep(self, statement: Statement, decision: Decision) -> None:
        """A statement that is refused is not marked anew."""
        self.after_rows = decision.as_rows
        if statement.place is None:
            return
        which, read = statement.place
        before = self.marks.get(which)
        names = KEPT.intersection(decision.unsafe)
        if decision.outcome == Outcome.ERROR:
            names = before[1] if before is not None and before[0] == read else frozenset()
        self.marks[which] = (read, names)

    def disconnect(self) -> Logged:
        """The session ends, closed or killed: its transaction is rolled back, then its temporary
        tables are dropped, those of T-engines first; from 8.0 on only those that replicas have."""
        written = self._rollback()
        for transactional in (True, False):
            by_database: dict[str, list[str]] = {}
            for (db, table), made in reversed(self.temporaries.items()):
                has = made.logged or self.settings.version < 80004
                if has and made.transactional == transactional:
                    by_database.setdefault(db, []).append(f"`{table}`")
            for tables in by_database.values():
                names = ",".join(tables)
                written.append(f"DROP /*!40005 TEMPORARY */ TABLE IF EXISTS {names}")
        self.temporaries.clear()
        self.marks.clear()
        self.reread.clear()
        self.autocommit, self.stays_rows, self.after_rows = self.settings.autocommit, False, False
        return Logged(written=tuple(written))

    def _direct(self, statement: Statement, decision: Decision, failed: bool) -> Logged:
        """R-log-commit-statement and CREATE … SELECT: the transaction is committed before."""
        written = self._commit()
        logged = decision.outcome in (Outcome.STATEMENT, Outcome.ROWS) and not failed
        if not logged:
            return Logged(written=tuple(written))
        own = texts(statement, self.settings, as_rows=decision.as_rows)
        if decision.outcome == Outcome.STATEMENT:
            return Logged((Cache.NONE,), (*written, *own))
        (made,), (table,) = statement.logged_writes[:1], own
        rows = f"rows of {made.db}.{made.table}"
        version = self.settings.version
        if version < 50700 or (version >= 80021 and made.engine.transactional):
            return Logged((Cache.TRANSACTION,), (*written, "BEGIN", table, rows, "COMMIT"))
        return Logged((Cache.TRANSACTION,), (*written, table, "BEGIN", rows, "COMMIT"))

    def _rows(self, statement: Statement, changed: bool, failed: bool) -> Logged:
        """R-log-row-format, R-flush-SC."""
        uses = [use for use in statement.changed if not use.temporary]
        # After an error rows of T-tables stay in the cache if N-tables got some, too.
        undone_only = all(use.engine.transactional for use in uses)
        kept = uses if changed and not (failed and undone_only) else []
        lasting = [use for use in kept if not use.engine.transactional]
        undone = [use for use in kept if use.engine.transactional]
        written: list[str] = []
        if lasting:
            texts = [f"rows of {use.db}.{use.table}" for use in lasting]
            written += ["BEGIN", *texts, "COMMIT"]
        self.transaction_cache += [_Entry(f"rows of {use.db}.{use.table}") for use in undone]
        self.registered = self.registered or (changed and bool(uses))
        caches = [Cache.STATEMENT] * bool(lasting) + [Cache.TRANSACTION] * bool(undone)
        return Logged(tuple(caches), (*written, *self._ended()))

    def _statement(self, statement: Statement, changed: bool, failed: bool) -> Logged:
        """R-log-statement-format."""
        uses = statement.logged_writes
        lasting = any(not use.engine.transactional for use in uses)
        if failed and not (lasting and changed):
            return Logged(written=self._ended())
        self.registered = True
        (text,) = texts(statement, self.settings, as_rows=False)
        transactional = any(use.engine.transactional for use in uses)
        begun = self.wrote_transactional and not self.settings.direct
        if transactional or begun:
            self.transaction_cache.append(_Entry(text, lasting))
            return Logged((Cache.TRANSACTION,), self._ended())
        return Logged((Cache.STATEMENT,), ("BEGIN", text, "COMMIT", *self._ended()))

    def _evaluated(self, statement: Statement) -> Logged:
        """The functions of a statement that is not logged itself, each by what it writes; those of
        an expression directly, also in a transaction."""
        own = [invocation(called) for called in statement.invoked]
        if statement.kind == "expression":
            return Logged((Cache.NONE,), tuple(own))
        self.registered = True
        uses = statement.logged_writes
        # The whole statement may go to the transaction cache, with what it writes to N-tables.
        mixed = len({use.engine.transactional for use in uses}) > 1
        together = self.open and mixed
        at_once: list[str] = []
        used: list[Cache] = []
        for called, text in zip(statement.invoked, own, strict=True):
            begun = bool(self.transaction_cache) and (mixed or not self.settings.direct)
            if called.transactional or begun or together:
                self.transaction_cache.append(_Entry(text, called.lasting))
                used.append(Cache.TRANSACTION)
            else:
                at_once.append(text)
                used.append(Cache.STATEMENT)
        written = ("BEGIN", *at_once, "COMMIT") if at_once else ()
        return Logged(tuple(dict.fromkeys(used)), (*written, *self._ended()))

    def _temporary(self, statement: Statement, decision: Decision, failed: bool) -> Logged:
        """CREATE and DROP of temporary tables: an N-write, also of T-tables. In a session that logs
        rows DROP is written with IF EXISTS, as replicas may not have the table."""
        if failed:
            return Logged(written=self._ended())
        own = texts(statement, self.settings, as_rows=decision.as_rows)
        if not self.open:
            return Logged((Cache.NONE,), own)
        self.registered = True
        if statement.kind == "drop":
            return self._dropped(statement, own)
        (text,) = own
        reads = statement.kind == "create_select" and any(
            use.engine.transactional for use in statement.accessed
        )
        begun = self.wrote_transactional and (reads or not self.settings.direct)
        if begun or any(use.engine.transactional for use in statement.temporaries):
            self.transaction_cache.append(_Entry(text, lasting=True))
            return Logged((Cache.TRANSACTION,))
        return Logged((Cache.STATEMENT,), ("BEGIN", text, "COMMIT"))

    def _dropped(self, statement: Statement, own: tuple[str, ...]) -> Logged:
        """DROP TEMPORARY TABLE in a transaction: those of N-engines first."""
        written: list[str] = []
        used: list[Cache] = []
        groups = temporary_groups(statement, self.settings)
        for uses, text in zip(groups, own, strict=True):
            begun = self.wrote_transactional and not self.settings.direct
            there = [use for use in uses if use.temporary] or uses
            if begun or any(use.engine.transactional for use in there):
                self.transaction_cache.append(_Entry(text, lasting=True))
                used.append(Cache.TRANSACTION)
            else:
                written += ["BEGIN", text, "COMMIT"]
                used.append(Cache.STATEMENT)
        return Logged(tuple(used), tuple(written))

    def _ended(self) -> tuple[str, ...]:
        """What a statement's end writes: its transaction, where it is one."""
        return () if self.open else tuple(self._commit())

    def _control(self, text: str) -> list[str]:
        if (found := _SAVEPOINT.match(text)) is not None:
            return self._savepoint(found[1].strip("`"))
        if (found := _ROLLBACK_TO.match(text)) is not None:
            return self._rollback_to(found[1].strip("`"))
        found = _CONTROL.match(text)
        word = found[1].upper().split()[0] if found is not None else ""
        if word == "ROLLBACK":
            return self._rollback()
        if word in ("COMMIT", "BEGIN", "START", "LOCK"):
            written = self._commit()
            self.begun = word in ("BEGIN", "START")
            return written
        return []

    def _commit(self) -> list[str]:
        """R-log-commit, R-clear-TC."""
        written = self._ended_by("COMMIT") if self.transaction_cache else []
        self._clear()
        return written

    def _rollback(self) -> list[str]:
        """R-log-rollback, R-clear-TC."""
        written = self._ended_by("ROLLBACK") if self._lasting else []
        self._clear()
        return written

    def _ended_by(self, end: str) -> list[str]:
        return ["BEGIN", *(entry.text for entry in self.transaction_cache), end]

    @property
    def _lasting(self) -> bool:
        return any(entry.lasting for entry in self.transaction_cache)

    def _clear(self) -> None:
        self.begun = self.registered = False
        self.transaction_cache.clear()
        self.savepoints.clear()

    def _savepoint(self, name: str) -> list[str]:
        """It stands in the cache itself once anything of the transaction was logged."""
        if self.open:
            if self.registered:
                self.transaction_cache.append(_Entry(f"SAVEPOINT {backquoted(name)}"))
            place = len(self.transaction_cache) if self.registered else _BEFORE_ALL
            self.savepoints[name.lower()] = place
        return []

    def _rollback_to(self, name: str) -> list[str]:
        """R-log-rollback-to-savepoint; servers ask for an N-write anywhere in the cache."""
        position = self.savepoints.get(name.lower())
        if position is None:
            return []
        if position == _BEFORE_ALL:  # the engine of the log is rolled back wholly
            written = self._ended_by("ROLLBACK") if self._lasting else []
            self.transaction_cache.clear()
            self.registered = False
            return written
        if self._lasting:
            self.transaction_cache.append(_Entry(f"ROLLBACK TO {backquoted(name)}"))
        else:
            del self.transaction_cache[position:]
        return []


def commits(statement: Statement) -> bool:
    """Whether the statement commits what is open before it: DDL, but not CREATE TEMPORARY TABLE and
    DROP TEMPORARY TABLE."""
    if statement.temporary and _TEMPORARY.match(statement.text):
        return False
    return statement.kind in ("create", "create_select", "drop", "truncate", "ddl", "admin")
