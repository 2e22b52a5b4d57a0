"""Scenarios written as SQL files: statements, and directives in comments that begin with ``--@``.

::

    --@ story The first line of the prose.
    --@ story The next one.
    --@ databases bank audit
    --@ requires version>=8.0.3
    --@ start 2024-05-01T09:00:00
    --@ session alice
    CREATE TABLE bank.account (id INT PRIMARY KEY);
    --@ mark created
    --@ wait 90.5
    --@ fails 1786 version<8.0.21 gtid=ON
    CREATE TABLE bank.copy SELECT * FROM bank.account;
    --@ if version>=8.0.23 format=ROW|MIXED
    ALTER TABLE bank.account ADD secret INT INVISIBLE;
    --@ end
    --@ leave alice

``requires`` says where the scenario can run at all. ``start`` and ``at`` set the clock (UTC), which
goes on by one second a statement; ``wait`` adds seconds. ``session`` names who runs the statements
that follow (first: ``main``); ``leave`` disconnects. ``ends`` says how it ends: ``rotate`` (unless
told otherwise), ``stop`` or ``kill``. ``fails`` names the error that the next
statement must end with, in the cells of which its condition is true. What stands between ``if`` and
``end`` runs only there. A statement ends with ``;`` at the end of a line; other lines that begin
with ``--`` are comments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation

from binlogkit.errors import UsageError
from binlogkit_fixtures.scenarios.model import (
    ALWAYS,
    Condition,
    Failure,
    Leave,
    Mark,
    Scenario,
    Sql,
    Step,
)

__all__ = ["parse_script"]

_SECOND = 1_000_000
_DIRECTIVE = "--@"


def parse_script(name: str, text: str) -> Scenario:
    """The scenario that a script tells. UsageError names the script and the line."""
    reader = _Reader()
    for number, line in enumerate(text.splitlines(), 1):
        try:
            reader.line(line)
        except UsageError as exc:
            raise UsageError(f"scenario {name}, line {number}: {exc}") from exc
    try:
        return reader.scenario(name)
    except UsageError as exc:
        raise UsageError(f"scenario {name}: {exc}") from exc


def _microseconds(text: str) -> int:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as exc:
        raise UsageError(f"'{text}' is not a time such as 2024-05-01T09:00:00") from exc
    moment = moment.replace(tzinfo=moment.tzinfo or UTC)
    return int(moment.timestamp()) * _SECOND + moment.microsecond


@dataclass
class _Reader:
    """The script read so far."""

    story: list[str] = field(default_factory=list)
    databases: tuple[str, ...] = ()
    when: Condition = ALWAYS
    ending: str = "rotate"
    session: str = "main"
    clock: int = 0
    blocks: list[Condition] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    pending: list[str] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)

    def line(self, line: str) -> None:
        if line.startswith(_DIRECTIVE):
            self._directive(line.removeprefix(_DIRECTIVE).strip())
        elif self.pending or (line.strip() and not line.startswith("--")):
            self.pending.append(line)
            if line.rstrip().endswith(";"):
                self._statement()

    def scenario(self, name: str) -> Scenario:
        if self.pending or self.failures or self.blocks:
            raise UsageError("the script ends inside a statement, a block or before one that fails")
        if not self.databases:
            raise UsageError("the script names no databases")
        story = " ".join(self.story)
        return Scenario(name, story, self.databases, tuple(self.steps), self.when, self.ending)

    def _directive(self, text: str) -> None:
        if self.pending:
            raise UsageError("a directive inside a statement")
        word, _, rest = text.partition(" ")
        handler = _DIRECTIVES.get(word)
        if handler is None:
            raise UsageError(f"there is no directive '{word}'")
        handler(self, rest.strip())

    def _statement(self) -> None:
        text = "\n".join(self.pending).strip().removesuffix(";")
        self.pending.clear()
        fails = tuple(self.failures)
        self.failures.clear()
        self.steps.append(Sql(text, self.session, self.clock, fails, self._condition()))
        self.clock += _SECOND

    def _condition(self) -> Condition:
        whole = ALWAYS
        for block in self.blocks:
            whole &= block
        return whole

    def do_story(self, rest: str) -> None:
        self.story.append(rest)

    def do_databases(self, rest: str) -> None:
        self.databases = tuple(rest.split())

    def do_requires(self, rest: str) -> None:
        self.when = Condition.parse(rest)

    def do_ends(self, rest: str) -> None:
        self.ending = rest

    def do_session(self, rest: str) -> None:
        self.session = rest

    def do_at(self, rest: str) -> None:
        self.clock = _microseconds(rest)

    def do_wait(self, rest: str) -> None:
        try:
            self.clock += int(Decimal(rest) * _SECOND)
        except InvalidOperation as exc:
            raise UsageError(f"'{rest}' is not a number of seconds") from exc

    def do_mark(self, rest: str) -> None:
        self.steps.append(Mark(rest, self.clock, self._condition()))

    def do_leave(self, rest: str) -> None:
        self.steps.append(Leave(rest, self._condition()))

    def do_fails(self, rest: str) -> None:
        code, _, condition = rest.partition(" ")
        if not code.isdecimal():
            raise UsageError(f"'{code}' is not an error number")
        self.failures.append(Failure(int(code), Condition.parse(condition)))

    def do_if(self, rest: str) -> None:
        self.blocks.append(Condition.parse(rest))

    def do_end(self, rest: str) -> None:
        if rest or not self.blocks:
            raise UsageError("an end without its if")
        self.blocks.pop()


_DIRECTIVES: dict[str, Callable[[_Reader, str], None]] = {
    "story": _Reader.do_story,
    "databases": _Reader.do_databases,
    "requires": _Reader.do_requires,
    "ends": _Reader.do_ends,
    "start": _Reader.do_at,
    "at": _Reader.do_at,
    "wait": _Reader.do_wait,
    "session": _Reader.do_session,
    "leave": _Reader.do_leave,
    "mark": _Reader.do_mark,
    "fails": _Reader.do_fails,
    "if": _Reader.do_if,
    "end": _Reader.do_end,
}
