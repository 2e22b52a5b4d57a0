"""Random histories of statements on a real server, and binlogkit's answers against its SELECT.

``python -m tests.truth.histories --server 5.7|8.0|9 --image FULL|MINIMAL --histories N --seed S``
prints a line of JSON for each fault and one with sums; status 1 where there was a fault.
``--number I`` is one history alone, ``--shrink`` leaves away what a fault does not need,
``--outside`` adds ALTER TABLEs that are not logged, ``--errors`` takes a script that ends with any
error of the server for a fault, ``--story FILE`` plays statements of a file, a line each. What must
hold:

States (``state``, ``base``, ``back``). What a state determines is what SELECT said at that place:
each row, and each cell that is not unknown; also a state that goes on from an earlier one, or back
from a later one, with logs that begin there.

Undo: as tests/truth/history_promises.py says. A script that writes a generated column, or against a
foreign key, of which the logs say nothing, and one that sets off a trigger which nothing passes are
no faults. With ``+units`` (by_transaction) all of a transaction is undone or nothing of it.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import tempfile
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pymysql

import binlogkit as bk
from binlogkit.analyses.undoing.plans import NO_CHANGE, NOT_COMMITTED
from binlogkit.errors import BinlogKitError, UnmetWarning
from binlogkit.log.states.backwards import Back
from binlogkit.log.states.forwards import States
from binlogkit.log.states.point import Point
from binlogkit.log.states.table_states import states_of
from binlogkit.reports.sql import SqlOptions, script
from binlogkit.sources.log_format import CASCADES_LOGGED, version_tuple
from binlogkit_fixtures.clock import start_server
from binlogkit_fixtures.manifest import Table
from binlogkit_fixtures.servers import Server, ServerSpec
from binlogkit_fixtures.truth import read_tables
from tests.log.states.bases.test_bases_server import position
from tests.truth.history_promises import Mark, between, identity, whole
from tests.truth.history_rows import Change, keyed
from tests.truth.history_statements import MARK, RESTART, STOP, Statements
from tests.truth.truth_checks import judge_state

FROM = "-- from"  # a state goes on from here, or back to it
MODES = ("refuse", "skip", "cascade", "force", "merge")
UNITS = "+units"  # a mode that undoes whole transactions or none
REST = "+rest"  # a mode whose script commits although changes are refused
KINDS = ("whole", *(f"{m}{how}" for m in MODES for how in ("", REST, UNITS, UNITS + REST)))
UNDOS = 3  # of each kind in a history, at most
_ENDED = "EXECUTE bk_statement;"
_CODES = (1054, 1064)  # errors that no script may have: an unknown column, bad syntax
_NO_TABLE = 1146
_DUPLICATE = 1062  # in a table that triggers write
_OWN_TABLE = 1442  # a trigger writes the table whose statement set it off
_GENERATED = 3105  # a generated column is written, of which the script's verdict tells first
_REFERENCES = (1451, 1452)  # a foreign key refuses, of which a log without its CREATE says nothing
_VALUES = (1264, 1265, 1292, 1364, 1366, 1406)  # errors of what is written: no DELETE's own
_NOT_RENAMED = (
    1025  # 5.7.22 drops what a copying ALTER TABLE should, and fails to add a foreign key
)
_GONE = (2006, 2013)  # the connection was lost
_OF_ROW = re.compile(r"\b(?:NEW|OLD)\.(\w+)")
_OF_COLUMN = re.compile(r"[Cc]olumn '(\w+)'")  # in an error's text
_PARTS = re.compile(r"cascade|skip|rest")  # what is compared with the marks in between
_PATIENCE = 70.0  # seconds for making one story shorter


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong, and the statements up to there."""

    kind: str
    text: str
    steps: Sequence[str]


