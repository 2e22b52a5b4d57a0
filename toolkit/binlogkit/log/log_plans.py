"""What :meth:`Log.undo` and :meth:`Log.redo` give: plans, their script, and what they stand on."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from binlogkit.analyses.dependents.found import Dependences
from binlogkit.analyses.plans import Piece, Plans
from binlogkit.analyses.references import Reference


class LogPlans(Plans):
    """Plans of a log's changes, in the order of their execution; see :data:`analyses.undo.PLANS`.

    ``chosen``: whose changes they are of; ``later``: what later changes depend on those, and what
    was done about it; ``gaps``: where changes may be missing that they do not know of; ``assumes``:
    what they stand on that the log does not show; ``needs``: which tables that were dropped have to
    be made again before, and the statements that made them; a sentence each. ``references``: the
    foreign keys of their tables, where the log has what the server does by them, so that it must
    not do that once more; else none.
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
    """Plans that take changes back; ``dependences``: what depends on the chosen changes."""

    dependences: Dependences = Dependences.none()

    def dependents(self) -> pa.Table:
        """The changes that depend on those taken back and are not taken back themselves, in the
        log's order: :data:`analyses.dependents.found.DEPENDENCES`; the package says what depends.
        """
        return self.dependences.dependents

    def conflicts(self) -> pa.Table:
        """The chosen changes on which such dependents depend, each with one of them; declared as
        those of :meth:`dependents`."""
        return self.dependences.conflicts
