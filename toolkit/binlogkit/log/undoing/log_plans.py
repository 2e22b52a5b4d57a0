"""The results of :meth:`Log.undo` and :meth:`Log.redo`: plans, their script, their assumptions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from binlogkit.analyses.references import Reference
from binlogkit.analyses.undoing.dependents.found import Dependences
from binlogkit.analyses.undoing.plans import Piece, Plans
from binlogkit.analyses.undoing.shown import SHOWN, shown, shown_rows
from binlogkit.constants import TableId
from binlogkit.errors import UsageError
from binlogkit.overview import Overview, Overviewed

_LOOKED_AT = ["file", "pos", "db", "table", "op", "key", "before", "now", "after", "refused"]
_COUNTED = 100_000  # plans that an overview counts: it is to be there at once

if TYPE_CHECKING:
    import pandas as pd

    from binlogkit.log.streams import Streams
    from binlogkit.log.undoing.proof import Proof
    from binlogkit.sources.server.disposable import Provider


class LogPlans(Overviewed, Plans):
    """Plans of a log's changes, in the order of execution: ``PLANS`` in analyses/undoing/undo.py.

    ``chosen``: which transactions and connections made the changes; ``later``: later changes that
    depend on them, and what was done about it; ``gaps``: where changes may be missing; ``assumes``:
    assumptions that the log cannot show; ``needs``: dropped tables that must be created again
    first, and the statements that created them; a sentence each. ``references``: the foreign keys
    of their tables, if the log holds the server's cascades, which must not happen twice, without
    those to tables that are gone; None: the server checks.
    ``known``: the known foreign keys; the script rolls back if the server has others that act on
    its statements; None: no check. ``undefined``: the tables of which no definition says which
    columns are generated; the script stops if the server says that it would write one.
    """

    def __init__(self, pieces: Iterable[Piece], *, backwards: bool) -> None:
        super().__init__(pieces, backwards=backwards)
        self._title = "undo" if backwards else "redo"
        self.chosen: tuple[str, ...] = ()
        self.later: tuple[str, ...] = ()
        self.gaps: tuple[str, ...] = ()
        self.assumes: tuple[str, ...] = ()
        self.needs: tuple[str, ...] = ()
        self.references: tuple[Reference, ...] | None = None
        self.known: tuple[Reference, ...] | None = None
        self.undefined: tuple[TableId, ...] = ()

    def script(
        self,
        *,
        commit: bool = False,
        despite_refused: bool = False,
        despite_triggers: bool = False,
    ) -> str:
        """The SQL script (reports.sql): ``commit``: commit if every statement did what was meant;
        ``despite_refused``: even if some changes are refused; ``despite_triggers``: even if
        triggers act on its statements. For very many changes ``reports.sql.script(plans)`` gives
        the lines one by one."""
        from binlogkit.reports.sql import SqlOptions, script

        options = SqlOptions(
            self._title,
            commit=commit,
            despite_refused=despite_refused,
            despite_triggers=despite_triggers,
        )
        return "".join(script(self, options))

    def refusals(self) -> list[str]:
        """How many changes were refused for which kind of reason, and what to do about each;
        options are named as on the command line."""
        from binlogkit.reports.sql import Script

        script = Script(self)
        for _ in script.blocks():
            pass
        return script.refusals.lines()

    def frame(self) -> pd.DataFrame:
        """What the script would change, in pandas: each chosen change's row before it, now, and
        after the script (``SHOWN`` in analyses/undoing/shown.py), in log order."""
        from binlogkit.frames.natural import natural

        return natural(shown(self), SHOWN)

    def overview(self) -> Overview:
        """How many changes, what is done with them, and the script's first rows."""
        counted = self.counts() if len(self) <= _COUNTED else {}
        done = [(name, number) for name, number in counted.items() if number]
        facts: list[tuple[str, object]] = [("changes", len(self) or "none was chosen"), *done]
        return Overview(self._title, facts, self._looked_at())

    def _looked_at(self) -> Iterator[dict[str, Any]]:
        return ({name: row.get(name) for name in _LOOKED_AT} for row in shown_rows(self))


class Undo(LogPlans):
    """Plans that undo changes.

    ``dependences``: what depends on the chosen changes; ``log``: the logs that they are from, None
    if they are from a landing;
    ``mode``: what is done with chosen changes on which others depend; ``version``: of the newest
    server that wrote it.
    """

    dependences: Dependences = Dependences.none()
    log: Streams | None
    mode: str
    version: str

    def overview(self) -> Overview:
        """The same, with its mode."""
        title, facts, rows = super().overview()
        return Overview(title, [("mode", self.mode), *facts], rows)

    def prove(
        self,
        *,
        despite_refused: bool = False,
        despite_triggers: bool = False,
        server: Provider | None = None,
    ) -> Proof:
        """Play the whole log and then the script on a throwaway server: the script's verdict, the
        changed rows, and whether they are right.

        **The log's statements are executed**: docs/hostile-input.md says what protects against a
        crafted log, and what does not. The server has the log's version, or the nearest available.
        It starts with the schema file that the log was opened with, which may be a dump with rows
        as of the log's beginning. Afterwards the rows are compared with the images of the undone
        changes; if these are whole transactions, also with a second server that played the log
        without them. All rows are in memory, those of undone tables as records.
        ``despite_refused``, ``despite_triggers``: see :meth:`script`; ``server``: starts a server;
        default: an installed package's (entry point ``binlogkit.servers``).

        Errors: ServerError: no server is available, or it cannot play the log; UsageError: the
        plans are a landing's, which has no logs to play; those of reading.
        """
        from binlogkit.log.undoing.prove_on_server import prove

        if self.log is None:
            raise UsageError("a landing has no logs to play: prove the undo of its logs")

        script = self.script(
            commit=True, despite_refused=despite_refused, despite_triggers=despite_triggers
        )
        return prove(self.log, self, script.splitlines(), self.version, server)

    def dependents(self) -> pa.Table:
        """The changes that depend on undone ones and are not undone themselves, in log order.

        Columns: ``DEPENDENCES`` of analyses/undoing/dependents, which defines dependence.
        """
        return self.dependences.dependents

    def conflicts(self) -> pa.Table:
        """The chosen changes with such dependents, each with one of them; columns as in
        :meth:`dependents`."""
        return self.dependences.conflicts
