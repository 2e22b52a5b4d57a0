"""Definitions of tables that were given to a landing (``--schema``): they stay with it.

The table ``given`` has them, each with the log from which on it counts: as of logs, until DDL
touches the table; and until logs, or statements, are missing, unless they are given again. An
index's parts do not depend on what is given, so it is put before the statements of its log where
parts are joined.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from operator import attrgetter

from binlogkit.constants import TableId
from binlogkit.frames.fields.field import arrow_schema
from binlogkit.frames.fields.ledger import GIVEN
from binlogkit.log.index import Joined, Part
from binlogkit.log.index.part import Said
from binlogkit.rows.ddl import Catalog
from binlogkit.rows.ddl.catalog_text import catalog_of_text, catalog_text
from binlogkit.rows.ddl.table import Tracked
from binlogkit.rows.schema import small_name
from binlogkit.spark.landing.journal import append_next
from binlogkit.spark.landing.landing_path import LandingPath
from binlogkit.spark.landing.spans import log_of
from binlogkit.spark.landing.tables import rows_of
from binlogkit.spark.landing.waiting import LogId
from binlogkit.spark.splits.commits import file_number

_FOLDER = "given"


@dataclass(frozen=True, slots=True)
class Given:
    """Definitions, and the log from which on they count (docs/landing.md)."""

    file: str
    server_id: int
    begun: int
    definitions: str
    given_at: int
    pos: int | None = None

    @property
    def log(self) -> LogId:
        """The log."""
        return self.server_id, self.begun, file_number(self.file)


def read_given(out: LandingPath) -> list[Given]:
    """All that was given, in this order."""
    found = (Given(**row) for row in rows_of(out / _FOLDER, arrow_schema(GIVEN)))
    return sorted(found, key=attrgetter("given_at"))


def keep_given(out: LandingPath, mark: str, found: Sequence[Given]) -> None:
    """Keep what is given; ``mark``: of the landing."""
    if found:
        append_next(out / _FOLDER, mark, [asdict(one) for one in found], GIVEN)


def with_given(parts: Iterable[Part], given: Sequence[Given]) -> Iterator[Part]:
    """The parts, with what was given of their logs after what they have already."""
    for part in parts:
        log, file = log_of(part), part.names[-1]
        own = [Said.given(file, one.definitions, one.pos or 0) for one in given if one.log == log]
        said = sorted([*part.said, *own], key=attrgetter("event")) if own else part.said
        yield replace(part, said=tuple(said)) if own else part


def newly_given(
    catalog: Catalog,
    known: Sequence[Given],
    parts: Sequence[Part],
    joined: Joined,
    join: Callable[[Iterable[Part]], Joined],
    *,
    named: Container[str],
    landed: Container[tuple[int, int]],
) -> list[Given]:
    """What counts newly of definitions that a landing is given, and from where on.

    A definition counts from where the names of its table's columns are not known: from the log's
    beginning, or from damage on that may have taken statements; and unless the same was given
    before, from the first log of each server of which nothing has landed.

    ``known``: what was given before, which ``parts`` have; ``joined``: these, ``join`` joins more;
    ``named``: the names of the landing's logs; ``landed``: of which logs something has, by server
    and begin.
    """
    last: dict[TableId, Tracked | None] = {}
    for one in known:
        before = catalog_of_text(one.definitions)
        last |= {small_name(name): before.tracked(name) for name in before.names()}
    every = {name: catalog.tracked(name) for name in catalog.names()}
    changed = {small_name(n) for n, table in every.items() if last.get(small_name(n)) != table}
    own = {small_name(name) for name in every}
    logs = [i for i, part in enumerate(parts) if any(name in named for name in part.names)]
    sources = {position.part: position.source for position in joined.positions}
    fresh = {sources[i]: i for i in reversed(logs) if log_of(parts[i])[:2] not in landed}
    places = {(i, 0): set(changed) for i in fresh.values() if changed}
    now = time.time_ns() // 1000

    def given() -> list[Given]:
        found = []
        for (i, pos), names in sorted(places.items()):
            text, log = catalog_text(catalog.only(partial(_among, names))), log_of(parts[i])
            found.append(Given(parts[i].names[-1], *log[:2], text, now, pos or None))
        return found

    more = True
    while more:
        if places:
            joined = join(with_given(parts, given()))
        met, more = set[TableId](), False
        for i in logs:
            for named, pos in joined.unnamed.get(i, {}).items():
                name = small_name(named)
                if name in own - met and name not in places.get((i, pos), ()):
                    places.setdefault((i, pos), set()).add(name)
                    more = True
                met.add(name)
    if places:  # tables without rows so far: others may refer to them
        places[min(places)] |= changed - {small_name(name) for name in joined.schemas}
    return given()


def _among(names: Container[TableId], name: TableId) -> bool:
    return small_name(name) in names
