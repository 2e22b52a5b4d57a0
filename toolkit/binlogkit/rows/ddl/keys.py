"""Keys and foreign keys: reading them, naming them, and the order the server keeps them in.

Order: ``sort_keys`` in ``sql/sql_table.cc``; names: ``make_unique_key_name`` there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from binlogkit.rows.ddl.keywords import words
from binlogkit.rows.ddl.lexemes import Lexeme
from binlogkit.rows.ddl.tokens import Reader
from binlogkit.rows.schema import ColumnDefinition, ForeignKey

#: The parent's change is refused; InnoDB takes RESTRICT and SET DEFAULT as that, and where nothing
#: is said (manual, "FOREIGN KEY Constraints").
NO_ACTION = "NO ACTION"
#: The reserved words that begin a key, a foreign key or a check where a column could stand.
KEY_WORDS = words("PRIMARY UNIQUE INDEX KEY FULLTEXT SPATIAL CONSTRAINT FOREIGN CHECK")


@dataclass(frozen=True, slots=True)
class KeyPart:
    """One part of a key: a column or its first ``length`` characters; None for an expression, which
    ``reads`` columns."""

    column: str | None
    length: int | None = None
    reads: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Key:
    """``kind``: primary, unique, index, fulltext or spatial; ``name``: None before it has one."""

    kind: str
    parts: tuple[KeyPart, ...]
    name: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The column names; without those of expressions."""
        return tuple(part.column for part in self.parts if part.column is not None)

    @property
    def unique(self) -> bool:
        """Whether it is a primary or unique key."""
        return self.kind in ("primary", "unique")

    @property
    def partial(self) -> bool:
        """Whether it holds only the beginning of a column."""
        return any(part.length is not None for part in self.parts)

    @property
    def functional(self) -> bool:
        """Whether a part is an expression (8.0.13)."""
        return any(part.column is None for part in self.parts)


def key_or_foreign(reader: Reader) -> Key | ForeignKey | None:
    """Read a key, foreign key or check where one of KEY_WORDS stands; None for a check."""
    symbol = None
    if reader.accept("CONSTRAINT") and not reader.sees_any(KEY_WORDS):
        symbol = reader.identifier()
    if reader.accept("CHECK"):
        reader.skip_parentheses()
        reader.accept("NOT")
        reader.accept("ENFORCED")
        return None
    if reader.accept("FOREIGN", "KEY"):
        return _foreign(reader, symbol)
    if reader.accept("PRIMARY", "KEY"):
        _key_name(reader)
        return Key("primary", _parts(reader), "PRIMARY")
    if reader.accept("UNIQUE"):
        reader.accept_any("INDEX", "KEY")
        name = _key_name(reader)
        return Key("unique", _parts(reader), name or symbol)
    kind = reader.accept_any("FULLTEXT", "SPATIAL")
    if reader.accept_any("INDEX", "KEY") is None and kind is None:
        reader.fail("a key expected")
    name = _key_name(reader)
    return Key((kind or "index").lower(), _parts(reader), name)


def index_key(reader: Reader, kind: str) -> tuple[tuple[str | None, str], Key]:
    """``CREATE … INDEX`` after the word INDEX: the table's name and the key."""
    name = reader.identifier()
    _using(reader)
    reader.expect("ON")
    table = reader.qualified()
    return table, Key(kind, _parts(reader), name)


def _key_name(reader: Reader) -> str | None:
    name = None
    if not reader.sees("(") and not _sees_algorithm(reader):
        name = reader.identifier()
    _using(reader)
    return name


def _using(reader: Reader) -> None:
    if _sees_algorithm(reader):
        reader.take()
        reader.take()


def _sees_algorithm(reader: Reader) -> bool:
    """USING BTREE, or TYPE BTREE up to 5.7; TYPE can also be a name."""
    algorithm = reader.peek(1).word in ("BTREE", "HASH", "RTREE")
    return reader.sees("USING") or (reader.sees("TYPE") and algorithm)


def _parts(reader: Reader) -> tuple[KeyPart, ...]:
    """The parenthesised parts, and the key's options after them."""
    parts = tuple(reader.listed(_part))
    reader.skip_until(",", ")", "PARTITION")
    return parts


