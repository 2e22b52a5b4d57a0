"""What sort of statement a text is, from its first words."""

from __future__ import annotations

from enum import StrEnum

from binlogkit.rows.ddl.keywords import words
from binlogkit.rows.ddl.scan import leading_words
from binlogkit.rows.ddl.session import ASSUMED_VERSION, SqlMode


class StatementKind(StrEnum):
    """Sorts of statements, as a reader of a log needs them."""

    DDL = "ddl"
    DML = "dml"
    BEGIN = "begin"
    COMMIT = "commit"
    ROLLBACK = "rollback"
    SAVEPOINT = "savepoint"
    ROLLBACK_TO = "rollback_to"
    RELEASE_SAVEPOINT = "release_savepoint"
    XA_START = "xa_start"
    XA_END = "xa_end"
    XA_PREPARE = "xa_prepare"
    XA_COMMIT = "xa_commit"
    XA_ROLLBACK = "xa_rollback"
    SET = "set"
    USE = "use"
    ACCOUNT = "account"
    ADMIN = "admin"
    OTHER = "other"


_K = StatementKind

_FIRST = {
    **dict.fromkeys(words("ALTER CREATE DROP RENAME TRUNCATE IMPORT"), _K.DDL),
    **dict.fromkeys(
        words("INSERT REPLACE UPDATE DELETE LOAD CALL DO SELECT WITH ( HANDLER VALUES TABLE"),
        _K.DML,
    ),
    **dict.fromkeys(("GRANT", "REVOKE"), _K.ACCOUNT),
    **dict.fromkeys(
        words(
            "ANALYZE OPTIMIZE REPAIR CHECK CHECKSUM FLUSH INSTALL UNINSTALL CACHE RESET KILL "
            "PURGE CHANGE START STOP CLONE RESTART SHUTDOWN"
        ),
        _K.ADMIN,
    ),
    **{
        kind.name: kind for kind in (_K.BEGIN, _K.COMMIT, _K.ROLLBACK, _K.SAVEPOINT, _K.SET, _K.USE)
    },
}

_XA = {kind.name.removeprefix("XA_"): kind for kind in _K if kind.name.startswith("XA_")}
_XA["BEGIN"] = _K.XA_START

_PAIRS = {
    ("START", "TRANSACTION"): _K.BEGIN,
    ("RELEASE", "SAVEPOINT"): _K.RELEASE_SAVEPOINT,
    ("ROLLBACK", "TO"): _K.ROLLBACK_TO,
    ("SET", "PASSWORD"): _K.ACCOUNT,
    ("SET", "DEFAULT"): _K.ACCOUNT,  # SET DEFAULT ROLE, 8.0
    ("LOAD", "INDEX"): _K.ADMIN,
    ("LOAD", "DATA"): _K.DML,
    **{
        (verb, thing): _K.ACCOUNT
        for verb in ("CREATE", "ALTER", "DROP", "RENAME")
        for thing in ("USER", "ROLE")
    },
    **{
        (verb, thing): _K.ADMIN
        for verb in ("CREATE", "ALTER", "DROP")
        for thing in ("RESOURCE", "INSTANCE", "LOGFILE", "TABLESPACE", "SERVER", "UNDO")
    },
}


def statement_kind(
    sql: str, sql_mode: int | None = None, version: int = ASSUMED_VERSION
) -> StatementKind:
    """The sort of statement that ``sql`` is, by its first words after comments.

    Nothing after them is read, so a text that no server would take has a kind too. ``sql_mode``:
    the bit mask of the Query event; ``version``: MYSQL_VERSION_ID, for versioned comments.
    """
    words = leading_words(sql, 4, SqlMode(sql_mode or 0), version)
    if not words:
        return StatementKind.OTHER
    first, second = words[0], (words[1] if len(words) > 1 else "")
    if first == "XA":
        return _XA.get(second, StatementKind.OTHER)
    if first == "ROLLBACK" and words[1:3] == ["WORK", "TO"]:
        return StatementKind.ROLLBACK_TO
    return _PAIRS.get((first, second)) or _FIRST.get(first, StatementKind.OTHER)