@dataclass
class History:
    """Statements that are run one after the other, and marks between them.

    ``settings``: of each session; ``altered``: the tables that were altered outside the log, which
    need not show it; ``every``: marks after each statement, not only where a step asks
    for one, and in the end; ``errors``: whether any error of the server in a script is a fault;
    ``lost``: whether an ALTER TABLE that failed, and is not logged, took a foreign key (5.7);
    ``first``: its first log.
    """

    server: Server
    settings: str
    folder: Path
    every: bool = True
    errors: bool = False
    steps: list[str] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    labels: dict[str, Mark] = field(default_factory=dict)
    altered: set[str] = field(default_factory=set)
    lost: bool = False

    def __post_init__(self) -> None:
        self._connect()
        for statement in ("DROP DATABASE IF EXISTS h", "FLUSH BINARY LOGS"):
            self.server.query(statement)
        self.first = self.server.binlog_names()[-1]
        self.server.query("CREATE DATABASE h CHARSET utf8mb4")
        self.session.select_db("h")

    def _connect(self) -> None:
        self.session = self.another(init_command=self.settings)
        # With checks no table opens whose foreign key joins unlike columns (made without checks).
        self.observer = self.another(
            init_command="SET time_zone = '+00:00', sql_mode = '', sql_log_bin = 1, "
            "foreign_key_checks = 0"
        )

    def another(self, **how: Any) -> pymysql.connections.Connection[Any]:
        """A session without TLS, which takes longer than most statements."""
        return self.server.connect(ssl_disabled=True, **how)

    def run(self, step: str) -> None:
        """One step; what the server refuses is ignored."""
        self.steps.append(step)
        if step == RESTART:
            self.close()
            self.server.stop()
            self.server.start_again()
            self._connect()
            self.session.select_db("h")
        elif step.startswith("--"):
            self.labels[step] = self.marks[-1] if self.every and self.marks else self.marked()
            return
        else:
            try:
                with self.session.cursor() as cursor:
                    cursor.execute(step)
                    unlogged = step.startswith("ALTER TABLE") and not self._logged(cursor)
            except pymysql.Error as error:
                unlogged = error.args[0] == _NOT_RENAMED
                self.lost = self.lost or unlogged
            if unlogged:
                self.altered |= {
                    identity(t)
                    for t in self.marked().tables.values()
                    if t.create.startswith(f"CREATE TABLE `{step.split()[2]}`")
                }
        if self.every and not self._open():
            mark = self.marked()
            if not self.marks or mark.at != self.marks[-1].at:
                self.marks.append(mark)

    def _logged(self, cursor: Any) -> bool:
        cursor.execute("SELECT @@sql_log_bin")
        return bool(cursor.fetchone()[0])

    def _open(self) -> bool:
        """Whether a transaction is open."""
        return bool(vars(self.session)["server_status"] & 1)

    def finish(self) -> None:
        """The last transaction ends."""
        self.session.rollback()
        self.marks.append(self.marked())

    def close(self) -> None:
        """End its sessions."""
        for session in (self.session, self.observer):
            with suppress(pymysql.Error):
                session.close()

    def marked(self) -> Mark:
        """What SELECT says now."""
        tables = {k[2:]: t for k, t in read_tables(self.observer, ["h"]).items()}
        return Mark(*position(self.server), tables, len(self.steps))

    def log(self, first: str = "") -> bk.Log:
        """Its logs, from one on."""
        names = self.server.binlog_names()
        names = names[names.index(first or self.first) :]
        return bk.open([str(self.server.copy_binlog(name, self.folder)) for name in names])

    def outside(self) -> list[str]:
        """The names of the tables that were altered outside the log."""
        tables = self.marks[-1].tables
        return [name for name, table in tables.items() if identity(table) in self.altered]

    def triggers(self) -> list[str]:
        """Those that there are."""
        return [str(row[0]) for row in self.server.query("SHOW TRIGGERS FROM h")]

    def triggered(self, *, tables: bool = True) -> set[str]:
        """The names in their bodies, of tables that they write, too, and of their ``tables``."""
        rows = self.server.query("SHOW TRIGGERS FROM h")
        own = {str(row[2]) for row in rows if tables}
        return own.union(*(re.findall(r"\w+", str(row[3])) for row in rows))

    def broken(self) -> bool:
        """Whether there is a trigger that no statement passes, the application's neither."""
        with self.another(database="h") as session, session.cursor() as cursor:
            cursor.execute("SHOW TRIGGERS")
            for _, _, table, body, *_ in cursor.fetchall():
                cursor.execute(f"SHOW COLUMNS FROM {table}")
                columns = {str(row[0]) for row in cursor.fetchall()}
                if not columns.issuperset(_OF_ROW.findall(body)):
                    return True
                try:
                    if not body.startswith("SET"):
                        cursor.execute(f"EXPLAIN {_OF_ROW.sub('NULL', body)}")
                except pymysql.Error as error:
                    if error.args[0] in (*_CODES, _NO_TABLE):
                        return True
        return False


