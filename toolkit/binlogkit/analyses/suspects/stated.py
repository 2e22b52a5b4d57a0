"""Suspicious statements: DDL that loses data, accounts, changes logged as text; and gaps."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from binlogkit.analyses.point_in_time.boundary import Boundary
from binlogkit.analyses.suspects.rules import Suspect
from binlogkit.analyses.suspects.units import OFTEN, WINDOW, elsewhere
from binlogkit.constants import TableId
from binlogkit.errors import SchemaError
from binlogkit.rows.ddl.scan import leading_words, pieces
from binlogkit.rows.soundness.finding import CODES, Role

Transaction = Mapping[str, Any]

_PROGRAM = re.compile(
    r"(?i)\b(CREATE|DROP)\b.*?\b(TRIGGER|PROCEDURE|FUNCTION|EVENT|VIEW)\s+"
    r"(?:IF\s+(?:NOT\s+)?EXISTS\s+)?([^\s(;]+)",
    re.DOTALL,
)
_TWO_WORDS = (["CREATE"], ["ALTER"], ["DROP"], ["RENAME"], ["SET"])
_ALL_RIGHTS = re.compile(r"(?is)^\W*GRANT\b.*(\bALL\b.*\bON\s+\*\.\*|\bSUPER\b|\bGRANT\s+OPTION)")
_SHOWN = 160  # characters of a statement
_TEXTS = 0.05  # of the transactions, up to which a change logged as text is seldom
_VARIES = re.compile(r"'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.)*\"|\d+")
_COMPARED = 300  # characters of statements that differ in values only
# What gh-ost and pt-online-schema-change call their tables.
_HELPER = re.compile(r"_(.+?)(?:_\d{14})?_(?:ghc|gho|del|new|old)")
_SHORT = 0.01  # of the log's transactions, in which a connection's own table comes and goes
_FILLED = 10  # rows with which a job fills again what it emptied


class StatedSuspects:
    """Finds suspects among what happened to tables.

    ``boundaries``: in log order; ``transactions``: those of the boundaries and statements by
    number; ``filled``: how many rows of a table a connection inserts soon after a transaction of
    its own (number, connection, time); ``touched``: whether the log has row changes of a table;
    ``count``: how many transactions it has.
    """

    def __init__(
        self,
        boundaries: Sequence[Boundary],
        transactions: Mapping[int, Transaction],
        filled: Callable[[TableId, int, int, int], int],
        touched: Callable[[TableId], bool],
        count: int,
    ) -> None:
        self._all, self._transactions, self._count = boundaries, transactions, count
        self._filled, self._touched = filled, touched
        self._made = {b.name: b for b in boundaries if b.action == "create" and not b.conditional}
        renames: dict[tuple[str, int, int | None], dict[TableId, TableId]] = {}
        for b in boundaries:
            if b.action == "rename" and b.new_name is not None:
                renames.setdefault((b.file, b.pos, b.inner), {})[b.name] = b.new_name
        # Names that tables got, tables that were put aside for others, and these others.
        self._got = {new for of in renames.values() for new in of.values()}
        pairs = [
            (live, old, copy)
            for of in renames.values()
            for copy, live in of.items()
            if (old := of.get(live)) is not None and old not in of
        ]
        self._aside = {old for _, old, _ in pairs}
        self._copies = {copy for _, _, copy in pairs}
        self._known = {b.name for b in boundaries if b.action != "drop"}

    def find(self) -> Iterator[Suspect]:
        """The suspects."""
        found = [(b, s) for b in self._all for s in self._judged(b)]
        seen: dict[tuple[str, str], set[int]] = {}
        for b, suspect in found:
            seen.setdefault(self._kind(b, suspect), set()).add(self._window(b))
        for b, suspect in found:
            others = elsewhere(self._window(b), seen[self._kind(b, suspect)])
            if others:
                suspect.less(1 / (1 + others), "the like was done at other times, too")
            if others < OFTEN:
                yield suspect

    def _moment(self, b: Boundary) -> tuple[int, int]:
        """The connection and the time."""
        done = self._transactions.get(-1 if b.tx is None else b.tx, {})
        return done.get("thread_id") or -1, done.get("timestamp") or 0

    def _window(self, b: Boundary) -> int:
        return self._moment(b)[1] // WINDOW

    def _kind(self, b: Boundary, suspect: Suspect) -> tuple[str, str]:
        """What is alike: a rule, and a table's name but for its numbers."""
        return suspect.best, re.sub(r"\d+", "0", ".".join(b.name))

    def _judged(self, b: Boundary) -> Iterator[Suspect]:
        judge = getattr(self, f"_{b.action}", None)
        found = None if judge is None else judge(b)
        if found is not None:
            found.names, found.txs = [b.name], [] if b.tx is None else [b.tx]
            found.at = (b.file, b.pos)
            found.what = found.what or [_short(b.statement)]
            yield found

    def _drop_database(self, _: Boundary) -> Suspect:
        return Suspect("drop database", {"drop_database": 1.0})

    def _drop(self, b: Boundary) -> Suspect:
        suspect = Suspect("drop", {"drop_table": 1.0})
        helper = _HELPER.fullmatch(b.name[1])
        if b.name in self._aside:
            suspect.less(0.25, "another table had taken its place")
        elif helper and self._trace((b.name[0], helper[1])):
            suspect.less(0.25, f"it is named like a tool's for {helper[1]}")
        elif not self._trace(b.name):
            suspect.less(0.6, "the log has no other trace of the table")
        return self._emptied(b, suspect)

    def _trace(self, name: TableId) -> bool:
        """Whether the log has anything of a table but its end."""
        return self._touched(name) or name in self._known

    def _truncate(self, b: Boundary) -> Suspect:
        return self._emptied(b, Suspect("truncate", {"truncate": 1.0}))

    def _emptied(self, b: Boundary, suspect: Suspect) -> Suspect:
        """Less suspicious where its connection made the table just before, or fills it again."""
        made, moment = self._made.get(b.name), self._moment(b)
        if b.tx is None:
            return suspect
        if made is not None and made.tx is not None and self._moment(made)[0] == moment[0]:
            if 0 < b.tx - made.tx <= _SHORT * self._count:
                suspect.less(0.25, "the same connection had made it just before")
        elif (rows := self._filled(b.name, b.tx, *moment)) >= _FILLED:
            suspect.less(0.3, f"the same connection inserts {rows:,} rows afterwards")
        return suspect

    def _statement_write(self, b: Boundary) -> Suspect | None:
        if b.moves_rows:
            return Suspect("alter", {"drop_partition": 1.0})
        return None

    def _alter(self, b: Boundary) -> Suspect | None:
        done = b.alteration
        if done is None or not done.dropped | done.converted - done.lost:
            return None
        suspect = Suspect("alter", {})
        if done.dropped:
            suspect.found["drop_column"] = 1.0
            suspect.what.append(f"dropped {', '.join(sorted(done.dropped))}")
        for name in sorted(done.converted - done.lost):
            before, _ = done.changed[name]
            suspect.found["convert"] = max(
                0.25 if before is None and done.strict else 1.0, suspect.found.get("convert", 0)
            )
            suspect.what.append(f"{name} redefined")
        suspect.what.append(_short(b.statement))
        if b.name in self._made and b.name in self._copies:
            suspect.less(0.5, "on a copy that took the table's place later")
        elif b.name in self._made and not self._touched(b.name):
            suspect.less(0.25, "the log has no row of the table")
        return suspect

    def _rename(self, b: Boundary) -> Suspect | None:
        stays = b.name in self._got or b.name in self._copies
        return None if stays else Suspect("rename", {"rename_away": 1.0})