def _part(reader: Reader) -> KeyPart:
    if reader.sees("("):
        part = KeyPart(None, reads=names_in(reader.moved_over(Reader.skip_parentheses)))
    else:
        column, length = reader.identifier(), None
        if reader.accept("("):
            length = reader.number()
            reader.expect(")")
        part = KeyPart(column, length)
    reader.accept_any("ASC", "DESC")
    return part


def names_in(expression: Sequence[Lexeme]) -> tuple[str, ...]:
    """What may be a column in an expression: names that no parenthesis follows."""
    following = [*expression[1:], None]
    pairs = zip(expression, following, strict=True)
    found = (
        token.text
        for token, after in pairs
        if token.kind == "name" or (token.kind == "word" and (after is None or after.word != "("))
    )
    return tuple(dict.fromkeys(found))


def _foreign(reader: Reader, symbol: str | None) -> ForeignKey:
    index = None if reader.sees("(") else reader.identifier()
    columns = tuple(part.column for part in reader.listed(_part) if part.column is not None)
    reader.expect("REFERENCES")
    return _reference(reader, columns, symbol, index)


def inline_reference(reader: Reader, column: str) -> ForeignKey:
    """A column's own REFERENCES, after that word."""
    return _reference(reader, (column,))


def _reference(
    reader: Reader, columns: tuple[str, ...], name: str | None = None, index: str | None = None
) -> ForeignKey:
    """What follows REFERENCES: the parent, its columns, and what its changes do to the child."""
    db, table = reader.qualified()
    referenced: tuple[str, ...] = ()
    if reader.sees("("):
        parts = reader.listed(_part)
        referenced = tuple(part.column for part in parts if part.column is not None)
    actions = {"DELETE": NO_ACTION, "UPDATE": NO_ACTION}
    while True:
        if reader.accept("MATCH"):
            reader.identifier()
        elif reader.accept("ON", "DELETE"):
            actions["DELETE"] = _action(reader)
        elif reader.accept("ON", "UPDATE"):
            actions["UPDATE"] = _action(reader)
        else:
            delete, update = actions["DELETE"], actions["UPDATE"]
            return ForeignKey(columns, db, table, referenced, delete, update, name, index)


def _action(reader: Reader) -> str:
    for action in ("CASCADE", "SET NULL"):
        if reader.accept(*action.split()):
            return action
    if not (reader.accept("NO", "ACTION") or reader.accept("SET", "DEFAULT")):
        reader.expect("RESTRICT")
    return NO_ACTION


def name_keys(keys: Iterable[Key]) -> list[Key]:
    """``keys`` in order, each with a name: its first column's, with a number where it is taken."""
    named: list[Key] = []
    taken: set[str] = set()
    for key in keys:
        name = key.name
        if name is None:
            first = key.parts[0].column if key.parts else None
            name = _free_name(first or "functional_index", taken)
        taken.add(name.lower())
        named.append(Key(key.kind, key.parts, name))
    return named


def _free_name(base: str, taken: set[str]) -> str:
    """``base``, else ``base_2`` … ``base_99``; PRIMARY is no name for another key."""
    if base.lower() not in taken and base.lower() != "primary":
        return base
    for number in range(2, 100):
        if f"{base}_{number}".lower() not in taken:
            return f"{base}_{number}"
    return base


def sort_keys(keys: Iterable[Key], columns: Mapping[str, ColumnDefinition]) -> tuple[Key, ...]:
    """``keys`` in the order the server keeps them; ``columns`` by lower-case name.

    Unique before others; among unique ones those without nullable columns first, then the primary
    key, then those without partial columns; FULLTEXT last; else as given.
    """

    def rank(key: Key) -> tuple[bool, bool, bool, bool, bool]:
        known = [columns[c.lower()] for c in key.columns if c.lower() in columns]
        nullable = any(column.nullable for column in known)
        return (
            not key.unique,
            key.unique and nullable,
            key.unique and key.kind != "primary",
            key.unique and key.partial,
            key.kind == "fulltext",
        )

    return tuple(sorted(keys, key=rank))
