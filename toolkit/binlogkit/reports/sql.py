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
the end it restores the session. Its head names the gaps that plans stand over and what they assume.
Why each setting: :data:`_SETTINGS`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from binlogkit.reports._literals import comment, identifier, literal
from binlogkit.reports._statements import Plan, plan_lines, statement

if TYPE_CHECKING:
    from binlogkit.analyses.plans import Chunk

__all__ = ["Script", "SqlOptions", "comment", "identifier", "literal", "script", "statement"]

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
    (
        "foreign_key_checks",
        "1",
        "a child without its parent is an error; ON DELETE CASCADE works on later rows too",
    ),
)


@dataclass(frozen=True, slots=True)
class SqlOptions:
    """How a script is made.

    ``title``: what it does, one line; ``made_by``: tool, version and command, for the head;
    ``commit``: what ``@bk_commit`` is set to.
    """

    title: str = "undo"
    made_by: str = "binlogkit"
    commit: bool = False


def script(plans: Iterable[Plan], options: SqlOptions | None = None) -> Iterator[str]:
    """The lines of the script, each with its line end; ``plans`` are read one at a time.

    A plan that is refused, or that SQL cannot say, becomes a comment with the reason, counted in
    the verdict.
    """
    for block in Script(plans, options).blocks():
        yield from block.decode("ascii").splitlines(keepends=True)


class Script:
    """The script in blocks of lines; ``statements``, ``refused``: how many came so far."""

    def __init__(self, plans: Iterable[Plan], options: SqlOptions | None = None) -> None:
        self._plans = plans
        self._options = options or SqlOptions()
        self.statements = self.refused = 0

    def blocks(self) -> Iterator[bytes]:
        """The lines, many at a time where the plans are those of a log."""
        from binlogkit.analyses.plans import Plans

        yield _block(_head(self._options, self._plans))
        if isinstance(self._plans, Plans):
            for chunk in self._plans.chunks():
                yield from self._chunk(chunk)
        else:
            yield from map(self._plan, self._plans)
        yield _block(_tail(self.statements, self.refused))

    def _plan(self, plan: Plan) -> bytes:
        lines, said = plan_lines(plan, self.statements + self.refused + 1)
        self.statements, self.refused = self.statements + said, self.refused + (not said)
        return _block(lines)

    def _chunk(self, chunk: Chunk) -> Iterator[bytes]:
        from binlogkit.analyses.plans import in_order, size_of
        from binlogkit.frames.text_columns import LARGE
        from binlogkit.reports._statement_columns import chunk_lines

        if sum(size_of(plans.changes) for _, plans in chunk) > LARGE:  # one row
            yield from map(self._plan, in_order([chunk]))
            return
        block, refused = chunk_lines(chunk, self.statements + self.refused + 1)
        self.refused += refused
        self.statements += sum(len(places) for places, _ in chunk) - refused
        yield block


def _head(options: SqlOptions, plans: Iterable[Plan]) -> list[str]:
    lines = [
        comment(options.title),
        comment(f"made by {options.made_by}"),
        *(comment(f"GAP: changes may be missing: {gap}") for gap in getattr(plans, "gaps", ())),
        *(comment(f"assumed: {told}") for told in getattr(plans, "assumes", ())),
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
    # One setting changes another (a collation its character set): all are saved first.
    lines += [f"SET @bk_{name} = @@SESSION.{name};" for name, _, _ in _SETTINGS]
    for name, value, reason in _SETTINGS:
        lines += [comment(f"{name}: {reason}"), f"SET SESSION {name} = {value};"]
    return [*lines, "START TRANSACTION;"]


def _tail(count: int, refused: int) -> list[str]:
    names = sorted((name for name, _, _ in _SETTINGS), key="autocommit".__eq__)  # that comes last
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


def _block(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode("ascii")