# ---- statements -----------------------------------------------------------------------------


def stated(statements: Iterable[Mapping[str, Any]], count: int) -> Iterator[Suspect]:
    """Suspects among statements that the log holds as text.

    ``count``: how many transactions the log has.
    """
    kinds: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    made = set[tuple[int, str]]()
    for row in statements:
        if row["error_code"] or row["kind"] not in ("account", "dml", "ddl"):
            continue
        program = _PROGRAM.search(row["query"][:_COMPARED]) if row["kind"] == "ddl" else None
        if row["kind"] == "ddl" and (
            program is None or _made_here(program, row["thread_id"], made)
        ):
            continue
        words = leading_words(row["query"], 2)
        op = " ".join(words[: 2 if words[:1] in _TWO_WORDS else 1]).lower()
        alike = _VARIES.sub("?", row["query"][:_COMPARED])
        kinds.setdefault((f"{row['kind']} {op}", alike), []).append(row)
    found = []
    for (kind, _), rows in kinds.items():
        times = {(int(row["thread_id"]), int(row["timestamp"]) // WINDOW) for row in rows}
        others = elsewhere(min(times)[1], {window for _, window in times})
        if others < OFTEN:
            found.append((kind, others, rows))
    texts = sum(len(rows) for kind, _, rows in found if kind.startswith("dml"))
    for kind, others, rows in found:
        rule = _rule(kind, rows[0]["query"], texts <= max(1, _TEXTS * count))
        if rule is not None:
            suspect = Suspect(kind.partition(" ")[2], {rule: 1 / (1 + others)})
            suspect.what.append(_short(rows[0]["query"]))
            suspect.at = (rows[0]["file"], rows[0]["pos"])
            yield suspect


def _made_here(program: re.Match[str], thread: int, made: set[tuple[int, str]]) -> bool:
    """Whether a statement makes a program, or drops one that its connection had made."""
    what = thread, f"{program[2].upper()} {program[3].replace('`', '').rpartition('.')[2]}"
    if program[1].upper() == "CREATE":
        made.add(what)
    return what in made


def _rule(kind: str, query: str, seldom: bool) -> str | None:
    if kind.startswith("account"):
        return "account_all" if _ALL_RIGHTS.search(query) else "account"
    if kind.startswith("ddl"):
        return "drop_program"
    if unconditional(query):
        return "text_whole"
    return "text" if seldom else None


def unconditional(query: str) -> bool:
    """Whether an UPDATE or DELETE names no rows."""
    words: list[str] = []
    try:
        for kind, text in pieces(query):
            words += re.findall(r"\w+", text.upper()) if kind == "plain" else [""]
    except SchemaError:
        return False
    return words[:1] in (["UPDATE"], ["DELETE"]) and not {"WHERE", "LIMIT", "JOIN", "USING"} & {
        *words
    }


# ---- integrity ------------------------------------------------------------------------------


def gaps(findings: Iterable[Mapping[str, Any]]) -> Iterator[Suspect]:
    """What may be missing: one suspect for each code of findings."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for row in findings:
        code = row["code"]
        if code in CODES and (
            CODES[code].role in (Role.GAP, Role.ORDER) or row["grade"] == "damage"
        ):
            found.setdefault(code, []).append(row)
    places = set[tuple[Any, Any]]()
    for code, rows in found.items():
        place = rows[0]["file"], rows[0]["pos"]
        if place in places and len(rows) == 1:  # one damage, two findings
            continue
        places.add(place)
        rule = "unlogged" if code == "unlogged_change" else "gap"
        suspect = Suspect("unlogged" if rule == "unlogged" else "gap", {rule: 1.0})
        suspect.at = (rows[0]["file"], rows[0]["pos"])
        suspect.what = [rows[0]["found"]]
        if len(rows) > 1:
            suspect.what.append(f"{len(rows) - 1:,} more like it")
        yield suspect


def _short(text: str) -> str:
    """The beginning of a statement, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"
