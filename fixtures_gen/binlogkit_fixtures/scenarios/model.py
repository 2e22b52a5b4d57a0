"""What a scenario is: SQL with a story, in steps that every cell of the matrix can judge.

A scenario names its databases and lists steps: a statement in a named session, or a mark, the
point at which the capture writes down where the log is and what the server's tables hold.
A step's condition and a statement's known errors are decided by the cell's :class:`Facts`.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from binlogkit.errors import UsageError, printable

__all__ = [
    "ALWAYS",
    "Await",
    "Condition",
    "Facts",
    "Failure",
    "Follow",
    "Kept",
    "Leave",
    "Mark",
    "Restart",
    "Scenario",
    "Sql",
    "Step",
    "StoryServer",
    "Term",
]

NAME = re.compile(r"[a-z][a-z0-9_-]{0,62}")
_TERM = re.compile(r"([a-z][a-z0-9-]*)(>=|<|=)([A-Za-z0-9_.|-]+)")
_SHORT = ("format", "image", "gtid")
_VERSION = re.compile(r"\d+(\.\d+){0,2}")


def parse_version(text: str) -> tuple[int, int, int]:
    """``8.0.21`` as (8, 0, 21), absent parts as 0. UsageError: not a version."""
    if not _VERSION.fullmatch(text):
        raise UsageError(f"'{printable(text)}' is not a server version such as 8.0.21")
    parts = [int(part) for part in text.split(".")] + [0, 0]
    return parts[0], parts[1], parts[2]


@dataclass(frozen=True, slots=True)
class Facts:
    """What conditions can ask of a cell and its server.

    ``version``: of the running server; ``format``: ROW, STATEMENT or MIXED; ``image``: full,
    minimal or noblob; ``gtid``: ON or OFF; ``options``: mysqld's that the cell sets.
    """

    version: tuple[int, int, int]
    format: str
    image: str
    gtid: str
    options: Mapping[str, str | None] = field(default_factory=dict)

    def __getitem__(self, name: str) -> str | None:
        """A fact by its short name or an option's; None where the cell does not set it."""
        values = {"format": self.format, "image": self.image, "gtid": self.gtid}
        return values[name] if name in values else self.options.get(name)


_OPERATORS: Mapping[str, Callable[[tuple[int, int, int], tuple[int, int, int]], bool]] = {
    ">=": operator.ge,
    "<": operator.lt,
    "=": operator.eq,
}


@dataclass(frozen=True, slots=True)
class Term:
    """One comparison: ``version>=8.0.21``, ``format=ROW|MIXED``, ``binlog-checksum=NONE``.

    Of an option the name has a ``-``.
    """

    name: str
    operator: str
    value: str

    def __post_init__(self) -> None:
        if self.name == "version":
            parse_version(self.value)
        elif (self.name not in _SHORT and "-" not in self.name) or self.operator != "=":
            raise UsageError(f"'{self.name}{self.operator}{self.value}' is no condition on a cell")

    def holds(self, facts: Facts) -> bool:
        """Whether the comparison is true of these facts."""
        if self.name == "version":
            return _OPERATORS[self.operator](facts.version, parse_version(self.value))
        return facts[self.name] in self.value.split("|")