# ---- states ---------------------------------------------------------------------------------


def check_states(history: History, notes: Counter[str], marks: Iterable[Mark]) -> Iterator[Fault]:
    """Every table of each mark, of all tables at once and of two alone.

    The log is read once for all tables of all marks, as for a difference; again for the last one.
    """
    log, chance, marks = history.log(), random.Random(len(history.steps)), [*marks]
    points = [Point(log, {"at": mark.at}) for mark in marks[:-1]]
    read = cache(lambda: states_of(log, None, points, {}))
    for number, mark in enumerate(marks):
        steps = history.steps[: mark.step]
        every: Callable[[], Iterator[bk.TableState]] = partial(log.states, at=mark.at)
        if number < len(points):
            every = partial(_at, read, points[number])
        for fault in _judged("state", every, mark, notes, history.altered):
            yield replace(fault, steps=steps)
        if chance.random() < 0.7:
            continue
        some = [f"h.{n}" for n in chance.sample(sorted(mark.tables), min(2, len(mark.tables)))]
        asked = partial(log.states, some, at=mark.at)
        for fault in _judged("state of some", asked, mark, notes, history.altered, some):
            yield replace(fault, steps=steps)


def _at(read: Callable[[], States | Back], point: Point) -> Iterator[bk.TableState]:
    """The states at one of the points of a reading."""
    states = read()
    yield from (states.at(point, table) for table in states.tables(point))


def check_from(history: History, notes: Counter[str], kind: str, end: Mark) -> Iterator[Fault]:
    """States on from those of an earlier mark (``base``), or back from those of a later one."""
    start = history.labels[FROM]
    steps = [*history.steps[: start.step], FROM, *history.steps[start.step : end.step]]
    of, to = (start, end) if kind.startswith("base") else (end, start)
    bases, held = list[str](), ""
    try:
        for number, state in enumerate(history.log().states(at=of.at)):
            if state.rows_determined and state.table[1] in of.tables and state.columns:
                bases.append(str(history.folder / f"{number}.parquet"))
                held = state.table[1]
                state.to_parquet(bases[-1])
    except BinlogKitError as error:
        notes[f"{kind}: {type(error).__name__}"] += 1
        return
    log = history.log(start.file)
    names = [f"h.{name}" for name in to.tables]
    if kind.endswith("alone") and bases:
        bases = bases[-1:]
        names = [f"h.{n}" for n, t in to.tables.items() if identity(t) == identity(of.tables[held])]
    if not bases or not names:
        return
    how: dict[str, Any] = {"base" if kind.startswith("base") else "back_from": bases}
    for fault in _judged(
        kind, lambda: log.states(names, at=to.at, **how), to, notes, history.altered, names
    ):
        yield replace(fault, steps=steps)


