"""The effects of an ALTER TABLE on existing rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from binlogkit.analyses.point_in_time.conversion import BYTES, INTEGERS, TEXTS, holds_all, same
from binlogkit.errors import SchemaError
from binlogkit.rows.ddl.alter import alter_table
from binlogkit.rows.ddl.charsets import UNKNOWN
from binlogkit.rows.ddl.columns import resolve
from binlogkit.rows.ddl.session import Session, SqlMode
from binlogkit.rows.ddl.tokens import read
from binlogkit.rows.schema import ColumnDefinition, ForeignKey, StatementTime, TableDefinition

Pair = tuple[ColumnDefinition | None, ColumnDefinition | None]

_OF_TODAY = ("timestamp", "time")  # read in a time zone, or as of a day
_FACTS = ("generated", "expression", "collation", "zerofill")
#: What gives the same whatever the session's settings are, as tokens of an expression. Not among
#: them: ``/`` (div_precision_increment), and what reads dates (sql_mode), names of days
#: (lc_time_names) or a time zone.
_SIGNS = frozenset("(),.+-*%&|^~!<>=")
_FUNCTIONS = frozenset((
    "_ascii", "_binary", "_latin1", "_utf8", "_utf8mb3", "_utf8mb4", "abs", "and", "between",
    "case", "ceil", "ceiling", "coalesce", "concat", "crc32", "div", "else", "end", "false",
    "floor", "greatest", "hex", "if", "ifnull", "in", "is", "json_array", "json_extract",
    "json_length", "json_object", "json_unquote", "lcase", "least", "left", "length", "lower",
    "ltrim", "md5", "mod", "not", "null", "nullif", "or", "reverse", "right", "round", "rtrim",
    "sha1", "sha2", "substr", "substring", "then", "trim", "true", "ucase", "unhex", "upper",
    "when", "xor",
))  # fmt: skip


@dataclass(slots=True)
class Alteration:
    """The effects on the rows' columns, by the names that images use.

    ``renamed``: old name -> new name; ``dropped``; ``changed``: columns, by their new names, that
    are redefined, each with its definition before and after, None if not known; ``lost``: columns,
    by their new names, that are recomputed; ``added``: by name;
    ``mode``: the session's sql_mode, None if not known; ``moment``: when it was executed;
    ``unchecked``: whether with foreign_key_checks off; ``foreign``: the foreign keys that were
    added; ``unforeign``: the names of dropped ones, in small letters; ``unkeyed``: whether the
    primary key is dropped.
    """

    renamed: dict[str, str] = field(default_factory=dict)
    dropped: set[str] = field(default_factory=set)
    changed: dict[str, Pair] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)
    added: dict[str, ColumnDefinition] = field(default_factory=dict)
    mode: SqlMode | None = None
    moment: StatementTime = field(default_factory=StatementTime)
    unchecked: bool = False
    foreign: Sequence[ForeignKey] = ()
    unforeign: frozenset[str] = frozenset()
    unkeyed: bool = False

    @property
    def harmless(self) -> bool:
        """Whether every column stays as it is."""
        if self.renamed or self.dropped or self.added or self.converted:
            return False
        scales = [(c.scale for c in pair if c is not None) for pair in self.changed.values()]
        return all(len(set(scale)) == 1 for scale in scales)

    @property
    def strict(self) -> bool:
        """Whether the session is known to refuse values that do not fit."""
        return bool((self.mode or 0) & (SqlMode.STRICT_TRANS_TABLES | SqlMode.STRICT_ALL_TABLES))

    def keeps(self, old: ColumnDefinition, new: ColumnDefinition) -> bool:
        """Whether all that is computed from a redefined column stays as it is."""
        alike = _read_alike(old, new) and _computed_alike(old, new)
        return alike and (self.strict or new.nullable >= old.nullable)

    @property
    def converted(self) -> set[str]:
        """The columns, by their new names, in which some values may read differently since."""
        kept = {
            name
            for name, (old, new) in self.changed.items()
            if old and new and holds_all(old, new) and (self.strict or new.nullable >= old.nullable)
        }
        return self.lost | (self.changed.keys() - kept)


def alteration(
    statement: str,
    before: TableDefinition | None,
    after: TableDefinition | None,
    sql_mode: int | None = None,
) -> Alteration | None:
    """The effect of ``statement`` between two definitions of its table; None if it is not clear.

    A definition is None if the log does not hold it; ``sql_mode``: the session's.
    """
    session = Session(mode=SqlMode(sql_mode or 0), explicit_timestamp=False)
    try:
        reader = read(statement, session)
        if reader.accept("DROP", "INDEX"):  # no row changes
            return Alteration(unkeyed=reader.identifier().lower() == "primary")
        if reader.peek().word in ("CREATE", "DROP"):
            return Alteration()
        parsed = alter_table(reader)
    except SchemaError:
        return None
    result = Alteration(mode=None if sql_mode is None else session.mode)
    result.unkeyed = "primary" in parsed.dropped_keys
    result.foreign, result.unforeign = parsed.added.foreign, frozenset(parsed.dropped_foreign)
    old_columns, new_columns = _by_name(before), _by_name(after)
    pairs = dict(parsed.renamed) | {c.old: c.spec.name for c in parsed.changes if c.old is not None}
    renamed = {_spelled(old_columns, old): new for old, new in pairs.items()}
    result.renamed = {old: new for old, new in renamed.items() if old != new}
    result.dropped = {_spelled(old_columns, name) for name in parsed.dropped.values()}
    came_from = {new.lower(): old.lower() for old, new in result.renamed.items()}
    for change in parsed.changes:
        name = change.spec.name
        new = new_columns.get(name.lower())
        if change.old is None:
            result.added[name] = new or resolve(change.spec, UNKNOWN, session)
            continue
        result.changed[name] = old_columns.get(change.old.lower()), new
    for key, new in new_columns.items():
        old = old_columns.get(came_from.get(key, key))
        if old is not None and new.name not in result.added and replace(old, name=new.name) != new:
            result.changed.setdefault(new.name, (old, new))
    result.lost = _recomputed(result, new_columns.values())
    return result


def _recomputed(done: Alteration, columns: Collection[ColumnDefinition]) -> set[str]:
    """The generated columns that may have other values since, if the server computed them anew."""
    moved = {
        name.lower()
        for name, (old, new) in done.changed.items()
        if not (old and new and done.keeps(old, new))
    }
    if (done.mode or 0) & SqlMode.PAD_CHAR_TO_FULL_LENGTH:
        were = (old for old, _ in done.changed.values() if old is not None)
        moved.update(c.name.lower() for c in (*columns, *were) if c.type == "char")
    if not moved:
        return set()
    moved.update(name.lower() for name in (*done.renamed, *done.renamed.values(), *done.added))
    moved.update(c.name.lower() for c in columns if c.type in _OF_TODAY)
    found = set[str]()
    for column in columns:  # each reads generated ones before it only
        if column.generated is not None:
            old, new = done.changed.get(column.name, (column, column))
            if not (
                old is not None
                and new is not None
                and same(old, new)
                and _computed_alike(old, new)
                and column.written_with(_SIGNS, _FUNCTIONS)
                and moved.isdisjoint(map(str.lower, column.reads))
            ):
                found.add(column.name)
                moved.add(column.name.lower())
    return found


def _read_alike(old: ColumnDefinition, new: ColumnDefinition) -> bool:
    """Whether what is computed from a value is the same for both, as far as types say."""
    kinds = (INTEGERS, TEXTS, BYTES)
    wider = any(old.type in kind and new.type in kind for kind in kinds) and holds_all(old, new)
    alike = old.charset == new.charset and old.unsigned == new.unsigned
    return same(old, new) or (wider and alike)


def _computed_alike(old: ColumnDefinition, new: ColumnDefinition) -> bool:
    """Whether both are computed alike, and read alike by what is computed from them."""
    return all(getattr(old, fact) == getattr(new, fact) for fact in _FACTS)


def _by_name(definition: TableDefinition | None) -> dict[str, ColumnDefinition]:
    return {} if definition is None else {c.name.lower(): c for c in definition.columns}


def _spelled(columns: Mapping[str, ColumnDefinition], name: str) -> str:
    """A column's name as its definition spells it."""
    column = columns.get(name.lower())
    return name if column is None else column.name
