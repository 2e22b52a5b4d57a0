"""Column definitions: a data type, its attributes, and what the table's defaults make of them.

Grammar: ``column_attribute`` in ``sql/sql_yacc.yy``; defaults: ``mysql_prepare_create_table`` and
``get_sql_field_charset`` in ``sql/sql_table.cc``; both of 5.7 and 8.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypedDict

from binlogkit._kernel.charsets import decode, encode
from binlogkit.rows.ddl.charsets import CHARSETS, Collated, canonical
from binlogkit.rows.ddl.keys import inline_reference, names_in
from binlogkit.rows.ddl.lexemes import Lexeme
from binlogkit.rows.ddl.session import Session
from binlogkit.rows.ddl.tokens import Reader
from binlogkit.rows.ddl.types import TEXT_CAPACITY, TypeSpec, blob_for, data_type, literal_bytes
from binlogkit.rows.schema import ColumnDefinition, ForeignKey

_MAX_VARCHAR = 65535  # bytes; longer ones become TEXT or BLOB outside of strict mode
_BINARY_TWIN = {
    "char": "binary",
    "varchar": "varbinary",
    "tinytext": "tinyblob",
    "text": "blob",
    "mediumtext": "mediumblob",
    "longtext": "longblob",
}


@dataclass(frozen=True, slots=True)
class ColumnSpec:
    """A column as a statement writes it.

    ``nullable``: None where nothing is said; ``default``: its tokens, None without DEFAULT.
    """

    name: str
    type: TypeSpec
    nullable: bool | None = None
    collation: str | None = None
    auto_increment: bool = False
    generated: str | None = None
    invisible: bool = False
    primary: bool = False
    unique: bool = False
    foreign: ForeignKey | None = None
    default: tuple[Lexeme, ...] | None = None
    on_update_now: bool = False
    reads: tuple[str, ...] = ()
    expression: tuple[str, ...] = ()


def column(reader: Reader) -> ColumnSpec:
    """Read a column: name, type and attributes."""
    spec = ColumnSpec(reader.column(), data_type(reader))
    if spec.type.serial:
        spec = replace(spec, nullable=False, auto_increment=True, unique=True)
    while (following := _attribute(reader, spec)) is not None:
        spec = following
    return spec


_FLAGS: dict[tuple[str, ...], dict[str, object]] = {
    ("NULL",): {"nullable": True},
    ("NOT", "NULL"): {"nullable": False},
    ("AUTO_INCREMENT",): {"auto_increment": True},
    ("SERIAL", "DEFAULT", "VALUE"): {"nullable": False, "auto_increment": True, "unique": True},
    ("PRIMARY", "KEY"): {"primary": True},
    ("PRIMARY",): {"primary": True},
    ("UNIQUE", "KEY"): {"unique": True},
    ("UNIQUE",): {"unique": True},
    ("KEY",): {"primary": True},
    ("VIRTUAL",): {"generated": "virtual"},
    ("STORED",): {"generated": "stored"},
    ("INVISIBLE",): {"invisible": True},
    ("VISIBLE",): {"invisible": False},
    ("NOT", "SECONDARY"): {},
    ("NOT", "ENFORCED"): {},
    ("ENFORCED",): {},
}
#: Attributes that take one value and change nothing that is tracked.
_VALUED = (
    "COMMENT", "COLUMN_FORMAT", "STORAGE", "SRID", "ENGINE_ATTRIBUTE", "SECONDARY_ENGINE_ATTRIBUTE",
)  # fmt: skip


def _attribute(reader: Reader, spec: ColumnSpec) -> ColumnSpec | None:
    """``spec`` with the next attribute, None where none follows."""
    word = reader.peek().word
    if word in (",", ")"):
        return None
    for flag, changes in _FLAGS.items():
        if word == flag[0] and reader.accept(*flag):
            return replace(spec, **changes)  # type: ignore[arg-type]
    if reader.accept("COLLATE"):
        return replace(spec, collation=reader.text_value())
    if reader.accept("DEFAULT"):
        return replace(spec, default=reader.moved_over(skip_default))
    if reader.accept("ON", "UPDATE"):
        skip_default(reader)
        return replace(spec, on_update_now=True)
    if reader.accept("GENERATED", "ALWAYS", "AS") or reader.accept("AS"):
        tokens = reader.moved_over(Reader.skip_parentheses)
        expression = tuple(map(_spelled, tokens))
        generated = spec.generated or "virtual"
        return replace(spec, generated=generated, reads=names_in(tokens), expression=expression)
    if reader.accept_any(*_VALUED):
        reader.accept("=")
        reader.take()
    elif reader.sees("CONSTRAINT") or reader.sees("CHECK"):  # [CONSTRAINT [name]] CHECK (expr)
        if reader.accept("CONSTRAINT") and not reader.sees("CHECK"):
            reader.identifier()
        reader.expect("CHECK")
        reader.skip_parentheses()
    elif reader.accept("REFERENCES"):
        foreign = inline_reference(reader, spec.name)
        # Inline REFERENCES are read and ignored before 9.0 (manual 9.0, "What Is New").
        return replace(spec, foreign=foreign if reader.session.version >= 90000 else None)
    else:
        return None
    return spec


def promoted(specs: Sequence[ColumnSpec], session: Session) -> list[ColumnSpec]:
    """The columns of a statement; without explicit_defaults_for_timestamp its first TIMESTAMP gets
    the current time as default and at updates, if nothing else is said of it."""
    found = list(specs)
    first = next((i for i, spec in enumerate(found) if spec.type.type == "timestamp"), None)
    if session.explicit_timestamp or first is None:
        return found
    spec = found[first]
    if not (spec.nullable or spec.default is not None or spec.on_update_now or spec.generated):
        now = Lexeme("word", "CURRENT_TIMESTAMP", "CURRENT_TIMESTAMP")
        found[first] = replace(spec, default=(now,), on_update_now=True)
    return found


def _spelled(token: Lexeme) -> str:
    """A token of an expression, with its kind; a name is the same in quotes and in any case."""
    named = token.kind in ("word", "name")
    return f"name {token.text.lower()}" if named else f"{token.kind} {token.text}"


def skip_default(reader: Reader) -> None:
    """Move over a default: a literal with its sign or introducer, a function, an expression."""
    if reader.sees("("):
        reader.skip_parentheses()
        return
    reader.accept_any("-", "+")
    token = reader.take()
    if token.word == ".":
        reader.take()
    elif token.kind == "word":
        if reader.sees("("):
            reader.skip_parentheses()
        elif reader.peek().kind in ("string", "hex", "bits"):
            token = reader.take()
    while token.kind == "string" and reader.peek().kind == "string":
        reader.take()


class Default(TypedDict):
    """A default as ColumnDefinition has it."""

    default: str | bytes | None
    computed: bool
    evaluated: bool
    default_now: bool


def constant(tokens: Sequence[Lexeme] | None) -> Default:
    """What the tokens of a default say; None without one."""
    tokens = tokens or ()
    kinds = {token.kind for token in tokens}
    first = tokens[0] if tokens else None
    found: str | bytes | None = None
    if first is None or (len(tokens) == 1 and first.word == "NULL"):
        return Default(default=None, computed=False, evaluated=False, default_now=False)
    if kinds == {"string"}:
        found = "".join(token.text for token in tokens)
    elif kinds in ({"hex"}, {"bits"}) and len(tokens) == 1:
        found = literal_bytes(first)
    elif len(tokens) == 1 and first.word in _BOOLEANS:
        found = _BOOLEANS[first.word]
    elif "number" in kinds and all(t.kind == "number" or t.word in _NUMERIC for t in tokens):
        found = "".join(token.text for token in tokens)
    now = first.word in _NOW
    evaluated = now or first.word == "("
    return Default(default=found, computed=found is None, evaluated=evaluated, default_now=now)


_BOOLEANS = {"TRUE": "1", "FALSE": "0"}
#: Functions that a default may be without parentheses around it (manual, "Data Type Defaults").
_NOW = ("CURRENT_TIMESTAMP", "NOW", "LOCALTIME", "LOCALTIMESTAMP")
_NUMERIC = ("+", "-", ".")


def resolve(
    spec: ColumnSpec, table: Collated, session: Session, force: Collated | None = None
) -> ColumnDefinition:
    """The column that the server makes of ``spec`` in a table with those defaults.

    ``force``: CONVERT TO's character set, which every character column gets.
    """
    kind = spec.type
    charset = _charset(spec, table, session)
    if force is not None and kind.text and charset.charset != "binary":
        charset = force
    name, length = kind.type, kind.length
    if kind.text and charset.charset == "binary":
        name = _BINARY_TWIN.get(name, name)
    if kind.text or kind.charset == "binary":
        name, length = _sized(name, length, charset, session)
    nullable = spec.nullable
    if nullable is None:
        nullable = session.explicit_timestamp or name != "timestamp"
    return ColumnDefinition(
        name=spec.name,
        type=name,
        length=length,
        scale=kind.scale,
        unsigned=kind.unsigned,
        zerofill=kind.zerofill,
        charset=charset.charset,
        collation=charset.collation,
        labels=tuple(_text_label(label, charset.charset) for label in kind.labels),
        nullable=nullable and not (spec.auto_increment or spec.primary),
        auto_increment=spec.auto_increment,
        generated=spec.generated,
        invisible=spec.invisible,
        on_update_now=spec.on_update_now,
        reads=spec.reads,
        expression=spec.expression,
        charset_of_database=charset.of_database,
        **constant(spec.default),
    )


def _charset(spec: ColumnSpec, table: Collated, session: Session) -> Collated:
    """Character set and collation of a column."""
    kind = spec.type
    if not kind.text:
        return Collated("binary", "binary") if kind.charset == "binary" else Collated()
    if spec.collation is not None:
        return session.collated(kind.charset, spec.collation)
    if kind.charset is None and not kind.binary_sort:
        return table
    charset = canonical(kind.charset) if kind.charset is not None else table.charset
    if charset is None:
        return Collated()
    if kind.binary_sort and charset != "binary":
        return Collated(charset, charset + "_bin")
    return session.collated(charset, None)


def _sized(
    name: str, length: int | None, charset: Collated, session: Session
) -> tuple[str, int | None]:
    """Type and length once the bytes per character are known."""
    # An unknown character set: that server's default.
    per_character = charset.max_bytes or (4 if session.version >= 80000 else 1)
    text = charset.charset != "binary"
    # TEXT(0) is no number for 5.7 and a TINYTEXT for 8.0 (seen on 5.7.22 and 8.0.31).
    sized = length is not None and (length > 0 or session.version >= 80000)
    if (sized and name in ("blob", "text")) or (
        name in ("varchar", "varbinary") and (length or 0) * per_character > _MAX_VARCHAR
    ):
        name = blob_for((length or 0) * per_character, text)
    return name, TEXT_CAPACITY.get(name, length)


def _text_label(label: str | bytes, charset: str | None) -> str:
    """A label as text; trailing spaces are not part of it (manual, "The ENUM Type").

    Characters that the column's character set has not are ``?`` in it (seen on 5.7.22, 8.0.31).
    """
    if isinstance(label, bytes):
        label = _read_label(label, charset)
    if charset == "binary":
        return label
    label = label.rstrip(" ")
    return _read_label(encode(charset, label), charset) if charset in CHARSETS else label


def _read_label(label: bytes, charset: str | None) -> str:
    try:
        return decode(charset or "utf8mb4", label)
    except ValueError:  # no such character set, or bytes that are no text in it
        return label.decode("utf-8", "backslashreplace")


def _kept_label(label: bytes, charset: str | None) -> str:
    """Stored bytes of a label in another character set; escaped where they are no text in it."""
    try:
        return decode(charset or "", label)
    except ValueError:
        return label.decode("ascii", "backslashreplace")


def convert(old: ColumnDefinition, target: Collated) -> ColumnDefinition:
    """A kept column after CONVERT TO CHARACTER SET; TEXT grows so that its characters still fit."""
    if (old.charset is None and old.type not in _TEXTUAL) or old.charset == "binary":
        return old
    kind, length = old.type, old.length
    before, width = CHARSETS.get(old.charset or ""), target.max_bytes or 1
    if target.charset == "binary":
        kind = _BINARY_TWIN.get(kind, kind)
    elif kind in TEXT_CAPACITY and kind != "longtext" and before is not None:
        kind = blob_for(TEXT_CAPACITY[kind] // before.max_bytes * width, True)
    elif kind == "varchar" and (length or 0) * width > _MAX_VARCHAR:
        kind = blob_for((length or 0) * width, True)
    length = TEXT_CAPACITY.get(kind, length)
    labels = old.labels
    if old.charset in CHARSETS:
        # Labels keep their bytes, whatever they mean then (seen on 5.7.22, 8.0.31 and 9.7.4).
        stored = (encode(old.charset, label) for label in labels)
        labels = tuple(_kept_label(label, target.charset) for label in stored)
    return replace(
        old, type=kind, length=length, charset=target.charset, collation=target.collation,
        labels=labels,
    )  # fmt: skip


_TEXTUAL = frozenset(_BINARY_TWIN) | {"enum", "set"}
