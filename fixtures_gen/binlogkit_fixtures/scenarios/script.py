"""Scenarios written as SQL files: statements, and directives in comments that begin with ``-- @``.

::

    -- @ story The first line of the prose.
    -- @ story The next one.
    -- @ databases bank audit
    -- @ requires version>=8.0.3
    -- @ start 2024-05-01T09:00:00
    -- @ session alice
    CREATE TABLE bank.account (id INT PRIMARY KEY);
    -- @ mark created
    -- @ wait 90.5
    -- @ fails 1786 version<8.0.21 gtid=ON
    CREATE TABLE bank.copy SELECT * FROM bank.account;
    -- @ if version>=8.0.23 format=ROW|MIXED
    ALTER TABLE bank.account ADD secret INT INVISIBLE;
    -- @ end
    -- @ leave alice

``requires`` says where the scenario can run at all. ``start`` and ``at`` set the clock (UTC; first:
2024-01-01), which advances one second per statement; ``wait`` adds seconds. ``session`` names who
runs the statements that follow (first: ``main``); ``leave`` disconnects; ``restart stop`` and
``restart kill`` end the server, all sessions with it, and start it again. ``ends`` says how:
``rotate`` (the default), ``stop`` or ``kill``. ``fails`` names the error that the next
statement must end with, in the cells of which its condition is true. What stands between ``if`` and
``end`` runs only there. A statement ends with ``;`` at the end of a line, or with what
``DELIMITER`` names; other lines that begin with ``--`` are comments. To the mysql client all of
this is SQL; without the blank after ``--``, which may be missing here, it is not.

In a story of several servers ``server`` names each with its own options; ``session alice on
replica`` says whose session it is (else the first server's); ``follow replica of source`` and
``unfollow replica`` let it replicate; ``await replica`` waits until it has applied all of its
source's log; ``keep replica relay`` says whose logs become a fixture (else the binary logs of all).
The page is docs/fixtures.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation

from binlogkit.errors import UsageError, printable
from binlogkit.sources.connection import SYSTEM_DATABASES
from binlogkit_fixtures.scenarios.model import (
    ALWAYS,
    NAME,
    Await,
    Condition,
    Failure,
    Follow,
    Kept,
    Leave,
    Mark,
    Restart,
    Scenario,
    Sql,
    Step,
    StoryServer,
)
from binlogkit_fixtures.servers.options import normalise, render

__all__ = ["parse_script"]

_SECOND = 1_000_000
_DIRECTIVE = re.compile(r"-- ?@")
_DELIMITER = re.compile(r"\s*delimiter\s+(\S+)\s*", re.IGNORECASE)
_BEGIN = 1_704_067_200 * _SECOND  # 2024-01-01T00:00:00Z
_LONGEST_WAIT = 10**9  # seconds


def parse_script(name: str, text: str) -> Scenario:
    """The scenario of a script. UsageError names the script and the line."""
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
    clock: int = _BEGIN
    delimiter: str = ";"
    blocks: list[Condition] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    pending: list[str] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    servers: list[StoryServer] = field(default_factory=list)
    keeps: list[Kept] = field(default_factory=list)
    places: dict[str, str] = field(default_factory=dict)

    def line(self, line: str) -> None:
        if found := _DIRECTIVE.match(line):
            self._directive(line[found.end() :].strip())
        elif not self.pending and (found := _DELIMITER.fullmatch(line)):
            self.delimiter = found.group(1)
        elif self.pending or (line.strip() and not line.startswith("--")):
            self.pending.append(line)
            if line.rstrip().endswith(self.delimiter):
                self._statement()

    def scenario(self, name: str) -> Scenario:
        if self.pending or self.failures or self.blocks:
            raise UsageError("the script ends inside a statement, a block or before one that fails")
        if not self.databases:
            raise UsageError("the script names no databases")
        story = " ".join(self.story)
        keeps = self.keeps or [Kept(server.name) for server in self.servers] or [Kept()]
        scenario = Scenario(
            name, story, self.databases, tuple(self.steps), self.when, self.ending,
            tuple(self.servers), tuple(keeps), self.places,
        )  # fmt: skip
        if not any(isinstance(step, Sql) for step in scenario.steps):
            raise UsageError("the script has no statement")
        return scenario

    def _directive(self, text: str) -> None:
        if self.pending:
            raise UsageError("a directive inside a statement")
        word, _, rest = text.partition(" ")
        handler = _DIRECTIVES.get(word)
        if handler is None:
            raise UsageError(f"there is no directive '{printable(word)}'")
        handler(self, rest.strip())

    def _statement(self) -> None:
        text = "\n".join(self.pending).strip().removesuffix(self.delimiter)
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
        system = [name for name in self.databases if name.lower() in SYSTEM_DATABASES]
        if system:
            raise UsageError(f"'{printable(system[0])}' is the server's own database")

    def do_requires(self, rest: str) -> None:
        self.when = Condition.parse(rest)

    def do_ends(self, rest: str) -> None:
        self.ending = rest

    def do_session(self, rest: str) -> None:
        self.session, on, server = rest.partition(" on ")
        if on:
            self._known(server)
            if self._has_run(self.session) and self.places.get(self.session) != server:
                raise UsageError(f"session '{printable(self.session)}' is on another server")
            self.places[self.session] = server

    def _has_run(self, session: str) -> bool:
        return any(isinstance(step, Sql) and step.session == session for step in self.steps)

    def _known(self, server: str) -> str:
        if server not in [known.name for known in self.servers]:
            raise UsageError(f"there is no server '{printable(server)}'")
        return server

    def do_server(self, rest: str) -> None:
        name, *words = rest.split() or [""]
        if not NAME.fullmatch(name):
            raise UsageError(f"'{printable(name)}' cannot name a server")
        if self.steps:
            raise UsageError("servers are named before the first statement")
        options = {}
        for word in words:
            option, equals, value = word.partition("=")
            if not option or not equals:
                raise UsageError(f"'{printable(word)}' is not an option=value of mysqld")
            options[normalise(option)] = value
        render(options)
        self.servers.append(StoryServer(name, options))

    def do_keep(self, rest: str) -> None:
        name, _, what = rest.partition(" ")
        if what not in ("", "relay"):
            raise UsageError("of a server its binary logs are kept, or with 'relay' its relay logs")
        self.keeps.append(Kept(self._known(name), what == "relay"))

    def do_follow(self, rest: str) -> None:
        replica, _, source = rest.partition(" of ")
        if self._known(replica) == self._known(source):
            raise UsageError("a server does not follow itself")
        self.steps.append(Follow(replica, source, self._condition()))

    def do_unfollow(self, rest: str) -> None:
        self._following(rest)
        self.steps.append(Follow(rest, None, self._condition()))

    def do_await(self, rest: str) -> None:
        self._following(rest)
        self.steps.append(Await(rest, self._condition()))

    def _following(self, server: str) -> None:
        known = self._known(server)
        if not any(isinstance(step, Follow) and step.replica == known for step in self.steps):
            raise UsageError(f"server '{printable(server)}' follows none")

    def do_at(self, rest: str) -> None:
        self.clock = _microseconds(rest)

    def do_wait(self, rest: str) -> None:
        try:
            seconds = Decimal(rest)
        except InvalidOperation as exc:
            raise UsageError(f"'{printable(rest)}' is not a number of seconds") from exc
        if not seconds.is_finite() or not 0 <= seconds <= _LONGEST_WAIT:
            raise UsageError(f"nobody waits '{printable(rest)}' seconds")
        self.clock += int(seconds * _SECOND)

    def do_mark(self, rest: str) -> None:
        self.steps.append(Mark(rest, self.clock, self._condition()))

    def do_leave(self, rest: str) -> None:
        if not self._has_run(rest):
            raise UsageError(f"session '{printable(rest)}' has run nothing")
        self.steps.append(Leave(rest, self._condition()))

    def do_restart(self, rest: str) -> None:
        self.steps.append(Restart(rest, self._condition()))

    def do_fails(self, rest: str) -> None:
        code, _, condition = rest.partition(" ")
        if not code.isdecimal():
            raise UsageError(f"'{printable(code)}' is not an error number")
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
    "server": _Reader.do_server,
    "keep": _Reader.do_keep,
    "follow": _Reader.do_follow,
    "unfollow": _Reader.do_unfollow,
    "await": _Reader.do_await,
    "session": _Reader.do_session,
    "leave": _Reader.do_leave,
    "restart": _Reader.do_restart,
    "mark": _Reader.do_mark,
    "fails": _Reader.do_fails,
    "if": _Reader.do_if,
    "end": _Reader.do_end,
}
