"""The front of live state: tables and queries as of the end of the last transaction."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from binlogkit.constants import TableId
from binlogkit.errors import UndeterminedError, UsageError
from binlogkit.events.gtid_set import GtidSet
from binlogkit.livestate.allocators import give_back
from binlogkit.livestate.beginning import Beginning, How, begin, check_reach
from binlogkit.livestate.copies import check_name, write_copy
from binlogkit.livestate.history import At, Moments
from binlogkit.livestate.moment import Moment
from binlogkit.livestate.queries import Queries
from binlogkit.livestate.query import Answer, KeptQuery
from binlogkit.livestate.states import is_written, reasons, state_of, write_folder
from binlogkit.livestate.tables import LiveTables
from binlogkit.livestate.views.view import View, ViewChange
from binlogkit.log.states.table_state import TableState
from binlogkit.rows.filter_args import texts
from binlogkit.rows.filters import parse_table_name, written_table_name
from binlogkit.rows.gtid_ledger import GtidLedger
from binlogkit.rows.series import in_order

if TYPE_CHECKING:
    import pandas as pd

    from binlogkit.errors import LostConnectionError
    from binlogkit.log.transactions_as_written import Step
    from binlogkit.rows.soundness import Gap
    from binlogkit.sources.server.resume import Stop

_MEMORY = 1 << 30
_TOGETHER = 256  # batches that are applied as one step, where as many have come
_MANY = 100_000  # changes, after which freed memory is given back when no more come
_ASSUMES = (
    "Nothing was changed without being logged (sql_log_bin=0, a filter of the server), nor left "
    "out of these logs.",
)


def live(
    source: Any,
    tables: str | Iterable[str],
    *,
    base: Any = None,
    base_at: str | tuple[str, int] | None = None,
    base_gtid: str | GtidSet | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    copy: str | os.PathLike[str] | None = None,
    every: float | None = None,
    lock: str = "tables",
    chunk_rows: int | None = None,
    memory: int = _MEMORY,
    history: int = 0,
    wait: bool = True,
    heartbeat: float = 1.0,
    patience: float = 300.0,
    lost: Callable[[LostConnectionError], None] | None = None,
) -> Live:
    """Tables that are kept up to date while a server, or a folder's logs, are written.

    ``source``: ``mysql://user@host:port``, settings, a Log or what :func:`binlogkit.open` takes.
    ``tables``: one ``db.table``, or several.

    What the tables begin with:

    ``base``: a base as for :meth:`Log.state`. Without one, a server's tables are read now, as of
    one moment, and a folder's tables begin with their CREATE TABLE.
    ``base_at``, ``base_gtid``: the base's position, if it has none itself.
    ``lock``, ``chunk_rows``: how a server's tables are read, as for :func:`binlogkit.snapshot`.
    ``checkpoint``: a folder that :meth:`Live.checkpoint` writes. If it exists, the tables begin
    with it. It is written again at the end.

    What is kept:

    ``copy``: a DuckDB file that :meth:`Live.copy` writes at the end.
    ``every``: seconds after which checkpoint and copy are written again, too.
    ``memory``: bytes that each table, and the changes of one transaction, may take.
    ``history``: bytes that past moments may take, for :meth:`Live.state` as of them.

    How the logs are followed:

    ``wait``: wait for what will be written, else stop at the logs' end.
    ``heartbeat``, ``patience`` (seconds), ``lost``: as :func:`binlogkit.follow`.

    Each row takes the bytes of its values in Arrow and about 40 bytes more, and several times as
    much while changes are applied (docs/live.md). Close it at the end (``with``).

    Errors: UsageError, InputError, LimitError (a table or transaction takes more than ``memory``),
    ServerError and its kinds.
    """
    from binlogkit.sources.server.resume import Stop

    names = texts("tables", tables)
    path = None if checkpoint is None else Path(checkpoint)
    if path is not None and base is not None:
        raise UsageError("a checkpoint is a base itself: give one of both")
    copied = None if copy is None else Path(copy)
    if copied is not None:
        check_name(copied, (db for name in names if (db := parse_table_name(name).db) is not None))
    if every is not None and ((path is None and copied is None) or every <= 0):
        raise UsageError("every is a number of seconds, and needs a checkpoint or a copy")
    if path is not None and is_written(path):
        base = path
    follow: dict[str, Any] = {"wait": wait}
    if not isinstance(source, str) or source.lower().startswith("mysql://"):
        follow |= {"heartbeat": heartbeat, "patience": patience, "lost": lost}
    stop = Stop()
    how = How(base, base_at, base_gtid, lock, chunk_rows, memory, stop, follow)
    begun = Live(begin(source, names, how), stop, memory, path, history, every, copied)
    give_back()
    return begun


class Live:
    """Tables as of the end of the last transaction. See :func:`live`.

    A thread follows the logs. Whatever is asked is answered as of one transaction's end, which
    ``moment`` names; :meth:`holding` keeps it unchanged for several questions. After an error that
    ends the following, each question raises it.
    """

    def __init__(
        self, begun: Beginning, stop: Stop, memory: int, checkpoint: Path | None = None,
        history: int = 0, every: float | None = None, copy: Path | None = None,
    ) -> None:  # fmt: skip
        self._following, self._base_gtids = begun.following, begun.gtids
        self._stop, self._path, self._copy = stop, checkpoint, copy
        self._lock = threading.RLock()
        self._news = threading.Condition(self._lock)
        self._tables, self._most = LiveTables(begun.bases, begun.wanted, memory), memory
        self._ledger = GtidLedger(begun.gtids)
        file, pos = begun.position or ("", 0)
        self._moment = Moment(file, pos, begun.gtids)
        self._error: Exception | None = None
        self._ended = False
        self._queries = Queries(self._tables)
        self._gaps: list[Gap] = []
        self._history = Moments(history)
        self._remember()
        self._thread = threading.Thread(target=self._run, name="binlogkit-live", daemon=True)
        self._thread.start()
        self._writing, self._closing = threading.Lock(), threading.Event()
        self._writer: threading.Thread | None = None
        if every is not None:
            name = "binlogkit-live-checkpoints"
            self._writer = threading.Thread(target=self._write, args=(every,), name=name)
            self._writer.daemon = True
            self._writer.start()

    def _write(self, every: float) -> None:
        """Write checkpoints and copies until it is closed, where something was applied since the
        last."""
        written: Moment | None = None
        while self._error is None:
            if written != self._moment:
                try:
                    written = self._write_all()
                except (UndeterminedError, UsageError):
                    pass  # later ones may be possible
                except Exception as error:  # noqa: BLE001  it is raised by whoever asks next
                    self._error = error
            if self._closing.wait(every):
                return

    def _write_all(self) -> Moment | None:
        """Write what was asked for; the moment that it is as of."""
        written = None if self._path is None else self.checkpoint(self._path)
        return written if self._copy is None else self.copy(self._copy)

    # ---- following ----------------------------------------------------------------------------

    def _run(self) -> None:
        following, tables, checked, changes = self._following, self._tables, False, 0
        try:
            steps = following.steps(
                tables.filters, heard=tables.heard, together=_TOGETHER, most=self._most
            )
            for step in steps:
                if not checked:
                    check_reach(following, self._base_gtids)
                    checked = True
                with self._news:
                    self._apply(step)
                    self._news.notify_all()
                changes += sum(one.batch.num_rows for one in step.batches)
                del step  # its changes need not be kept while more is waited for
                if changes >= _MANY and not following.has_more():
                    changes = 0
                    give_back()
                if self._stop:
                    break
        except Exception as error:  # noqa: BLE001  it is raised by whoever asks next
            self._error = error
        finally:
            with self._news:
                self._ended = True
                self._news.notify_all()

    def _apply(self, step: Step) -> None:
        changes = self._tables.apply(step)
        self._gaps = step.gaps
        self._ledger.add_set(GtidSet.of(gtid for gtid in step.gtids if gtid is not None))
        self._moment = Moment(
            step.file.rpartition("/")[2],
            step.pos,
            self._ledger.to_set(),
            step.committed or self._moment.committed,
            self._moment.count + len(step.numbers),
        )
        self._remember()
        self._queries.take(changes, self._moment, self._missing)

    def _remember(self) -> None:
        if self._history.on:
            tables = self._tables
            shown = {name: tables.show(name, self._missing(name)) for name in tables.shown()}
            self._history.note(self._moment, shown)

    def _missing(self, name: TableId) -> list[str]:
        """Where changes of a table may be missing."""
        return [str(gap) for gap in self._gaps if gap.concerns([".".join(name)])]

    def check(self) -> None:
        """Raise what ended the following, where something did."""
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        """Let the following end soon; what was applied can still be asked for."""
        self._stop.now()
        with self._news:
            self._news.notify_all()

    def wait(self, timeout: float | None = None) -> None:
        """Wait until something was applied, or the following ended."""
        with self._news:
            self.check()
            if not self._ended:
                self._news.wait(timeout)

    def close(self) -> None:
        """End the following; a checkpoint and a copy are written where they were named."""
        self._following.close()
        self._thread.join()
        self._closing.set()
        if self._writer is not None:
            self._writer.join()
        if self._error is None:
            self._write_all()

    def __enter__(self) -> Live:
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is not None:
            self._path = self._copy = None
        self.close()

    # ---- where it is --------------------------------------------------------------------------

    @property
    def moment(self) -> Moment:
        """The transaction's end that everything shown is as of."""
        self.check()
        return self._moment

    @property
    def ended(self) -> bool:
        """Whether nothing is followed any more: the logs ended, or an error came."""
        return self._ended

    @property
    def lag(self) -> float:
        """How many seconds what is shown lags the logs' end, as far as that is known: 0 when
        everything that came is applied, else the age of the last transaction that is."""
        self.check()
        moment, reached = self._moment, self._reached()
        if self._ended or reached is None or reached <= in_order((moment.file, moment.pos)):
            return 0.0
        then = moment.committed
        return 0.0 if then is None else max(time.time() - then / 1e6, 0.0)

    def wait_for(
        self, what: str | GtidSet | tuple[str, int], timeout: float | None = None
    ) -> Moment:
        """Wait until transactions are applied: a GTID, a set of them, or those up to a file and a
        position. TimeoutError after ``timeout`` seconds."""
        wanted = GtidSet.parse(what) if isinstance(what, str) else what
        until = None if timeout is None else time.monotonic() + timeout
        with self._news:
            while not self._has(wanted):
                self.check()
                left = None if until is None else until - time.monotonic()
                if self._ended or (left is not None and left <= 0):
                    raise TimeoutError(f"{what} was not applied: {self._moment}")
                self._news.wait(left if left is None else min(left, 1.0))
            return self._moment

    def _has(self, wanted: GtidSet | tuple[str, int]) -> bool:
        moment = self._moment
        if isinstance(wanted, GtidSet):
            return not wanted.subtract(moment.gtids)
        here, place = in_order((moment.file, moment.pos)), in_order(wanted)
        reached = self._reached()
        return here >= place or (reached is not None and place <= reached <= here)

    def _reached(self) -> tuple[str, int, int] | None:
        """How far a server says that nothing else is there, by :func:`in_order`."""
        tail = getattr(self._following, "tail", None)
        return None if tail is None or tail.reached is None else in_order(tail.reached)

    @contextmanager
    def holding(self) -> Iterator[Moment]:
        """Hold the moment still: what is asked in between is all as of it."""
        with self._lock:
            self.check()
            yield self._moment

    # ---- tables -------------------------------------------------------------------------------

    @property
    def tables(self) -> list[str]:
        """The tables that are there."""
        with self.holding():
            return [written_table_name(*name) for name in self._tables.shown()]

    def state(self, table: str, *, at: At | None = None) -> TableState:
        """A table as of the moment, with how far it is determined; ``at``: as of one of
        :attr:`moments`, or of its GTID set or place. Errors: UsageError, UndeterminedError (the
        table is not there then, or ``at`` is no moment that is kept)."""
        with self.holding() as moment:
            name = self._name(table)
            if at is None:
                shown = self._tables.show(name, self._missing(name))
                return state_of(name, shown, moment, _ASSUMES)
            then, tables = self._history.find(table, at)
        if name not in tables:
            raise UndeterminedError(table, ("the table was not there then",))
        return state_of(name, tables[name], then, _ASSUMES)

    @property
    def moments(self) -> list[Moment]:
        """The moments that :meth:`state` can go back to, the latest last."""
        with self.holding():
            return self._history.moments

    def soundness(self, table: str) -> list[str]:
        """Why a table's rows are not certain, a sentence each; none where they are."""
        return reasons(self.state(table))

    def __getitem__(self, table: str) -> pd.DataFrame:
        """A table's rows as pandas. UndeterminedError: what was read does not determine them."""
        state = self.state(table)
        doubts = reasons(state)
        if doubts:
            raise UndeterminedError(table, tuple(doubts))
        return state.frame()

    def _name(self, table: str) -> TableId:
        wanted = parse_table_name(table)
        found = [name for name in self._tables.wanted if wanted(*name)]
        if len(found) != 1:
            listed = ", ".join(written_table_name(*name) for name in self._tables.wanted)
            raise UsageError(f"{table} is not one of the tables kept ({listed})")
        return found[0]

    # ---- queries ------------------------------------------------------------------------------

    def register(
        self,
        sql: str,
        *,
        name: str | None = None,
        on_change: Callable[[ViewChange], object] | None = None,
        recompute: bool = False,
    ) -> KeptQuery:
        """Keep a query's result up to date by changes.

        ``sql``: one SELECT in MySQL's SQL over these tables: filters, inner and left joins with an
        equality, GROUP BY, HAVING, COUNT, SUM, MIN, MAX, AVG, DISTINCT, ORDER BY with LIMIT;
        ``on_change``: is called with each change, while nothing else is applied; ``recompute``: a
        query that cannot be kept by changes is calculated anew from all rows, when it is read after
        a change, or at each step for whoever listens for changes. Whatever could differ from the
        server's answer is refused (docs/live.md). Errors: UsageError (why), UndeterminedError.
        """
        with self.holding() as moment:
            view = View(name or f"query {len(self._queries) + 1}", sql, on_change, recompute)
            self._queries.add(view, moment, self._missing)
            return KeptQuery(self, view, self._news)

    def drop(self, name: str) -> None:
        """Keep a query no more."""
        with self._lock:
            self._queries.drop(name)

    def explain(self, query: str | None = None) -> list[str]:
        """How registered queries are kept up to date, or why not, a sentence or more each; of one
        by its name; of the SQL of one that is not registered, whether it could be."""
        with self.holding():
            return self._queries.explain(query)

    def sql(self, sql: str) -> Answer:
        """A query's answer as of the moment, calculated once from all rows, by the rules of
        :meth:`register` with ``recompute``. Errors: UsageError, UndeterminedError."""
        with self.holding() as moment:
            view = View("", sql, None, recompute=True)
            self._queries.begin(view, moment, self._missing)
            assert view.plan is not None
            return Answer(view.plan.names(), list(view.shown_rows()), moment)

    # ---- checkpoints --------------------------------------------------------------------------

    def checkpoint(self, path: str | os.PathLike[str]) -> Moment:
        """Write the tables into a folder, in place of an earlier checkpoint: a base to begin with,
        here or for :meth:`Log.state`. It includes the tables from which foreign keys change them.

        What is prepared by XA and not decided is not in its GTID set, so that it comes again;
        without GTIDs there must be none. Errors: UsageError, UndeterminedError, WriteError.
        """
        tables = self._tables
        with self.holding() as moment:
            shown = list(tables.shown())
            above = {parent for name in shown for _, parent in tables.parents(name)}
            states = self._sound([*shown, *sorted(above.difference(shown) & tables.there())])
            open_ones = tables.undecided
            if open_ones and not moment.gtids:
                raise UsageError("an XA transaction is prepared and not decided: try later")
            gtids = moment.gtids.subtract(GtidSet.of(g for g in open_ones.values() if g))
        with self._writing:  # never while it waits for the lock of what is shown
            write_folder(states, Path(path), gtids or None, shutil.rmtree)
        return moment

    def copy(self, path: str | os.PathLike[str]) -> Moment:
        """Write the tables into a DuckDB file, in place of an earlier one, which who reads it keeps
        until it is opened again. ``binlogkit_moment`` has what it is as of.

        Errors: UndeterminedError, UsageError (DuckDB is not installed), WriteError.
        """
        with self.holding() as moment:
            states = self._sound(list(self._tables.shown()))
        with self._writing:
            write_copy(states, moment, Path(path))
        return moment

    def _sound(self, names: Iterable[TableId]) -> list[TableState]:
        """Tables as of the moment. UndeterminedError: what was read does not determine one."""
        found = []
        for name in names:
            shown = self._tables.show(name, self._missing(name))
            state = state_of(name, shown, self._moment, _ASSUMES)
            if doubts := reasons(state):
                raise UndeterminedError(".".join(state.table), tuple(doubts))
            found.append(state)
        return found