def _judged(
    kind: str,
    states: Callable[[], Iterator[bk.TableState]],
    mark: Mark,
    notes: Counter[str],
    altered: set[str],
    names: Sequence[str] | None = None,
) -> Iterator[Fault]:
    """States against a mark's tables; all of these if no ``names`` are given."""
    told, details = set(), Counter[str]()
    try:
        for state in states():
            name = state.table[1]
            told.add(name)
            table = mark.tables.get(name)
            if table is not None and identity(table) in altered:
                notes[f"{kind}: altered outside the log, determined={state.determined}"] += 1
                continue
            wrong = [*judge_state(state, table, f"{mark.at} {name}", details)]
            doubts = {f["finding"] for f in state.findings.to_pylist() if not f["determined"]}
            for text in wrong:
                yield Fault(kind, text, ())
            notes[f"{kind}: compared"] += 1
            if state.rows_determined:
                whole = "equal" if state.determined else "equal, with unknown cells"
                notes[f"{kind}: determined and {'wrong' if wrong else whole}"] += 1
            else:
                notes[f"{kind}: undetermined: {', '.join(sorted(doubts)) or 'no finding'}"] += 1
    except BinlogKitError as error:
        notes[f"{kind}: {type(error).__name__}: {_plain(error)}"] += 1
        if "no image of" in str(error):  # nothing that the caller did
            yield Fault(f"{kind} error", f"{type(error).__name__}: {error}", ())
    except Exception as error:  # noqa: BLE001 - whatever is raised is a fault
        notes[f"{kind}: errors"] += 1
        yield Fault(f"{kind} error", f"{type(error).__name__}: {error}", ())
    else:
        if names is None and (missing := mark.tables.keys() - told):
            yield Fault(f"{kind} missing", f"{mark.at}: {sorted(missing)}", ())


def _plain(error: Exception) -> str:
    return re.sub(r"'[^']*'|[\d.:]+|\bh\.\w+", "#", str(error))[:90]


# ---- undo -----------------------------------------------------------------------------------


def check_undo(history: History, notes: Counter[str], kind: str) -> Iterator[Fault]:
    """Undo of all since the mark (``whole``), or in a mode of what lies between two marks."""
    start, stop, end = history.labels[MARK], history.labels[STOP], history.marks[-1]
    if kind != "whole" and start.file != end.file:
        return  # a position stands in the last log
    until: dict[str, Any] = {} if kind == "whole" else {"stop_position": stop.pos}
    mode: Any
    mode, name = "refuse" if kind == "whole" else kind.split("+")[0], f"undo {kind}"
    if history.lost:
        notes[f"{name}: a failed ALTER TABLE took a foreign key, which no log shows"] += 1
        return
    rest, units = kind.endswith(REST), UNITS in kind
    try:
        plans = history.log(start.file).undo(
            start_position=start.pos, mode=mode, by_transaction=units, **until
        )
        told = [*plans]  # each pass computes them again
        verdict, tables = _tried(history, plans, told, rest=rest)
    except (BinlogKitError, UnmetWarning) as error:
        notes[f"{name}: {type(error).__name__}"] += 1
        return
    except pymysql.Error as error:
        code, *_, line = error.args
        unshown = start.file != history.first or bool(history.altered)
        secondary = code == _DUPLICATE and ".PRIMARY'" not in error.args[1]
        undefined = unshown and (code in _REFERENCES or secondary)
        if code == _GENERATED or undefined:
            notes[f"{name}: generated columns or keys, which the log does not show"] += 1
            return
        if code in _CODES and any(f"`{table}`" in line for table in history.outside()):
            notes[f"{name}: a table that was altered outside the log"] += 1
            return
        deleting = code in _VALUES and line.startswith("DELETE")
        known = code in (*_CODES, _NO_TABLE) and history.broken()
        names = history.triggered() if code == _DUPLICATE else ()
        logged = any(f"'{name}." in error.args[1] or f".`{name}`" in line for name in names)
        if code in _REFERENCES:  # of a row that a trigger writes
            names = history.triggered(tables=False)
            logged = any(f"`{name}`, CONSTRAINT" in error.args[1] for name in names)
        column = _OF_COLUMN.search(error.args[1])
        elsewhere = column is not None and f"`{column[1]}`" not in line
        if (
            code == _OWN_TABLE
            or deleting
            or known
            or (history.triggers() and (logged or elsewhere))
        ):
            notes[f"{name}: a trigger that no statement passes, the application's neither"] += 1
            return
        notes[f"{name}: the server's error {code}"] += 1
        if history.errors or code in _CODES:
            yield Fault(f"{name} error {code}", str(error.args), history.steps)
        return
    except Exception as error:  # noqa: BLE001 - whatever is raised is a fault
        notes[f"{name}: errors"] += 1
        yield Fault(f"{name} error", f"{type(error).__name__}: {error}", history.steps)
        return
    if units and mode != "merge":
        for text in _torn(history, start, told):
            yield Fault(f"{name} torn", text, history.steps)
    if tables is None:
        notes[f"{name}: {_verdict(verdict)}"] += 1
        alone = rest or not re.search("refused|skipped", verdict)
        if mode == "force" and any("= STATEMENT" in step for step in history.steps[start.step :]):
            alone = False  # as asked: whatever a later text may have done to the rows
        if start.file != history.first and _struck(history):
            alone = False  # by a foreign key from before the log
        # Nobody was there since, and no trigger writes other values.
        if alone and not history.triggers() and verdict.startswith("rolled back: not every"):
            yield Fault(f"{name} misfit", verdict, history.steps)
        return
    if rest and any("= STATEMENT" in step for step in history.steps[start.step : stop.step]):
        notes[f"{name}: a statement that was logged as text is left out"] += 1
        return
    changes = _changes(history, start, stop, told, rest=rest)
    broken = (
        whole(history.marks, start, tables)
        if kind == "whole"
        else between(mode, history.marks, start, stop, tables, changes, rest=rest)
    )
    wrong = [*broken]
    notes[f"{name}: committed and {'wrong' if wrong else 'right'}"] += 1
    for text in wrong[:1]:
        yield Fault(name, text, history.steps)