@dataclass(frozen=True, slots=True)
class Condition:
    """All of its terms; without terms it always holds."""

    terms: tuple[Term, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Condition:
        """Terms between blanks. UsageError: a term that is none."""
        terms = []
        for word in text.split():
            found = _TERM.fullmatch(word)
            if found is None:
                raise UsageError(f"'{printable(word)}' is no condition on a cell")
            terms.append(Term(*found.groups()))
        return cls(tuple(terms))

    def holds(self, facts: Facts) -> bool:
        """Whether every term is true of these facts."""
        return all(term.holds(facts) for term in self.terms)

    def __and__(self, other: Condition) -> Condition:
        return Condition(self.terms + other.terms)

    def __str__(self) -> str:
        return " ".join(f"{t.name}{t.operator}{t.value}" for t in self.terms)


ALWAYS = Condition()

#: How a story can end: the log is rotated (and closed by ROTATE), the server shuts down (STOP), or
#: is killed (the file stays marked as in use).
ENDINGS = ("rotate", "stop", "kill")


@dataclass(frozen=True, slots=True)
class Failure:
    """The server's error number that a statement must end with where the condition holds."""

    code: int
    when: Condition = ALWAYS


@dataclass(frozen=True, slots=True)
class Sql:
    """One statement.

    ``time``: the session's clock while it runs, microseconds since the epoch (``SET timestamp``);
    ``fails``: errors that the story expects.
    """

    text: str
    session: str
    time: int
    fails: tuple[Failure, ...] = ()
    when: Condition = ALWAYS

    def expected_error(self, facts: Facts) -> int | None:
        """The error that this statement must end with in such a cell, or None."""
        return next((f.code for f in self.fails if f.when.holds(facts)), None)


@dataclass(frozen=True, slots=True)
class Mark:
    """A named point; ``time``: the story's clock there, microseconds since the epoch."""

    name: str
    time: int
    when: Condition = ALWAYS


@dataclass(frozen=True, slots=True)
class Leave:
    """The named session disconnects; the next step waits until the server has noticed."""

    session: str
    when: Condition = ALWAYS


@dataclass(frozen=True, slots=True)
class Restart:
    """The server ends, ``stop`` in good order or ``kill`` without warning, and starts again.

    Its sessions are gone; the next statement of one connects it anew.
    """

    how: str
    when: Condition = ALWAYS

    def __post_init__(self) -> None:
        if self.how not in ("stop", "kill"):
            raise UsageError("a server is restarted with stop or kill")


@dataclass(frozen=True, slots=True)
class Follow:
    """``replica`` replicates from ``source`` from here on, or no more where that is None."""

    replica: str
    source: str | None
    when: Condition = ALWAYS


@dataclass(frozen=True, slots=True)
class Await:
    """The next step waits until the server has applied everything in its source's log."""

    server: str
    when: Condition = ALWAYS


Step = Sql | Mark | Leave | Restart | Follow | Await


@dataclass(frozen=True, slots=True)
class StoryServer:
    """A server of a story that has several; ``options``: mysqld's, beside those of the cell."""

    name: str
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Kept:
    """Logs that become a fixture: a server's binary logs, or with ``relay`` its relay logs.

    ``server`` is empty in a story of one server, which has one fixture, and no folder for it.
    """

    server: str = ""
    relay: bool = False

    @property
    def folder(self) -> str:
        """The fixture's folder within the scenario's."""
        return f"{self.server}-relay" if self.relay else self.server


@dataclass(frozen=True, slots=True)
class Scenario:
    """A story in SQL.

    ``name``: also its folder's; ``story``: what happens, in prose; ``databases``: those it makes,
    which marks look at and which are dropped afterwards; ``when``: where it can run at all;
    ``ending``: one of ENDINGS; ``servers``: where there are several; ``keeps``: whose logs;
    ``places``: the servers of sessions that are not on the first.
    """

    name: str
    story: str
    databases: tuple[str, ...]
    steps: tuple[Step, ...]
    when: Condition = ALWAYS
    ending: str = "rotate"
    servers: tuple[StoryServer, ...] = ()
    keeps: tuple[Kept, ...] = (Kept(),)
    places: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._check_servers()
        if self.ending not in ENDINGS:
            raise UsageError(f"a story ends with one of {', '.join(ENDINGS)}")
        for name in (self.name, *(s.name for s in self.steps if isinstance(s, Mark))):
            if not NAME.fullmatch(name):
                raise UsageError(f"'{printable(name)}' cannot name a scenario or a mark")
        marks = [(s.name, s.when) for s in self.steps if isinstance(s, Mark)]
        if len(set(marks)) != len(marks):
            raise UsageError(f"scenario {self.name} uses the name of a mark twice")

    def _check_servers(self) -> None:
        names = [server.name for server in self.servers]
        if len(set(names)) != len(names):
            raise UsageError("two servers have one name")
        named = [kept.server for kept in self.keeps if kept.server]
        named += self.places.values()
        for step in self.steps:
            if isinstance(step, Follow):
                named += filter(None, [step.replica, step.source])
            elif isinstance(step, Await):
                named.append(step.server)
        for name in named:
            if name not in names:
                raise UsageError(f"there is no server '{printable(name)}'")
        folders = [kept.folder for kept in self.keeps]
        if not folders or len(set(folders)) != len(folders):
            raise UsageError("each server's logs are kept once, and those of one at least")
        ends = self.ending != "rotate" or any(isinstance(step, Restart) for step in self.steps)
        if names and ends:
            raise UsageError("a story of several servers neither restarts nor ends one")

    def watched(self) -> Scenario:
        """The same story with a mark after each statement, ``after-N``, where none of its own is;
        the logs are the same ones."""
        steps: list[Step] = []
        for number, step in enumerate(self.steps):
            steps.append(step)
            followed = isinstance(next(iter(self.steps[number + 1 :]), None), Mark)
            if isinstance(step, Sql) and not followed:
                steps.append(Mark(f"after-{number}", step.time, when=step.when))
        return replace(self, steps=tuple(steps))

    @property
    def begin(self) -> int:
        """The story's first time, microseconds since the epoch."""
        return min(self._times)

    @property
    def end(self) -> int:
        """The story's last time, microseconds since the epoch."""
        return max(self._times)

    @property
    def _times(self) -> list[int]:
        return [step.time for step in self.steps if isinstance(step, Sql | Mark)]

    @property
    def asked(self) -> frozenset[str]:
        """The options that its conditions ask for."""
        conditions = [self.when, *(step.when for step in self.steps)]
        for step in self.steps:
            if isinstance(step, Sql):
                conditions += [failure.when for failure in step.fails]
        return frozenset(t.name for c in conditions for t in c.terms if "-" in t.name)

    def steps_for(self, facts: Facts) -> tuple[tuple[int, Step], ...]:
        """The steps that such a cell runs, each with its number in the whole scenario."""
        return tuple((n, step) for n, step in enumerate(self.steps) if step.when.holds(facts))
