"""One scenario while it runs: its sessions on its servers, what it marks, what it meets."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

import pymysql

from binlogkit.errors import ServerError, printable
from binlogkit_fixtures import manifest as mf
from binlogkit_fixtures.host import OBSERVER, Host, Session, execute, plain, seconds
from binlogkit_fixtures.scenarios.model import (
    Await,
    Follow,
    Kept,
    Leave,
    Mark,
    Restart,
    Scenario,
    Sql,
)

__all__ = ["Run"]

#: What a scenario's sessions begin with, so that 5.7 and 8.0 agree (their defaults do not); by the
#: option that a cell sets where it wants it otherwise.
_SESSION = dict(zip(("sql-mode", "default-time-zone", "autocommit"), OBSERVER, strict=True))
_FIRST_THREAD = 101  # pseudo_thread_id of the first session; the next ones count on
_GONE_SECONDS = 30.0


@dataclass
class Run:
    """One scenario while it runs: its sessions, and what was seen.

    ``hosts``: its servers by their names in the story, the first first; ``errors`` and
    ``warnings`` by these names, ``marks`` by whose logs they are of.
    """

    scenario: Scenario
    hosts: Mapping[str, Host]
    sessions: dict[str, Session] = field(default_factory=dict)
    numbers: set[int] = field(default_factory=set)
    errors: dict[str, list[mf.ErrorLine]] = field(default_factory=lambda: defaultdict(list))
    warnings: dict[str, list[mf.WarningLine]] = field(default_factory=lambda: defaultdict(list))
    marks: dict[Kept, list[mf.MarkPoint]] = field(default_factory=lambda: defaultdict(list))
    threads: int = _FIRST_THREAD

    def prepare(self) -> None:
        """Empty servers and empty logs, whose first event has the story's first time."""
        for host in self.hosts.values():
            host.clean(self.scenario.databases)
        now = time.time()
        for host in self.hosts.values():  # their clocks begin together: a reset takes its time
            host.set_clock(self.scenario.begin, now)
        for host in self.hosts.values():
            host.reset(self.scenario.begin)

    def steps(self) -> None:
        """Do all that the story has for this cell."""
        for number, step in self.scenario.steps_for(self._first.facts):
            self.numbers.add(number)
            if isinstance(step, Sql):
                self.statement(number, step)
            elif isinstance(step, Leave):
                self.leave(step.session)
            elif isinstance(step, Restart):
                self.sessions.clear()
                self._first.restart(step.how)
            elif isinstance(step, Follow):
                self.follow(step)
            elif isinstance(step, Await):
                self.hosts[step.server].await_source()
            else:
                self.mark(step)

    @property
    def _first(self) -> Host:
        return next(iter(self.hosts.values()))

    def _place(self, session: str) -> str:
        """The name of the server that a session is on."""
        return self.scenario.places.get(session, next(iter(self.hosts)))

    def session(self, name: str) -> Session:
        """The session of that name, connected when it is first used."""
        if name not in self.sessions:
            host = self.hosts[self._place(name)]
            session = host.connect(autocommit=None)  # the cell's, or set below
            own = [text for name, text in _SESSION.items() if name not in host.facts.options]
            for assignment in (*own, f"pseudo_thread_id = {self.threads}"):
                execute(session, f"SET {assignment}")
            self.threads += 1
            self.sessions[name] = session
        return self.sessions[name]

    def leave(self, name: str) -> None:
        """Disconnect a session and wait until the server has forgotten it.

        ServerError: it is not connected, in this cell.
        """
        if name not in self.sessions:
            raise ServerError(f"scenario {self.scenario.name}: session {name} is not connected")
        session = self.sessions.pop(name)
        thread = execute(session, "SELECT CONNECTION_ID()")[0][0]
        session.close()
        deadline = time.monotonic() + _GONE_SECONDS
        gone = f"SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = {int(thread)}"
        while execute(self.hosts[self._place(name)].observer, gone)[0][0]:
            if time.monotonic() > deadline:
                raise ServerError(f"session {name} is still there after {_GONE_SECONDS} s")
            time.sleep(0.005)

    def follow(self, step: Follow) -> None:
        """Let one server follow another, or follow no more."""
        if step.source is None:
            self.hosts[step.replica].unfollow()
        else:
            self.hosts[step.replica].follow(self.hosts[step.source])

    def _tick(self, moment: int) -> None:
        now = time.time()
        for host in self.hosts.values():
            host.tick(moment, now)

    def statement(self, number: int, step: Sql) -> None:
        """Run one statement. ServerError: it ended otherwise than the story says."""
        session, place = self.session(step.session), self._place(step.session)
        expected = step.expected_error(self.hosts[place].facts)
        self._tick(step.time)
        execute(session, f"SET timestamp = {seconds(step.time)}")
        try:
            with session.cursor() as cursor:
                cursor.execute(step.text)
                warned = cursor.warning_count
        except pymysql.Error as exc:
            self._failed(number, step, expected, exc)
            return
        if expected is not None:
            raise self._surprise(number, step, f"error {expected} did not come")
        if warned:
            self.warnings[place] += [
                mf.WarningLine(number, str(level), int(code), plain(message))
                for level, code, message in execute(session, "SHOW WARNINGS")
            ]

    def _failed(self, number: int, step: Sql, expected: int | None, exc: pymysql.Error) -> None:
        code, message = exc.args if len(exc.args) == 2 else (0, str(exc))
        if code != expected:
            raise self._surprise(number, step, f"error {code}: {plain(message)}") from exc
        self.errors[self._place(step.session)].append(
            mf.ErrorLine(number, step.session, step.text, int(code), plain(message))
        )

    def _surprise(self, number: int, step: Sql, what: str) -> ServerError:
        host = self.hosts[self._place(step.session)]
        return ServerError(
            f"scenario {self.scenario.name}, step {number} in session {step.session}, "
            f"server {host.server.version} {host.facts.format}: {printable(what)} "
            f"({printable(step.text[:120])})"
        )

    def mark(self, step: Mark) -> None:
        """Everything that is to be known of this moment, on each server whose logs are kept."""
        self._tick(step.time)
        for kept in self.scenario.keeps:
            host = self.hosts[kept.server]
            self.marks[kept].append(host.mark(step, self.scenario.databases, kept))

    def close_logs(self) -> dict[Kept, list[str]]:
        """Rotate where the story ends so; the logs that are the story's."""
        self._tick(self.scenario.end)
        for host in self.hosts.values():
            if host.source is not None:
                host.unfollow()
        found = {}
        rotates = self.scenario.ending == "rotate"
        for kept in self.scenario.keeps:
            host = self.hosts[kept.server]
            if rotates:
                host.rotate(kept, self.scenario.end)
            names = host.server.relay_log_names() if kept.relay else host.binlogs()
            found[kept] = names[:-1] if rotates else names
        return found

    def finish(self) -> None:
        """End the server where the story ends so, else leave it as if nothing had been.

        Several servers are the story's own, and end with it.
        """
        if self.scenario.ending == "kill":
            self._first.server.kill()
        elif self.scenario.ending == "stop":
            self._first.server.stop()
        elif not self.scenario.servers:
            for name in list(self.sessions):
                self.leave(name)
            self._first.clean(self.scenario.databases)