def _struck(history: History) -> bool:
    """Whether foreign keys change rows without logging."""
    return version_tuple(history.server.version) < CASCADES_LOGGED and any(
        "ON UPDATE" in table.create or "ON DELETE" in table.create
        for table in history.marks[-1].tables.values()
    )


def _changes(
    history: History, start: Mark, stop: Mark, plans: Any, *, rest: bool
) -> dict[str, list[Change]]:
    """The row changes in the events since a mark, by table, and what becomes of them."""
    found, done = dict[str, list[Change]](), {_place(plan): plan for plan in plans}
    for record in history.log(start.file).row_records(start_position=start.pos):
        plan = done.pop(_place(record), {"refused": "not chosen", "skipped": False})
        undone = plan["refused"] is None
        told = record["pos"] > stop.pos, undone, plan["skipped"] or (rest and not undone)
        one = Change(record["pos"], record["before"], record["after"], *told)
        found.setdefault(record["table"], []).append(one)
    emptied = {(p["pos"], p["table"]) for p in done.values() if rest and p["refused"]}
    for pos, table in emptied:  # by what no event holds the rows of
        before = (m for m in history.marks if m.file == start.file and m.pos <= pos)
        there = max(before, key=lambda mark: mark.pos).tables.get(table)
        rows = keyed(there).values() if there is not None else ()
        left = (Change(pos, row, None, later=False, undone=False, left=True) for row in rows)
        found.setdefault(table, []).extend(left)
    return found


def _torn(history: History, start: Mark, plans: Any) -> Iterator[str]:
    """The transactions of which a part is undone."""
    ledger = history.log(start.file).transactions().sort_values(["file", "pos"])
    begins = [*zip(ledger["file"], ledger["pos"], strict=True)]
    found = dict[int, set[bool]]()
    for plan in plans:
        if not (plan["refused"] or "").startswith((NO_CHANGE, NOT_COMMITTED)):
            of = bisect_right(begins, (plan["file"], plan["pos"]))
            found.setdefault(of, set()).add(plan["refused"] is None)
    yield from (f"that at {begins[of - 1]}" for of, undone in found.items() if len(undone) > 1)


