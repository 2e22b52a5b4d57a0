"""The kind of a statement, from its first words."""

from __future__ import annotations

import json
import re
from enum import StrEnum
from pathlib import Path

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


_DATA = json.loads(Path(__file__).with_name("kinds.json").read_text("utf-8"))
_BY_WORDS = {words: StatementKind(kind) for kind, known in _DATA.items() for words in known}
_MOST_WORDS = 3  # that decide a kind
_FIRST = re.compile(r"[ \t\r\n]*([A-Za-z]+)(?=[ \t\r\n(`])")
#: Those that decide it alone.
_ALONE = {
    word: kind
    for word, kind in _BY_WORDS.items()
    if " " not in word and not any(other.startswith(f"{word} ") for other in _BY_WORDS)
}


def statement_kind(
    sql: str, sql_mode: int | None = None, version: int = ASSUMED_VERSION
) -> StatementKind:
    """The kind of the statement ``sql``, by its first words after comments.

    Nothing after them is read, so a text that no server would take has a kind too. ``sql_mode``:
    the bit mask of the Query event; ``version``: MYSQL_VERSION_ID, for versioned comments.
    """
    first = _FIRST.match(sql)
    if first is not None and (alone := _ALONE.get(first[1].upper())) is not None:
        return alone
    words = leading_words(sql, _MOST_WORDS, SqlMode(sql_mode or 0), version)
    known = (_BY_WORDS.get(" ".join(words[:count])) for count in range(len(words), 0, -1))
    return next(filter(None, known), StatementKind.OTHER)
