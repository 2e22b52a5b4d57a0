"""What a script defines: tables, views, triggers, routines and UDFs, for reading statements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from binlogkit.constants import TableId
from binlogkit.errors import SchemaError
from binlogkit.rows.ddl.catalog import Catalog
from binlogkit.rows.ddl.dump import HEADER, header_facts, script_statements
from binlogkit.rows.ddl.kind import StatementKind, statement_kind
from binlogkit.rows.ddl.lexemes import Lexeme
from binlogkit.rows.ddl.session import DEFAULT_MODE, Session, SqlMode, version_number
from binlogkit.rows.ddl.tokens import read

Tokens = tuple[Lexeme, ...]


@dataclass(frozen=True, slots=True)
class Trigger:
    """``time``: BEFORE or AFTER; ``event``: insert, update or delete."""

    name: TableId
    table: TableId
    time: str
    event: str
    body: Tokens


@dataclass(frozen=True, slots=True)
class Routine:
    """``kind``: function or procedure; ``arguments``: their names."""

    name: TableId
    kind: str
    body: Tokens
    arguments: tuple[str, ...] = ()


class Definitions:
    """What statements find on a server, by name; ``server``: its version."""

    def __init__(self, server: str | None = None) -> None:
        self.catalog = Catalog(server)
        self.version = version_number(server)
        self.views: dict[TableId, Tokens] = {}  # their SELECT
        self.triggers: dict[TableId, Trigger] = {}
        self.routines: dict[tuple[str, TableId], Routine] = {}
        self.udfs: set[str] = set()
        #: The texts of prepared statements, by name.
        self.prepared: dict[str, str] = {}
        #: How often a table or a prepared statement was defined anew, all tables were closed, and
        #: all programs were.
        self.changes: dict[TableId, int] = {}
        self.flushes = self.rereads = 0
        #: By table and column: the functions in a default that is an expression.
        self.defaults: dict[TableId, dict[str, tuple[str, ...]]] = {}

    def apply(self, sql: str, default_db: str | None, mode: SqlMode = DEFAULT_MODE) -> None:
        """Take what a statement defines; one that defines nothing changes nothing.

        SchemaError: a view, trigger or routine that is not understood.
        """
        if statement_kind(sql, int(mode), self.version) is StatementKind.DDL:
            for change in self.catalog.apply(
                sql, default_db=default_db, sql_mode=int(mode), explicit_defaults_for_timestamp=None
            ):
                self._changed((change.db, change.table))
        tokens = tokens_of(sql, self.version, mode)
        words = [token.word for token in tokens[:2]]
        self._count(tokens, default_db or "")
        if words[:1] == ["CREATE"]:
            try:
                self._create(tokens, default_db or "")
            except IndexError as exc:
                raise SchemaError("the statement ends too early") from exc
        elif words[:1] == ["DROP"]:
            self._drop(tokens, default_db or "")
        elif words[:1] == ["PREPARE"]:
            self._prepare(tokens)

    def _changed(self, name: TableId) -> None:
        self.changes[name] = self.changes.get(name, 0) + 1

    def _count(self, tokens: Tokens, db: str) -> None:
        """What makes a session read its routines' texts anew: any DDL of programs and views; those
        of prepared statements, too: FLUSH TABLES, up to 5.7 ANALYZE TABLE of a table."""
        words = [token.word for token in tokens[:16]]
        if words[:1] == ["FLUSH"] and words[1:2] in (["TABLES"], ["TABLE"]):
            self.flushes += 1
        elif words[:1] == ["ANALYZE"] and self.version < 80000 and "TABLE" in words[:3]:
            self._changed(qualified(tokens, words.index("TABLE") + 1, db)[0])
        elif words[:1] in (["CREATE"], ["ALTER"], ["DROP"]):
            what = next((word for word in words[1:] if word in (*_PROGRAMS, "TABLE")), "")
            self.rereads += what in _PROGRAMS

    def _prepare(self, tokens: Tokens) -> None:
        """SchemaError: the text stands in a variable."""
        name, text = tokens[1].text.lower(), tokens[3:]
        self.prepared.pop(name, None)
        if len(text) == 1 and text[0].kind == "string":
            self.prepared[name] = text[0].text
            self._changed(("", name))

    def _create(self, tokens: Tokens, db: str) -> None:
        for at, token in enumerate(tokens[1:16], 1):
            what = token.word
            if what in ("TABLE", "VIEW", "TRIGGER", "FUNCTION", "PROCEDURE"):
                at += 3 if _words(tokens, at + 1, "IF", "NOT", "EXISTS") else 0
                name, at = qualified(tokens, at + 1, db)
                _MAKERS[what](self, name, tokens, at, db)
                return

    def _table(self, name: TableId, tokens: Tokens, at: int, _: str) -> None:
        self.defaults[name] = {
            element[0].text: found
            for element in elements(tokens, at)
            if element and (found := _default_functions(element))
        }

    def _view(self, name: TableId, tokens: Tokens, at: int, _: str) -> None:
        self.views[name] = tokens[_index(tokens, at, "AS") + 1 :]

    def _trigger(self, name: TableId, tokens: Tokens, at: int, db: str) -> None:
        time, event = tokens[at].word, tokens[at + 1].word.lower()
        on = _index(tokens, at, "ON")
        table, at = qualified(tokens, on + 1, db)
        at += 3  # FOR EACH ROW
        if tokens[at].word in ("FOLLOWS", "PRECEDES"):
            at += 2
        self.triggers[name] = Trigger(name, table, time, event, tokens[at:])
        self._changed(table)

    def _function(self, name: TableId, tokens: Tokens, at: int, _: str) -> None:
        if any(token.word == "SONAME" for token in tokens[at : at + 6]):
            self.udfs.add(name[1].upper())
            return
        self._routine("function", name, tokens, at)

    def _procedure(self, name: TableId, tokens: Tokens, at: int, _: str) -> None:
        self._routine("procedure", name, tokens, at)

    def _routine(self, kind: str, name: TableId, tokens: Tokens, at: int) -> None:
        listed = [one for one in elements(tokens, at) if one]
        arguments = tuple(one[one[0].word in ("IN", "OUT", "INOUT")].text for one in listed)
        at = _closing(tokens, at) + 1
        while at < len(tokens) and tokens[at].word not in _BODIES:
            at += 1
        made = Routine(name, kind, tokens[at:], arguments)
        self.routines[kind, (name[0], name[1].lower())] = made

    def _drop(self, tokens: Tokens, db: str) -> None:
        if len(tokens) < 3:
            return
        at = 2 + (2 if _words(tokens, 2, "IF", "EXISTS") else 0)
        name, _ = qualified(tokens, at, db)
        what = tokens[1].word
        if what == "VIEW":
            self.views.pop(name, None)
        elif what == "TRIGGER":
            if (trigger := self.triggers.pop(name, None)) is not None:
                self._changed(trigger.table)
        elif what in ("FUNCTION", "PROCEDURE"):
            self.routines.pop((what.lower(), (name[0], name[1].lower())), None)
            self.udfs.discard(name[1].upper())


_PROGRAMS = ("VIEW", "TRIGGER", "FUNCTION", "PROCEDURE")
_MAKERS = {
    "TABLE": Definitions._table,
    "VIEW": Definitions._view,
    "TRIGGER": Definitions._trigger,
    "FUNCTION": Definitions._function,
    "PROCEDURE": Definitions._procedure,
}
#: Words that begin a routine's body, after its characteristics.
_BODIES = frozenset(
    (
        "BEGIN", "RETURN", "SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "SET", "CALL", "IF",
        "WHILE", "LOOP", "REPEAT", "CASE", "WITH", "TRUNCATE", "CREATE", "DROP", "DO",
    )
)  # fmt: skip


def read_definitions(sql_text: str, server: str | None = None) -> Definitions:
    """What a script defines: mysqldump's output, or plain statements with USE and DELIMITER.

    ``server``: its version, else mysqldump's header's. SchemaError: a table without a database, a
    view or routine that is not understood.
    """
    written, default_db = header_facts(sql_text[:HEADER])
    found = Definitions(server or written)
    for kind, statement, mode, db in script_statements(sql_text, found.version, default_db):
        if kind is not StatementKind.DML:
            found.apply(statement, db, mode)
    return found


def tokens_of(sql: str, version: int, mode: SqlMode = DEFAULT_MODE) -> Tokens:
    """The tokens of a statement. SchemaError: it cannot be cut into tokens."""
    reader = read(sql, Session(version, mode))
    found = []
    while not reader.done:
        found.append(reader.take())
    return tuple(found)


def qualified(tokens: Sequence[Lexeme], at: int, db: str) -> tuple[TableId, int]:
    """The name at a place, and the place after it. SchemaError: there is none."""
    if at >= len(tokens) or tokens[at].kind not in ("word", "name"):
        raise SchemaError("a name expected")
    if at + 2 < len(tokens) and tokens[at + 1].word == ".":
        return (tokens[at].text, tokens[at + 2].text), at + 3
    return (db, tokens[at].text), at + 1


def elements(tokens: Sequence[Lexeme], at: int) -> Iterator[Tokens]:
    """What stands between the commas of the parentheses that open at a place."""
    if at >= len(tokens) or tokens[at].word != "(":
        return
    depth, begun = 0, at + 1
    for place in range(at, len(tokens)):
        word = tokens[place].word
        depth += (word == "(") - (word == ")")
        if depth == 0 or (depth == 1 and word == ","):
            yield tuple(tokens[begun:place])
            begun = place + 1
        if depth == 0:
            return


def _closing(tokens: Tokens, at: int) -> int:
    depth = 0
    for place in range(at, len(tokens)):
        depth += (tokens[place].word == "(") - (tokens[place].word == ")")
        if depth == 0:
            return place
    raise SchemaError("a parenthesis is never closed")


def _index(tokens: Tokens, at: int, word: str) -> int:
    for place in range(at, len(tokens)):
        if tokens[place].word == word:
            return place
    raise SchemaError(f"{word} expected")


def _words(tokens: Tokens, at: int, *words: str) -> bool:
    return [token.word for token in tokens[at : at + len(words)]] == list(words)


def _default_functions(element: Tokens) -> tuple[str, ...]:
    """The functions of a column's DEFAULT (…)."""
    for at, token in enumerate(element[:-1]):
        if token.word == "DEFAULT" and element[at + 1].word == "(":
            inner = element[at + 1 : _closing(element, at + 1)]
            return tuple(
                one.word
                for one, after in pairwise(inner)
                if one.kind == "word" and after.word == "("
            )
    return ()