def _place(one: Mapping[str, Any]) -> tuple[Any, ...]:
    return one["pos"], one["inner"], one["row"]  # a plan has the table's last name


def _verdict(verdict: str) -> str:
    """Why nothing was committed: the first words."""
    told = re.sub(r"\d+ changes? w(as|ere) (?=refused)", "", re.sub(r"\bh\.\w+", "#", verdict))
    return re.split(r"; | and not carried|: #", told)[0][:80]


def _tried(
    history: History, plans: Any, told: Sequence[Any], *, rest: bool
) -> tuple[str, Mapping[str, Table] | None]:
    """The verdict, and the tables as the script would leave them if it commits; it rolls back.

    ``told``: each of the plans; ``rest``: whether it may commit although changes are refused.
    """
    verdict, found = "nothing to do", None
    refused = any(plan["refused"] and not plan["skipped"] for plan in told)
    others = {n for n, t in history.marks[-1].tables.items() if t.engine != "InnoDB"}
    written = {plan["table"] for plan in told if not plan["refused"]}
    if (written | history.triggered()) & others:
        return "not tried: what it does to tables without transactions stays", None
    with history.another(autocommit=True) as session, session.cursor() as cursor:
        session.select_db("h")
        for line in script(plans, SqlOptions(commit=True, despite_refused=rest)):
            if line.startswith("--"):
                continue
            if line.strip() == _ENDED:
                cursor.execute("SELECT @bk_end")
                if cursor.fetchall()[0][0] == "COMMIT":
                    found = {k[2:]: t for k, t in read_tables(session, ["h"]).items()}
                    continue
            try:
                cursor.execute(line.rstrip("\n").removesuffix(";"))
            except pymysql.Error as error:
                error.args = (*error.args, line)
                raise
            if rows := cursor.fetchall():
                verdict = str(rows[0][-1])
    assert found is None or rest or not refused, "a script with refusals commits"
    return verdict, found


# ---- campaigns ------------------------------------------------------------------------------


def generated(history: History, chance: random.Random, *, outside: bool) -> None:
    """A history of random statements."""
    version = tuple(map(int, history.server.version.split(".")))
    made = Statements(chance, version, outside=outside)
    for step in made.beginning():
        history.run(step)
    length = chance.randrange(30, 50) + len(history.steps)
    restart = len(history.steps) + chance.randrange(length * 10)
    for _ in range(14):
        made.tables = history.marks[-1].tables
        history.run(made.change())
    while len(history.steps) < length + 14:
        made.tables, made.triggers = history.marks[-1].tables, history.triggers()
        for step in made.step():
            history.run(step)
        if restart <= len(history.steps):
            history.run(RESTART)
            restart = sys.maxsize
    history.finish()


def checked(history: History, notes: Counter[str], chance: random.Random) -> Iterator[Fault]:
    """All checks of a history."""
    some = [mark for mark in history.marks[:-1] if chance.random() < 0.4]
    yield from check_states(history, notes, [*some, history.marks[-1]])
    for kind in ("base", "base", "base alone", "back"):
        start, end = sorted(chance.sample(history.marks, 2), key=lambda m: m.step)
        history.labels[FROM] = start
        yield from check_from(history, notes, kind, end)
    pairs = [*pairwise(history.marks[-15:])]
    pairs = [(a, b) for a, b in pairs if _rows(a) != _rows(b)]
    for kind in chance.sample(KINDS * UNDOS, 6 * UNDOS) if pairs else ():
        start, stop = chance.choice(pairs)
        if kind == "whole" or chance.random() < 0.3:  # what is short is refused less often
            stop = chance.choice([mark for mark in history.marks if mark.step >= stop.step])
        steps = [*history.steps[: start.step], MARK, *history.steps[start.step : stop.step],
                 STOP, *history.steps[stop.step :]]  # fmt: skip
        history.labels |= {MARK: start, STOP: stop}
        for fault in check_undo(history, notes, kind):
            yield replace(fault, steps=steps)


def _rows(mark: Mark) -> list[Any]:
    return [(name, table.rows) for name, table in mark.tables.items()]


