"""What :meth:`Log.undo` and :meth:`Log.redo` give: plans, their script, and what they stand on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pyarrow as pa

from binlogkit.analyses.references import Reference
from binlogkit.analyses.undoing.dependents.found import Dependences
from binlogkit.analyses.undoing.plans import Piece, Plans

if TYPE_CHECKING:
    from binlogkit.log.streams import Streams
    from binlogkit.log.undoing.proof import Proof
    from binlogkit.sources.server.disposable import Provider


class LogPlans(Plans):
    """Plans of a log's changes, in the order of execution: ``PLANS`` in analyses/undoing/undo.py.

    ``chosen``: whose changes they are of; ``later``: what later changes depend on those, and what
    was done about it; ``gaps``: where changes may be missing that they do not know of; ``assumes``:
    what they stand on that the log does not show; ``needs``: which tables that were dropped have to
    be made again before, and the statements that made them; a sentence each. ``references``: the
    foreign keys of their tables, where the log has what the server does by them, so that it must
    not do that once more; else none. ``known``: those that are known, for a script that keeps
    nothing where the server has others by which its statements act; None: it does not ask.
    """

    def __init__(self, pieces: Iterable[Piece], *, backwards: bool) -> None:
        super().__init__(pieces, backwards=backwards)
        self._title = "undo" if backwards else "redo"
        self.chosen: tuple[str, ...] = ()
        self.later: tuple[str, ...] = ()
        self.gaps: tuple[str, ...] = ()
        self.assumes: tuple[str, ...] = ()
        self.needs: tuple[str, ...] = ()
        self.references: tuple[Reference, ...] = ()
        self.known: tuple[Reference, ...] | None = None

    def script(
        self,
        *,
        commit: bool = False,
        despite_refused: bool = False,
        despite_triggers: bool = False,
    ) -> str:
        """The SQL script (reports.sql): ``commit``: it commits where every statement did what was
        meant; ``despite_refused``: also where some changes are refused; ``despite_triggers``: where
        triggers act on its statements. Of very many changes
        ``reports.sql.script(plans)`` gives the lines one after the other."""
        from binlogkit.reports.sql import SqlOptions, script

        options = SqlOptions(
            self._title,
            commit=commit,
            despite_refused=despite_refused,
            despite_triggers=despite_triggers,
        )
        return "".join(script(self, options))


class Undo(LogPlans):
    """Plans that take changes back; ``dependences``: what depends on the chosen changes; ``log``:
    the one that they are of; ``version``: of the newest server that wrote it."""

    dependences: Dependences = Dependences.none()
    log: Streams
    version: str

    def prove(
        self,
        *,
        despite_refused: bool = False,
        despite_triggers: bool = False,
        server: Provider | None = None,
    ) -> Proof:
        """Play the whole log on a real server that is there for this only, then the script: what
        the script says, which rows it changed, and whether these are as they should be.

        **The log's statements are executed**: docs/hostile-input.md says what keeps a crafted log
        from doing harm, and what does not. The server is of the log's version, else of the nearest
        that can be had. It begins with the schema file that the log was opened with, which may be a
        dump with rows, of the moment at which the log begins. The rows afterwards are held against
        the images of the undone changes; where these are whole transactions, on a second server
        also against the log without them. All rows are in memory, those of undone tables as
        records. ``despite_refused``, ``despite_triggers``: see :meth:`script`; ``server``: what
        starts a server, else an installed package's (entry point ``binlogkit.servers``).

        Errors: ServerError: no server can be had, or it cannot play the log; those of reading.
        """
        from binlogkit.log.undoing.proving import prove

        script = self.script(
            commit=True, despite_refused=despite_refused, despite_triggers=despite_triggers
        )
        return prove(self.log, self, script.splitlines(), self.version, server)

    def dependents(self) -> pa.Table:
        """The changes that depend on those taken back and are not taken back themselves, in the
        log's order: ``DEPENDENCES`` of analyses/undoing/dependents, which says what depends.
        """
        return self.dependences.dependents

    def conflicts(self) -> pa.Table:
        """The chosen changes on which such dependents depend, each with one of them; declared as
        those of :meth:`dependents`."""
        return self.dependences.conflicts
