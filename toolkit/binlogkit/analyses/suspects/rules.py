"""The rules as data (``rules.toml``), and a suspect that rules found."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from binlogkit.constants import TableId
from binlogkit.frames.fields.field import chosen, fields
from binlogkit.frames.fields.ledger import TRANSACTION
from binlogkit.rows.filters import written_table_name

SUSPECTS = (
    *fields(
        ("rank", "int64", "1 for the most suspicious"),
        ("score", "int64", "its rule's weight, less where the log shows that it is usual; to 100"),
        ("rule", "string", "the rule that gives the score (analyses/suspects/rules.toml)"),
    ),
    *chosen(TRANSACTION, "source"),
    *fields(
        ("timestamp", "seconds?", "when it began; null if it concerns a whole file"),
        ("thread_id", "int64?", "the connection's number; null if not known"),
        ("db", "string?", "the table's database"),
        ("table", "string?", "the table, the first of several"),
        ("op", "string", "`update`, `delete`, `drop`, `truncate`, `alter`, `grant`, `gap`, …"),
        ("rows", "int64?", "row changes; null where no row event shows them"),
        ("transactions", "int64", "how many transactions did it"),
        ("what", "string", "what was changed, in words"),
        ("why", "string", "why it is suspicious"),
        ("gtid", "string?", "of the first transaction"),
        ("file", "string?", "the log in which the first transaction begins"),
        ("pos", "int64?", "the first byte of its first event"),
        ("undo", "string?", "the command that undoes it; null where the log holds too little"),
    ),
)


class SuspectRule(NamedTuple):
    """A rule: its weight, what it is read from, and its reason in words."""

    weight: int
    needs: str
    says: str


@cache
def rules() -> dict[str, SuspectRule]:
    """The rules by name."""
    known = tomllib.loads(Path(__file__).with_name("rules.toml").read_text("utf-8"))
    return {name: SuspectRule(**rule) for name, rule in known.items()}


@dataclass(slots=True)
class Suspect:
    """Something suspicious.

    ``found``: rules, and how unusual it is by each (0 to 1); ``names``: its tables; ``txs``: the
    numbers of its transactions; ``why``: reasons beside those of the rules; ``what``: in words;
    ``at``: file and position, where it stands in no transaction; ``like``: transactions
    that it may repeat; ``share``: what is left of what it is suspected of, by :meth:`less`;
    ``since``: a day before it, seconds; ``names_back``: the tables of which the log has rows,
    where others are among them; ``lost``: whether the log does not hold what was lost.
    """

    op: str
    found: dict[str, float]
    txs: list[int] = field(default_factory=list)
    names: list[TableId] = field(default_factory=list)
    rows: int | None = None
    what: list[str] = field(default_factory=list)
    why: list[str] = field(default_factory=list)
    at: tuple[str | None, int | None] = (None, None)
    like: list[int] = field(default_factory=list)
    share: float = 1.0
    since: int = 0
    names_back: list[TableId] | None = None
    lost: bool = False

    @property
    def best(self) -> str:
        """The rule that weighs most here."""
        return max(self.found, key=self._score)

    @property
    def score(self) -> int:
        """0 to 100."""
        return round(self._score(self.best))

    def _score(self, rule: str) -> float:
        return rules()[rule].weight * self.found[rule]

    def less(self, share: float, why: str) -> None:
        """It is less suspicious, for a reason."""
        self.found = {rule: much * share for rule, much in self.found.items()}
        self.share *= share
        self.why.append(why)

    def join(self, other: Suspect) -> None:
        """Another, that the same connection did right after it, is a part of it."""
        if other.score > self.score:
            self.found, self.why = other.found, other.why
        self.txs += [tx for tx in other.txs if tx not in self.txs]
        self.names += [name for name in other.names if name not in self.names]
        self.what += other.what

    def reasons(self) -> str:
        """Why it is suspicious, the weightiest rule first."""
        ordered = sorted(self.found, key=self._score, reverse=True)
        return "; ".join([*(rules()[rule].says for rule in ordered), *dict.fromkeys(self.why)])

    def undo(
        self, done: Sequence[dict[str, Any]], files: Sequence[str], how: Sequence[str] = ()
    ) -> str | None:
        """The command that undoes it; ``done``: its transactions; ``how``: options with which the
        logs were read; None if no command can."""
        if not done or self.lost or not (self.rows or self.op in ("truncate", "drop")):
            return None
        names = self.names if self.names_back is None else self.names_back
        first, last = done[0], done[-1]
        words = ["binlogkit", "undo", *file_words(files)]
        if len(done) == 1:
            place = f"{_short_name(first['file'], files)}:{first['pos']}"
            words += ["--at", place if len(files) > 1 else str(first["pos"])]
        elif len(files) == 1:
            words += ["--start-position", str(first["pos"]), "--stop-position"]
            words += [str(last["end_pos"]), "--thread", str(first["thread_id"])]
            words += [word for name in names for word in ("--table", written_table_name(*name))]
            words += ["--op", self.op] if self.op in ("update", "delete") else []
        else:
            return None
        if self.op == "drop":
            words += [w for name in names for w in ("--made-again", written_table_name(*name))]
        if self.op == "update":  # what later changes set stays, and nothing is refused for it
            words += ["--mode", "merge"]
        return shlex.join([*words, *how])


def file_words(files: Sequence[str]) -> list[str]:
    """Files as words of a command, none of which is taken for an option."""
    return [f"./{file}" if file.startswith("-") else file for file in files]


def _short_name(file: str, files: Sequence[str]) -> str:
    """A log's name without its folders, where no other log has it."""
    name = file.rpartition("/")[2]
    return name if sum(f.rpartition("/")[2] == name for f in files) == 1 else file
