"""Undo and redo plans as a SQL script for MySQL 5.7 and 8.0 that checks itself.

A plan is a mapping with the keys ``db, table, kind`` (``insert|update|delete``, what the statement
does), ``set`` and ``where`` (lists of ``{column, value, type}``: ``value`` in the contract's JSON
form, ``type`` one of frames/schema.py KINDS; ``generated: true`` marks a generated column),
``limit_one, refused`` (why there is no statement, or None), ``file, pos, inner, row, gtid,
timestamp, note`` (where it comes from).

The script is printable ASCII and has one comment or one statement per line, so it can be run line
by line as well as by the ``mysql`` client. It sets the session so that every literal means the
same everywhere, runs in one transaction, counts each statement that did not change exactly one
row, and **commits only when that count is zero and ``@bk_commit`` is 1**; else it rolls back. In
the end it restores the session. Why each setting: :data:`_SETTINGS`.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from binlogkit.errors import UsageError, printable
from binlogkit.reports._literals import comment, identifier, literal, prepared, writable

__all__ = ["SqlOptions", "comment", "identifier", "literal", "script", "statement"]

Plan = Mapping[str, Any]

# A text longer than this cannot be a key (InnoDB: 3072 bytes), so no index is lost without it.
_LONGEST_KEY = 768
_LONG_STATEMENT = 1 << 20  # bytes; 5.7's max_allowed_packet is 4 MiB, the client's 16 MiB

_SETTINGS: tuple[tuple[str, str, str], ...] = (
    ("character_set_client", "utf8mb4", "the script itself is ASCII"),
    ("character_set_connection", "utf8mb4", "plain literals are compared as utf8mb4"),
    ("collation_connection", "utf8mb4_general_ci", "5.7 and 8.0 both have it"),
    ("time_zone", "'+00:00'", "TIMESTAMP values are written in UTC"),
    (
        "sql_mode",
        "'STRICT_ALL_TABLES,ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO'",
        "nothing is cut off in silence; zero dates, incomplete dates and the id 0 can be written",
    ),
    ("unique_checks", "1", "0 would let InnoDB skip checks of secondary unique keys"),
    ("sql_safe_updates", "0", "rows of tables without a key are found by their values"),
    ("sql_auto_is_null", "0", "IS NULL means NULL"),
    ("autocommit", "0", "also after an error nothing is kept one by one"),
)


@dataclass(frozen=True, slots=True)
class SqlOptions:
    """How a script is made.

    ``title``: what it does, one line; ``made_by``: tool, version and command, for the head;
    ``commit``: what ``@bk_commit`` is set to; ``foreign_key_checks``: 1 by default: a child
    without its parent is an error, and ON DELETE CASCADE works, also on rows that came later;
    ``notes``: more lines for the head.
    """

    title: str = "undo"
    made_by: str = "binlogkit"
    commit: bool = False
    foreign_key_checks: bool = True
    notes: Sequence[str] = ()


def script(plans: Iterable[Plan], options: SqlOptions | None = None) -> Iterator[str]:
    """The lines of the script, each with its line end; ``plans`` are read one at a time.

    A plan that is refused, or that SQL cannot say, becomes a comment with the reason, counted in
    the verdict.
    """
    options = options or SqlOptions()
    yield from _lines(_head(options))
    count = refused = 0
    for number, plan in enumerate(plans, 1):
        yield from _lines([comment(f"{number}: {_origin(plan)}")])
        try:
            text = statement(plan)
        except UsageError as exc:
            refused += 1
            yield from _lines([comment(f"{number}: REFUSED, no statement: {exc}")])
            continue
        count += 1
        yield from _lines(_checked(text, number))
    yield from _lines(_tail(count, refused))


def statement(plan: Plan) -> str:
    """The plan's one statement, without a semicolon.

    UsageError: the plan is refused, a value cannot be written, or nothing tells the row.
    """
    if plan.get("refused"):
        raise UsageError(str(plan["refused"]))
    kind = plan["kind"]
    if kind not in _STATEMENTS:
        raise UsageError(f"a plan cannot {printable(str(kind))} a row")
    table = f"{identifier(plan['db'])}.{identifier(plan['table'])}"
    text: str = _STATEMENTS[kind](table, plan)
    if plan.get("limit_one") and kind != "insert":
        text += " LIMIT 1"
    return text


def _insert(table: str, plan: Plan) -> str:
    if not plan["set"]:  # the row would be made of defaults
        raise UsageError("no column has a value")
    columns = ", ".join(identifier(item["column"]) for item in plan["set"])
    values = ", ".join(_assigned(item) for item in plan["set"])
    return f"INSERT INTO {table} ({columns}) VALUES ({values})"


def _update(table: str, plan: Plan) -> str:
    if not plan["set"]:
        raise UsageError("no column changes")
    changes = [f"{identifier(item['column'])} = {_assigned(item)}" for item in plan["set"]]
    changes += _kept(plan)
    return f"UPDATE {table} SET {', '.join(changes)} WHERE {_condition(plan)}"


def _delete(table: str, plan: Plan) -> str:
    return f"DELETE FROM {table} WHERE {_condition(plan)}"


_STATEMENTS = {"insert": _insert, "update": _update, "delete": _delete}


def _kept(plan: Plan) -> list[str]:
    """Columns assigned to themselves, so that ON UPDATE CURRENT_TIMESTAMP leaves them alone."""
    written = {item["column"].lower() for item in plan["set"]}
    return [
        f"{identifier(item['column'])} = {identifier(item['column'])}"
        for item in plan["where"]
        if item["type"] in ("timestamp", "datetime")
        and item["column"].lower() not in written
        and not item.get("generated")
    ]


def _assigned(item: Mapping[str, Any]) -> str:
    if not writable(item["value"], item["type"]):
        raise UsageError(
            f"column {printable(item['column'])} held ENUM's error value (index 0), "
            "which no strict server takes"
        )
    return _in_column(item)


def _in_column(item: Mapping[str, Any]) -> str:
    try:
        return literal(item["value"], item["type"])
    except UsageError as exc:
        raise UsageError(f"column {printable(item['column'])}: {exc}") from exc


def _condition(plan: Plan) -> str:
    if not plan["where"]:
        raise UsageError("nothing in the log tells which row it was")
    return " AND ".join(_equal(item) for item in plan["where"])


def _equal(item: Mapping[str, Any]) -> str:
    """The column is exactly this value: ``<=>`` for NULL's sake, and text byte by byte as well.

    A collation would take ``a`` for ``A`` and leave out blanks at the end: the first comparison
    can use an index, the second tells. TRAPS.md 38: FLOAT, DOUBLE and JSON are never compared.
    """
    column, kind = identifier(item["column"]), item["type"]
    if item["value"] is None:
        return f"{column} <=> NULL"
    if kind in ("float", "double", "json"):
        raise UsageError(f"a {kind} column, {printable(item['column'])}, cannot tell a row")
    value = _in_column(item)
    if kind != "text":
        return f"{column} <=> {value}"
    exact = f"CAST(CONVERT({column} USING utf8mb4) AS BINARY) <=> {value.removeprefix('_utf8mb4 ')}"
    return exact if len(item["value"]) > _LONGEST_KEY else f"{column} <=> {value} AND {exact}"


def _checked(text: str, number: int) -> list[str]:
    """A statement and the count of what it changed; ``ROW_COUNT()`` is −1 after an error."""
    lines = []
    if len(text) > _LONG_STATEMENT:
        lines.append(
            comment(f"{len(text)} bytes: max_allowed_packet of client and server must be larger")
        )
    lines += [f"{part};" for part in prepared(text)]
    lines.append(
        f"SET @bk_wrong = @bk_wrong + (ROW_COUNT() <> 1), @bk_which = IF(ROW_COUNT() = 1 OR "
        f"LENGTH(@bk_which) > 99, @bk_which, CONCAT(@bk_which, ' {number}'));"
    )
    return lines


def _origin(plan: Plan) -> str:
    """What a statement does and which change it answers, for its comment."""
    place = f"{plan.get('file')}:{plan.get('pos')}"
    if plan.get("inner") is not None:
        place += f"/{plan['inner']}"
    parts = [
        f"{plan.get('kind')} {plan.get('db')}.{plan.get('table')} for {place} row {plan.get('row')}"
    ]
    if plan.get("timestamp") is not None:
        parts.append(_utc(plan["timestamp"]))
    if plan.get("gtid"):
        parts.append(f"GTID {plan['gtid']}")
    if plan.get("note"):
        parts.append(str(plan["note"]))
    return ", ".join(parts)


def _utc(seconds: Any) -> str:
    try:
        return f"{dt.datetime.fromtimestamp(int(seconds), dt.UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, ValueError, OSError):
        return f"timestamp {seconds}"


def _head(options: SqlOptions) -> list[str]:
    checks = int(options.foreign_key_checks)
    lines = [
        comment(options.title),
        comment(f"made by {options.made_by}"),
        *(comment(note) for note in options.notes),
        comment(""),
        comment("Run it with: mysql --batch < FILE (it stops, and keeps nothing, at an error)."),
        comment("It rolls back in the end unless the next line says 1 AND every statement changed"),
        comment("exactly one row. Tables of engines without transactions (MyISAM) are not rolled"),
        comment("back. Triggers of the tables fire; their own changes may be in the log as well."),
        comment("JSON is written from its text: a DECIMAL, date or binary value in it loses its"),
        comment("type. The statements go to this server's binary log as any others do."),
        f"SET @bk_commit = {int(options.commit)};",
        comment(""),
        "SET @bk_wrong = 0, @bk_which = '';",
    ]
    why = (
        "a child without its parent is an error; ON DELETE CASCADE works on later rows too"
        if checks
        else "as asked: rows are written whether or not their parents are there, nothing cascades"
    )
    settings = [*_SETTINGS, ("foreign_key_checks", str(checks), why)]
    # One setting changes another (a collation its character set): all are saved first.
    lines += [f"SET @bk_{name} = @@SESSION.{name};" for name, _, _ in settings]
    for name, value, reason in settings:
        lines += [comment(f"{name}: {reason}"), f"SET SESSION {name} = {value};"]
    return [*lines, "START TRANSACTION;"]


def _tail(count: int, refused: int) -> list[str]:
    names = [name for name, _, _ in _SETTINGS if name != "autocommit"]
    names += ["foreign_key_checks", "autocommit"]
    return [
        comment(f"Verdict on {count} statements, {refused} refused"),
        "SET @bk_end = IF(@bk_commit = 1 AND @bk_wrong = 0, 'COMMIT', 'DO 0');",
        "PREPARE bk_statement FROM @bk_end;",
        "EXECUTE bk_statement;",
        "DEALLOCATE PREPARE bk_statement;",
        comment("Takes back what was not committed on the line before."),
        "ROLLBACK;",
        f"SELECT {count} AS statements, {refused} AS refused, @bk_wrong AS not_one_row, "
        "TRIM(@bk_which) AS those_statements, CASE WHEN @bk_end = 'COMMIT' THEN 'committed' "
        "WHEN @bk_wrong = 0 THEN 'rolled back, all well: set @bk_commit to 1 to keep it' "
        "ELSE 'rolled back: not every statement changed exactly one row' END AS verdict;",
        *(f"SET SESSION {name} = @bk_{name};" for name in names),
    ]


def _lines(parts: Iterable[str]) -> Iterator[str]:
    for part in parts:
        yield f"{part}\n"
