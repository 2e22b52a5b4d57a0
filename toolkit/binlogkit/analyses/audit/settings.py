"""Statements that change how the server works or who may use it."""

from __future__ import annotations

import narwhals as nw
from narwhals.typing import IntoFrameT

from binlogkit.analyses._frames import Lazy, finish, lazy
from binlogkit.frames.fields.field import chosen, names
from binlogkit.frames.fields.ledger import STATEMENT

__all__ = ["SETTINGS", "STATEMENT_DML", "settings", "statement_dml"]

_STATEMENT = chosen(
    STATEMENT, "source", "file", "pos", "timestamp", "gtid", "thread_id", "db", "kind", "query"
)
_NAMES = names(_STATEMENT)
_SETTING_KINDS = ["set", "account", "admin"]

SETTINGS = _STATEMENT


def settings(statements: IntoFrameT) -> IntoFrameT:
    """Statements on settings, accounts and administration, in log order (:data:`SETTINGS`).

    ``SET GLOBAL`` and ``SET SESSION`` are never logged; what is here reached the log because the
    server replicates it (accounts, roles, passwords, ``FLUSH``, ``OPTIMIZE`` …).
    """
    rows = lazy(statements, _NAMES)
    return finish(
        _in_order(rows.filter(nw.col("kind").is_in(_SETTING_KINDS))), SETTINGS, statements
    )


STATEMENT_DML = (*_STATEMENT, *chosen(STATEMENT, "error_code"))


def statement_dml(statements: IntoFrameT) -> IntoFrameT:
    """Changes logged as text, in log order: their rows are not in the log."""
    rows = lazy(statements, (*_NAMES, "error_code"))
    return finish(_in_order(rows.filter(nw.col("kind") == "dml")), STATEMENT_DML, statements)


def _in_order(rows: Lazy) -> Lazy:
    return rows.sort("seq") if "seq" in rows.collect_schema() else rows
