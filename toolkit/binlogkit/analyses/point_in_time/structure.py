"""The effects of an ALTER TABLE on existing rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from binlogkit.analyses.point_in_time.conversion import (
    holds_all,
    same,
)
from binlogkit.errors import SchemaError
from binlogkit.rows.ddl.alter import alter_table
from binlogkit.rows.ddl.charsets import UNKNOWN
from binlogkit.rows.ddl.columns import resolve
from binlogkit.rows.ddl.session import Session, SqlMode
from binlogkit.rows.ddl.tokens import read
from binlogkit.rows.schema import ColumnDefinition, ForeignKey, StatementTime, TableDefinition

Pair = tuple[ColumnDefinition | None, ColumnDefinition | None]


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
        facts = ("generated", "expression", "collation")
        alike = same(old, new) and all(getattr(old, f) == getattr(new, f) for f in facts)
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
    if not all(old and new and result.keeps(old, new) for old, new in result.changed.values()):
        result.lost = {c.name for c in new_columns.values() if c.generated is not None}
    return result


def _by_name(definition: TableDefinition | None) -> dict[str, ColumnDefinition]:
    return {} if definition is None else {c.name.lower(): c for c in definition.columns}


def _spelled(columns: Mapping[str, ColumnDefinition], name: str) -> str:
    """A column's name as its definition spells it."""
    column = columns.get(name.lower())
    return name if column is None else column.name
