"""Live tables as states of a log, and as a folder of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from binlogkit.analyses.point_in_time.result import state_table
from binlogkit.analyses.point_in_time.transaction_numbers import TransactionNumbers
from binlogkit.constants import TableId
from binlogkit.errors import WriteError
from binlogkit.events.gtid_set import GtidSet
from binlogkit.frames.arrow_types import column_field
from binlogkit.frames.snapshots.values import Columns
from binlogkit.log.server.snapshot import file_name
from binlogkit.log.states.assembled import assembled
from binlogkit.log.states.doubts import doubt
from binlogkit.log.states.gaps import Reach
from binlogkit.log.states.table_state import TableState
from binlogkit.rows.defined import column_of

if TYPE_CHECKING:
    from binlogkit.livestate.moment import Moment
    from binlogkit.livestate.tables import Shown
    from binlogkit.rows.schema import TableDefinition

_PARTIAL, _OLD = ".partial", ".old"


def state_of(name: TableId, shown: Shown, moment: Moment, assumes: tuple[str, ...]) -> TableState:
    """A table's rows as of a moment."""
    definition, doubts, rows, key = shown.definition, shown.doubts, shown.rows, shown.key
    columns = None if definition is None else tuple(column.name for column in definition.columns)
    wanted = None if columns is None else [c for c in columns if c in rows.fields]
    found = state_table(rows, wanted if len(rows) else None, key)
    if not len(rows) and definition is not None:
        empty = no_rows(definition)
        found = pa.table(
            {n: empty[n] if n in empty.column_names else found[n] for n in found.column_names}
        )
    sound = all(shown.findings["determined"].to_pylist())
    reach = Reach((moment.file,), pa.table({}), TransactionNumbers(), None)
    position = (moment.file, moment.pos) if moment.file else None
    return assembled(
        name,
        found,
        shown.findings,
        columns=columns,
        key=key,
        replayed=sound,
        doubts=[doubt("live", text) for text in doubts],
        assumes=assumes,
        reach=reach,
        place=(position, moment.gtids or None),
        definition=definition,
    )


def no_rows(definition: TableDefinition) -> pa.Table:
    """The rows of a table that has none, in a state's form."""
    return Columns([column_field(column_of(c)) for c in definition.columns]).table([])


def reasons(state: TableState) -> list[str]:
    """Why a state is not determined, a sentence each."""
    found = [str(row["meaning"]) for row in state.findings.to_pylist() if not row["determined"]]
    if state.unknown_cells:
        count = state.unknown_cells
        found.append("1 cell is not known" if count == 1 else f"{count} cells are not known")
    return list(dict.fromkeys(found))


def is_written(path: Path) -> bool:
    """Whether :func:`write_folder` wrote a folder. One that was ended between its two renames has
    left the earlier folder under another name: it gets its own again."""
    old = path.with_name(path.name + _OLD)
    if not path.exists() and old.is_dir():
        old.rename(path)
    return path.is_dir()


def write_folder(
    states: Sequence[TableState], path: Path, gtids: GtidSet | None, remove: Callable[[Any], Any]
) -> None:
    """Write states into a folder, in place of the one that is there. WriteError."""
    partial, old = path.with_name(path.name + _PARTIAL), path.with_name(path.name + _OLD)
    try:
        if partial.exists():
            remove(partial)
        partial.mkdir(0o700)
        for number, state in enumerate(states, 1):
            name = file_name(number, state.table)
            replace(state, gtids=gtids).to_parquet(partial / name)
        if path.exists():
            if old.exists():
                remove(old)
            path.rename(old)
        partial.rename(path)
        if old.exists():
            remove(old)
    except OSError as exc:
        raise WriteError(str(path), exc.strerror or str(exc)) from exc
    if os.name == "posix":
        descriptor = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
