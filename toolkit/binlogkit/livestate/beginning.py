"""What live state begins with: a snapshot with its place in the logs, and what follows it.

One snapshot serves all: ``binlogkit snapshot``'s, a dump's, a checkpoint's, or one that is taken
now. Its GTID set says what is in it, where the logs have GTIDs: a transaction is in the log,
and before the position, earlier than in gtid_executed, so that the set and the position differ by
transactions of other tables (sources/server/consistent.py). Else its position says it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from binlogkit.constants import TableId
from binlogkit.errors import InputError, LostConnectionError, UsageError
from binlogkit.events.gtid_set import GtidSet
from binlogkit.frames.snapshots.server import ServerTables
from binlogkit.livestate.states import no_rows
from binlogkit.livestate.tables import Base, too_large
from binlogkit.log import Log, open_log
from binlogkit.log.follow_folder import follow_folder
from binlogkit.log.server.follow_servers import follow
from binlogkit.log.server.one_server import ServerFollowing
from binlogkit.log.server.several_servers import FollowingSeveral
from binlogkit.log.states.bases.given import bases_of
from binlogkit.log.streams import Streams
from binlogkit.log.transactions_as_written import Following
from binlogkit.rows.filters import parse_table_name, written_table_name
from binlogkit.rows.resolve import key_of
from binlogkit.rows.schema import Origin
from binlogkit.sources.connection import Servers, ServerSettings, servers_of

if TYPE_CHECKING:
    from binlogkit.frames.snapshots.snapshot import TableSnapshot
    from binlogkit.log.states.bases.bases import Bases
    from binlogkit.rows.ddl import Catalog
    from binlogkit.rows.filters import TableName
    from binlogkit.sources.server.resume import Stop


@dataclass(slots=True)
class Beginning:
    """Where live state begins: ``bases``: of all tables that are followed, ``wanted``: those that
    were asked for; ``following``: what comes after; ``position``, ``gtids``: where they are."""

    bases: Mapping[TableId, Base]
    wanted: list[TableId]
    following: Following | FollowingSeveral
    position: tuple[str, int] | None = None
    gtids: GtidSet = field(default_factory=GtidSet)


@dataclass(frozen=True, slots=True)
class How:
    """How live state is begun and followed (see :func:`binlogkit.live`)."""

    base: Any
    base_at: Any
    base_gtid: Any
    lock: str
    chunk_rows: int | None
    memory: int
    stop: Stop
    follow: Mapping[str, Any]


def is_server(source: Any) -> bool:
    """Whether a server is meant, or several that stand in for each other."""
    if isinstance(source, (list, tuple)):
        return bool(source) and all(map(is_server, source))
    if isinstance(source, ServerSettings):
        return True
    return isinstance(source, str) and source.lower().startswith("mysql://")


def begin(source: Any, tables: Iterable[str], how: How) -> Beginning:
    """Begin live state of some tables. Errors: see :func:`binlogkit.live`."""
    names = [parse_table_name(one) for one in tables]
    if not names:
        raise UsageError("name the tables that are to be kept up to date")
    if how.base is not None:
        return _with_base(source, names, how)
    if is_server(source):
        if how.chunk_rows is not None:
            return _in_chunks(source, names, how)
        return _of_server(source, names, how)
    return _without_base(source, names, how)


def _of_server(servers: Servers, names: list[TableName], how: How) -> Beginning:
    """With a snapshot that is taken now."""

    def wanted(name: TableId) -> bool:
        return any(one(*name) for one in names)

    with _first(servers, lambda one: ServerTables(one, wanted, how.lock)) as found:
        chosen = _chosen(names, found.definitions)
        if found.file is None:
            raise UsageError("the server writes no binary log, so nothing can be kept up to date")
        bases = {}
        for name, definition in found.definitions.items():
            doubts: dict[str, int] = {}
            batches, size = [], 0
            for batch in found.batches(name, doubts):
                batches.append(batch)
                size += batch.nbytes
                if size > how.memory:
                    raise too_large(name, sum(b.num_rows for b in batches), size, how.memory)
            rows = pa.Table.from_batches(batches) if batches else no_rows(definition)
            bases[name] = Base(definition, tuple(key_of(definition)[0]), rows)
        by_gtid = found.has_gtids
        gtids = (found.gtids or GtidSet()) if by_gtid else GtidSet()
        catalog = found.catalog
        place = found.file, found.pos or 4
    following = _follow_server(servers, place, gtids if by_gtid and gtids else None, catalog, how)
    return Beginning(bases, chosen, following, place, gtids)


def _follow_server(
    servers: Servers, place: tuple[str, int] | None, gtids: GtidSet | None, catalog: Any, how: How
) -> ServerFollowing | FollowingSeveral:
    start: dict[str, Any] = {"gtid_set": gtids}
    if gtids is None:
        assert place is not None
        start = {"start_log": place[0], "start_position": place[1]}
    return follow(
        servers, **start, stop=how.stop, schema=catalog, catalog_origin=Origin.SERVER, **how.follow
    )


def _chosen(names: Iterable[TableName], there: Iterable[TableId]) -> list[TableId]:
    """The tables that are asked for, by their full names. UsageError: there are none such."""
    known, found = list(there), list[TableId]()
    for one in names:
        mine = [name for name in known if one(*name)]
        if len(mine) != 1:
            written = written_table_name(one.db or "", one.table) if one.db else one.table
            listed = ", ".join(written_table_name(*n) for n in mine)
            raise UsageError(f"{written}: name the database ({listed})" if mine else
                             f"there is no table {written}")  # fmt: skip
        found += mine
    return found


def _first(servers: Servers, ask: Callable[[ServerSettings], Any]) -> Any:
    """What the first server says that answers."""
    *first, last = servers_of(servers)
    for one in first:
        with suppress(LostConnectionError):
            return ask(one)
    return ask(last)


def _in_chunks(servers: Servers, names: list[TableName], how: How) -> Beginning:
    """With a snapshot that is taken now, so many rows at a time (log/server/chunked.py)."""
    from binlogkit.log.server.snapshot import snapshot

    asked = [written_table_name(n.db, n.table) if n.db else n.table for n in names]
    with TemporaryDirectory() as folder:
        out, lock, rows = Path(folder) / "base", how.lock, how.chunk_rows
        taken = _first(
            servers, lambda one: snapshot(one, out, tables=asked, lock=lock, chunk_rows=rows)
        )
        return _with_base(servers, names, replace(how, base=taken.folder))


def _with_base(source: Any, names: list[TableName], how: How) -> Beginning:
    """With snapshots that are there already: files of states, a dump, a checkpoint."""
    log = None if is_server(source) else _opened(source)
    asked = [".".join(filter(None, (n.db, n.table))) for n in names]
    base = os.fspath(how.base) if isinstance(how.base, Path) else how.base
    bases = bases_of(log or Streams([]), base, how.base_at, how.base_gtid, asked)
    assert bases is not None
    chosen = _chosen(names, bases.tables)
    _read_parents(bases, chosen)
    found = {name: _base(table) for name, table in bases.tables.items()}
    for name, table in bases.tables.items():
        rows = table.rows
        if rows.nbytes > how.memory:
            raise too_large(name, rows.num_rows, rows.nbytes, how.memory)
    place = None if bases.file is None or bases.pos is None else (bases.file, bases.pos)
    gtids = bases.gtids or None
    following: Following | FollowingSeveral = (
        _follow_server(source, place, gtids, bases.catalog, how)
        if log is None
        else _follow_folder(log, place, gtids, bases.catalog, how)
    )
    return Beginning(found, chosen, following, place, gtids or GtidSet())


def _read_parents(bases: Bases, tables: Iterable[TableId]) -> None:
    """Read from the bases, as far as they have them, the tables from which foreign keys change
    some."""
    known, more = set(tables), set(tables)
    while more:
        definitions = [table.definition for table in bases.of(more).values()]
        above = {name for one in definitions if one is not None for name in one.parents}
        more = above - known
        known |= more


def _base(table: TableSnapshot) -> Base:
    definition = table.definition
    key = table.key
    if key is None:
        key = tuple(key_of(definition)[0]) if definition is not None else ()
    return Base(definition, key, table.rows, tuple(table.doubts))


def _opened(source: Any) -> Log:
    return source if isinstance(source, Log) else open_log(source)


def _follow_folder(
    log: Log,
    place: tuple[str, int] | None,
    gtids: GtidSet | None,
    catalog: Catalog | None,
    how: How,
) -> Following:
    """A folder's logs after a base. InputError: they begin after it."""
    wait = bool(how.follow.get("wait", True))
    with log.knowing(catalog):
        if gtids is None:
            return follow_folder(log, at=place, wait=wait, stop=how.stop)
        return follow_folder(log, gtid_set=gtids, wait=wait, stop=how.stop)


def _without_base(source: Any, names: list[TableName], how: How) -> Beginning:
    """From the logs alone: tables whose creation is in them."""
    log = _opened(source)
    known = log.options.catalog
    given = {} if known is None else {(t.db, t.table): t for t in known.tables()}
    lacking = [n.table for n in names if n.db is None]
    if lacking:
        raise UsageError(f"{lacking[0]}: name the database")
    chosen = [(n.db or "", n.table) for n in names]
    bases = {
        name: Base(given.get(name), tuple(key_of(given[name])[0]) if name in given else (), None)
        for name in chosen
    }
    following = follow_folder(log, wait=bool(how.follow.get("wait", True)), stop=how.stop)
    return Beginning(bases, chosen, following)


def check_reach(following: Following | FollowingSeveral, gtids: GtidSet) -> None:
    """InputError: the first log that is read begins after the base, and what lies between is
    missing."""
    name, previous = following.reading.series.began
    missing = None if previous is None or not gtids else previous.subtract(gtids)
    if missing:
        raise InputError(name, f"begins after the base, which lacks {missing}")
