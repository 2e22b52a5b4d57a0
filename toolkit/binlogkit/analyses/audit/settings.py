"""Statements that change how the server works or who may use it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import narwhals as nw

from binlogkit.analyses._declare import outputs
from binlogkit.analyses._frames import Lazy, finish, lazy

if TYPE_CHECKING:
    from narwhals.typing import IntoFrameT

__all__ = ["SETTINGS", "STATEMENT_DML", "settings", "statement_dml"]

_STATEMENT = (
    ("source", "string", "the server's UUID, or the name the user gave"),
    ("file", "string", "file"),
    ("pos", "int64", "position of the event"),
    ("timestamp", "int64", "statement's start, seconds since 1970 UTC"),
    ("gtid", "string", "GTID of its transaction, null when anonymous"),
    ("thread_id", "int64", "connection number"),
    ("db", "string", "default database"),
    ("kind", "string", "ddl, dml, set, account, admin …"),
    ("query", "string", "the statement"),
)
_NAMES = [name for name, _, _ in _STATEMENT]
_SETTING_KINDS = ["set", "account", "admin"]

SETTINGS = outputs(*_STATEMENT)


def settings(statements: IntoFrameT) -> IntoFrameT:
    """Statements on settings, accounts and administration, in log order (:data:`SETTINGS`).

    ``SET GLOBAL`` and ``SET SESSION`` are never logged; what is here reached the log because the
    server replicates it (accounts, roles, passwords, ``FLUSH``, ``OPTIMIZE`` …).
    """
    rows = lazy(statements, _NAMES)
    return finish(
        _in_order(rows.filter(nw.col("kind").is_in(_SETTING_KINDS))), SETTINGS, statements
    )


STATEMENT_DML = outputs(
    *_STATEMENT,
    ("error_code", "int64", "error that the statement ended with on its server, 0 without one"),
)


def statement_dml(statements: IntoFrameT) -> IntoFrameT:
    """Changes logged as text, in log order: their rows are not in the log."""
    rows = lazy(statements, (*_NAMES, "error_code"))
    return finish(_in_order(rows.filter(nw.col("kind") == "dml")), STATEMENT_DML, statements)


def _in_order(rows: Lazy) -> Lazy:
    return rows.sort("seq") if "seq" in rows.collect_schema() else rows