def again(history: History, kind: str) -> Iterator[Fault]:
    """The check of one kind of fault, in the end of a story."""
    notes, first = Counter[str](), kind.split()[0]
    if first == "state":
        yield from check_states(history, notes, history.marks[-1:])
    elif first in ("base", "back") and FROM in history.labels:
        yield from check_from(history, notes, kind.removesuffix(" error"), history.marks[-1])
    elif first == "undo" and {MARK, STOP} <= history.labels.keys():
        yield from check_undo(history, notes, kind.split()[1])


def shrunk(server: Server, settings: str, folder: Path, fault: Fault) -> Fault:
    """The fault with fewer statements before it."""
    until = time.monotonic() + _PATIENCE

    def tried(steps: Sequence[str]) -> Fault | None:
        every = bool(_PARTS.search(fault.kind))
        history = History(server, settings, folder, every=every, errors=True)
        try:
            for step in steps:
                history.run(step)
            history.finish()
            found = (f for f in again(history, fault.kind) if f.kind == fault.kind)
            return next((replace(f, steps=list(steps)) for f in found), None)
        finally:
            history.close()

    if (best := tried(fault.steps)) is None:
        return replace(fault, kind=f"{fault.kind} (not seen again)")
    size = len(best.steps) // 2
    while size and time.monotonic() < until:
        for begin in range(len(best.steps) - size, -1, -size):
            less = [*best.steps[:begin], *best.steps[begin + size :]]
            best = tried(less) or best
        size //= 2
    return best


def main(arguments: Sequence[str] | None = None) -> int:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--server", default="8.0")
    parser.add_argument("--image", default="FULL")
    parser.add_argument("--histories", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--number", type=int, default=None)
    parser.add_argument("--shrink", action="store_true")
    parser.add_argument("--outside", action="store_true")
    parser.add_argument("--errors", action="store_true")
    parser.add_argument("--story", type=Path, default=None)
    args = parser.parse_args(arguments)
    notes, faults, seen = Counter[str](), 0, Counter[str]()
    numbers = range(args.histories) if args.number is None else [args.number]
    spec = ServerSpec(args.server, {"gtid-mode": "OFF", "enforce-gtid-consistency": "OFF"})
    with start_server(spec, "auto", "real")[0] as server, tempfile.TemporaryDirectory() as name:
        for number in numbers:
            chance = random.Random(f"{args.server}/{args.image}/{args.seed}/{number}")
            settings = f"SET time_zone = '+00:00', binlog_row_image = {args.image}"
            settings += ", sql_mode = ''" if chance.random() < 0.5 else ""
            if chance.random() < 0.3 and args.server != "5.7":
                settings += ", GLOBAL binlog_row_metadata = FULL"
            elif args.server != "5.7":
                settings += ", GLOBAL binlog_row_metadata = MINIMAL"
            history = History(server, settings, Path(name), errors=args.errors)
            try:
                if args.story is None:
                    generated(history, chance, outside=args.outside)
                else:
                    for step in args.story.read_text().splitlines():
                        history.run(step)
                    history.finish()
            except pymysql.OperationalError as error:
                if error.args[0] not in _GONE:
                    raise
                notes["histories at which the server ended by itself"] += 1
                server.stop()
                server.start_again()
                continue
            notes["histories"] += 1
            found = [*checked(history, notes, chance)]
            history.close()
            for fault in found:
                faults += 1
                seen[fault.kind] += 1
                told = fault
                if args.shrink and seen[fault.kind] == 1:
                    told = shrunk(server, settings, Path(name), fault)
                line = {"server": args.server, "image": args.image, "seed": args.seed,
                        "number": number, "settings": settings, "kind": told.kind,
                        "text": told.text, "statements": list(told.steps)}  # fmt: skip
                print(json.dumps(line, ensure_ascii=False), flush=True)
    print(json.dumps({"server": args.server, "image": args.image, **dict(sorted(notes.items()))}))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
