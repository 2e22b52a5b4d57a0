"""Foreign keys, triggers and generated columns in a script.

Those that the log shows: the server checks them, or the script itself compares references.
Up to 9.5 InnoDB's cascades are not logged, and a script's statements cascade as those of the log
did. From 9.6 on the server logs cascaded changes: a script that undoes these, or makes them again,
would find them done already, or in an order that checks refuse. So it turns foreign_key_checks off
and compares, for each foreign key, the dangling references before and after (9.7.4; docs/traps.md,
"Cascades"). Such a server also refuses any UPDATE of a row that refers to a table that is gone.

What the log does not show: the server is asked when the script runs.
A log that begins after its tables were created, or a table of another database, may hide foreign
keys. Through one of them a DELETE, or an UPDATE of a referenced column, would delete or change rows
that nothing counts. The server lists those of tables on which the account has some privilege
(manual, "The INFORMATION_SCHEMA KEY_COLUMN_USAGE Table"; 5.7.22, 8.0.31, 9.7.4).

Triggers no session can switch off. What they write in the statement's row is read back; what they
write elsewhere the script cannot know. The log shows neither all of them nor those that exist when
the script is run; ``information_schema.TRIGGERS`` lists those for whose tables the account has the
privilege TRIGGER (manual, "The INFORMATION_SCHEMA TRIGGERS Table").

A statement that writes a generated column is an error (3105). Table maps do not say which columns
are generated, so the server is asked about tables that only they define, before the statements.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from binlogkit.constants import TableId
from binlogkit.reports._literals import among, chosen_lines, prepared_lines, quoted

if TYPE_CHECKING:
    from binlogkit.analyses.references import Reference

#: Database, table, insert, update or delete, and a column that an update sets, else nothing.
Acted = tuple[str, str, str, str]
#: In place of insert, update or delete: the server checks no foreign key for some statement; some
#: statement writes the column, be it with its own value.
UNCHECKED, WRITES = "unchecked", "writes"
_EVENT = ("EVENT_OBJECT_SCHEMA", "EVENT_OBJECT_TABLE", "EVENT_MANIPULATION")
_NAMES = ("TABLE_SCHEMA", "TABLE_NAME", "COLUMN_NAME")
_COLUMN, _REFERENCED = (tuple(f"k.{of}{name}" for name in _NAMES) for of in ("", "REFERENCED_"))
_RULES = ("DELETE_RULE", "UPDATE_RULE")
_ACTS = "('CASCADE', 'SET NULL')"
_SERVER = """\
-- foreign_key_checks: a child without its parent is an error; what else cascades is looked for
SET SESSION foreign_key_checks = 1;
"""
_SCRIPT = """\
-- foreign_key_checks: what foreign keys did is in the log; references are compared in the end
SET SESSION foreign_key_checks = 0;
-- transaction_isolation: the comparison in the end sees what others have committed
SET SESSION transaction_isolation = 'READ-COMMITTED';
"""
_ASKED = "-- Generated columns that these statements would write: the log does not name them\n"
#: Before the first statement: a verdict, and the server's error 3105 when a statement that writes
#: such a column is prepared; neither if there is none.
_STOPPED = """\
SET @bk_sql = IF(@bk_generated IS NULL, 'DO 0', 'SELECT CONCAT(''not run: a statement would write \
generated columns: '', @bk_generated, ''; make the script with the definitions of their tables'') \
AS verdict');
PREPARE bk_statement FROM @bk_sql;
EXECUTE bk_statement;
SET @bk_sql = IFNULL(@bk_write, 'DO 0');
PREPARE bk_statement FROM @bk_sql;
DEALLOCATE PREPARE bk_statement;
"""
_SAVED = "SET @bk_isolation = @@SESSION.transaction_isolation;\n"
_RESTORED = "SET SESSION transaction_isolation = @bk_isolation;\n"


def reference_lines(references: Iterable[Reference] | None) -> dict[str, str]:
    """The lines of a script that concern foreign keys: settings that are ``saved``, who ``checks``,
    reads ``before`` and ``after`` the statements, settings that are ``restored``.

    ``references``: those that the script must check; None: the server checks.
    """
    if references is None:
        return {"saved": "", "checks": _SERVER, "before": "", "after": "", "restored": ""}
    before, after = "", ""
    for number, key in enumerate(references, 1):
        counted, all_dangle = _orphans(key)
        same = f"<=> @bk_orphans_{number})"
        before += _if_there(
            key, *(f"SET @bk_orphans_{number} = {orphans}" for orphans in (counted, all_dangle))
        )
        after += _if_there(
            key,
            *(
                f"SET @bk_orphans = @bk_orphans + 1 - ({orphans} {same}"
                for orphans in (counted, all_dangle)
            ),
        )
    return {
        "saved": _SAVED, "checks": _SCRIPT, "before": before, "after": after,
        "restored": _RESTORED,
    }  # fmt: skip


def _if_there(key: Reference, there: str, gone: str) -> str:
    """The lines that run one statement if a key's parent has its columns, else the other: a table
    may refer to one that never was, or was renamed before the log."""
    if key.parent == key.child:
        return prepared_lines(there)
    names = [(*key.parent, column) for column in key.referenced]
    return chosen_lines(
        f"(SELECT COUNT(*) FROM information_schema.COLUMNS WHERE {among(_NAMES, names)}) = "
        f"{len(names)}",
        there,
        gone,
    )


def _orphans(key: Reference) -> tuple[str, str]:
    """The number of dangling references, and a checksum of them; the same without the parent."""
    child, parent = (".".join(map(quoted, name)) for name in (key.child, key.parent))
    columns = [f"bk_child.{quoted(column)}" for column in key.columns]
    pairs = [
        f"bk_parent.{quoted(referenced)} = {column}"
        for column, referenced in zip(columns, key.referenced, strict=True)
    ]
    values = ", ".join(f"HEX({column})" for column in columns)
    there = " AND ".join(f"{column} IS NOT NULL" for column in columns)
    every = (
        f"(SELECT CONCAT(COUNT(*), ' ', BIT_XOR(CRC32(CONCAT_WS('/', {values})))) FROM {child} "
        f"AS bk_child WHERE {there}"
    )
    found = f"EXISTS (SELECT 1 FROM {parent} AS bk_parent WHERE {' AND '.join(pairs)})"
    return f"{every} AND NOT {found})", f"{every})"


def foreign_key_lines(acted: Collection[Acted], known: Iterable[Reference], *, minded: bool) -> str:
    """The lines that look for foreign keys by which statements would change other rows.

    ``acted``: what is done to which tables; ``known``: the keys that the script handles;
    ``minded``: the server checks the others, so that only cascading ones count; else all count.
    """
    deleted = sorted({(db, table) for db, table, kind, _ in acted if kind == "delete"})
    updated = sorted({one[:2] + one[3:] for one in acted if one[2] == "update" and one[3]})
    written = sorted({(db, table) for db, table, kind, _ in acted if kind in ("insert", "update")})
    unchecked = sorted({(db, table) for db, table, kind, _ in acted if kind == UNCHECKED})
    acts = {rule: f" AND c.{rule} IN {_ACTS}" if minded else "" for rule in _RULES}
    found = [
        *([among(_REFERENCED[:2], deleted) + acts["DELETE_RULE"]] if deleted else []),
        *([among(_REFERENCED, updated) + acts["UPDATE_RULE"]] if updated else []),
        *([among(_COLUMN[:2], written)] if written and not minded else []),
        *(among(names[:2], unchecked) for names in (_COLUMN, _REFERENCED) if unchecked),
    ]
    if not found:
        return ""
    shown = sorted(
        (*key.child, column, *key.parent, referenced, key.on_delete, key.on_update)
        for key in known
        for column, referenced in zip(key.columns, key.referenced, strict=True)
    )
    rules = [f"IF(c.{rule} IN {_ACTS}, c.{rule}, 'NO ACTION')" for rule in _RULES]
    unknown = f" AND NOT {among((*_COLUMN, *_REFERENCED, *rules), shown)}" if shown else ""
    sql = (
        "SET @bk_keys = (SELECT GROUP_CONCAT(DISTINCT CONCAT_WS('.', k.TABLE_SCHEMA, "
        "k.TABLE_NAME, k.CONSTRAINT_NAME) ORDER BY 1 SEPARATOR ', ') FROM "
        "information_schema.KEY_COLUMN_USAGE k JOIN information_schema.REFERENTIAL_CONSTRAINTS c "
        "ON c.CONSTRAINT_SCHEMA = k.CONSTRAINT_SCHEMA AND c.TABLE_NAME = k.TABLE_NAME AND "
        f"c.CONSTRAINT_NAME = k.CONSTRAINT_NAME WHERE ({' OR '.join(found)}){unknown})"
    )
    head = "-- Foreign keys that are not in the log and act on these statements\n"
    return head + prepared_lines(sql)


def trigger_lines(acted: Collection[Acted]) -> str:
    """The lines that look for triggers that these statements fire."""
    if not acted:
        return ""
    events = (
        (db, table, kind.upper())
        for db, table, kind in sorted({o[:3] for o in acted if o[2] not in (UNCHECKED, WRITES)})
    )
    name = "CONCAT_WS('.', TRIGGER_SCHEMA, TRIGGER_NAME)"
    found = (
        f"SET @bk_triggers = (SELECT GROUP_CONCAT({name} ORDER BY 1 SEPARATOR ', ') FROM "
        f"information_schema.TRIGGERS WHERE {among(_EVENT, events)})"
    )
    return f"-- Triggers that these statements set off\n{prepared_lines(found)}"


def generated_lines(acted: Collection[Acted], undefined: Collection[TableId]) -> str:
    """The lines that end the script before its first statement if one of them would write a
    generated column of the ``undefined`` tables: a verdict, then the server's own error."""
    written = sorted(
        (db, table, column)
        for db, table, kind, column in acted
        if kind == WRITES and (db, table) in undefined
    )
    if not written:
        return ""
    rows = (
        "FROM information_schema.COLUMNS WHERE GENERATION_EXPRESSION <> '' AND "
        f"{among(_NAMES, written)}"
    )
    db, table, column = (f"REPLACE({name}, '`', '``')" for name in _NAMES)
    asked = prepared_lines(
        "SET @bk_generated = (SELECT GROUP_CONCAT(CONCAT_WS('.', TABLE_SCHEMA, TABLE_NAME, "
        f"COLUMN_NAME) ORDER BY 1 SEPARATOR ', ') {rows}), @bk_write = (SELECT CONCAT('UPDATE `', "
        f"{db}, '`.`', {table}, '` SET `', {column}, '` = 1') {rows} LIMIT 1)"
    )
    return f"{_ASKED}{asked}{_STOPPED}"
