"""From the user's arguments for a state's base to the snapshots in it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from binlogkit.constants import TableId
from binlogkit.errors import UsageError
from binlogkit.events.gtid_set import GtidSet
from binlogkit.frames.arrow_types import column_field
from binlogkit.frames.snapshots.reading import read_snapshots
from binlogkit.frames.snapshots.server import ServerTables
from binlogkit.frames.snapshots.snapshot import Snapshot
from binlogkit.log.states.bases.bases import Bases
from binlogkit.log.states.table_state import TableState
from binlogkit.log.streams import Streams, viewed
from binlogkit.rows.defined import column_of
from binlogkit.rows.filter_args import place
from binlogkit.rows.filters import parse_table_name

if TYPE_CHECKING:
    import pyarrow as pa


def bases_of(
    log: Streams, base: Any, at: Any, gtids: str | GtidSet | None, tables: Sequence[str] | None
) -> Bases | None:
    """The given bases, None without any.

    ``tables``: the wanted ones, None for all; ``at``, ``gtids``: their position, if they have none
    themselves. Errors: InputError, LimitError, SchemaError, UsageError.
    """
    if base is None:
        if at is not None or gtids is not None:
            raise UsageError("a position of a base without a base")
        return None
    if isinstance(gtids, str):
        gtids = GtidSet.parse(gtids)
    file, pos = _position(at)
    given = list(base) if isinstance(base, (list, tuple)) else [base]
    position = file, pos, gtids

    def read(wanted: Collection[TableId | str] | None, of: list[Any]) -> list[Snapshot]:
        return [one for item in of for one in _read(log, item, position, tables or (), wanted)]

    if tables is None:
        return Bases(read(None, given))
    names = [parse_table_name(table) for table in tables]
    wanted = [(n.db, n.table) if n.db is not None else n.table for n in names]
    again = [item for item in given if not _is_server(item)]  # which would be of another moment
    return Bases(read(wanted, given), lambda more: read(more, again))


def _read(
    log: Streams,
    base: Any,
    at: tuple[str | None, int | None, GtidSet | None],
    tables: Sequence[str],
    wanted: Collection[TableId | str] | None,
) -> list[Snapshot]:
    if isinstance(base, Snapshot):
        return [base]
    if isinstance(base, TableState):
        return [base.snapshot()]
    if _is_server(base):
        return [_of_server(base, at, wanted)]
    return read_snapshots(base, wanted, lambda: _columns(log, tables), at)


def _is_server(base: Any) -> bool:
    return isinstance(base, str) and base.lower().startswith("mysql://")


def _of_server(
    url: str,
    at: tuple[str | None, int | None, GtidSet | None],
    wanted: Collection[TableId | str] | None,
) -> Snapshot:
    if any(part is not None for part in at):
        raise UsageError("a server says itself where its tables are in its logs")

    def is_wanted(name: TableId) -> bool:
        return wanted is None or name in wanted or name[1] in wanted

    with ServerTables(url, is_wanted) as found:
        return found.snapshot()


def _columns(log: Streams, tables: Sequence[str]) -> tuple[TableId, list[pa.Field]]:
    """The one wanted table, and its columns: from --schema, else from table maps."""
    if len(tables) != 1:
        raise UsageError("a base in CSV or JSON lines is of one table: ask for one")
    wanted = parse_table_name(tables[0])
    known = log.options.catalog
    for one in known.tables() if known is not None else ():
        if one.table == wanted.table and wanted.db in (None, one.db):
            return (one.db, one.table), [column_field(column_of(c)) for c in one.columns]
    for name, schemas in viewed(log).schemas.items():
        if name[1] == wanted.table and wanted.db in (None, name[0]):
            return name, [column_field(column) for column in schemas[0].columns]
    raise UsageError(
        f"the columns of {tables[0]} are not known, and a base in CSV or JSON lines does not "
        "define them: give its CREATE TABLE as schema (--schema)"
    )


def _position(at: Any) -> tuple[str | None, int | None]:
    if at is None:
        return None, None
    file, pos = place(at)
    if not file:
        raise UsageError(f"a base's position has a file: write FILE:{pos}")
    return file.replace("\\", "/").rpartition("/")[2], pos
