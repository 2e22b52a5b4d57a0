"""How logs are read, and where a reading begins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from binlogkit._kernel.charsets import CHARSETS
from binlogkit.errors import UsageError
from binlogkit.events.gtid_set import GtidSet
from binlogkit.rows.ddl import Catalog
from binlogkit.rows.schema import SUPPOSED, Origin

#: Where a log lacks something: the log's number in its reading, and the offset.
Lost: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How to read.

    ``on_damage``: ``stop`` or ``report``; ``catalog``: what a schema file or a server says, and
    ``catalog_origin`` which of them; ``charset``: for text of unknown character set;
    ``source``: the name of the logs' server, None where nobody gave one; ``threads``: how many
    decode rows, None for as many as there are processors, up to four; ``duplicates``: what becomes
    of a transaction whose GTID came before, ``drop`` or ``keep``; ``schema``: the schema file's
    name; ``supposed``: the names of suppositions (:class:`~binlogkit.rows.schema.Supposition`) that
    are taken for facts; ``taken_at``: logs, each with the position up to which statements do not
    change the catalog, since it tells the tables as they are after them.
    """

    on_damage: str = "stop"
    catalog: Catalog | None = None
    catalog_origin: Origin = Origin.SCHEMA_FILE
    charset: str | None = None
    source: str | None = None
    threads: int | None = None
    duplicates: str = "drop"
    schema: str | None = None
    supposed: frozenset[str] = frozenset()
    taken_at: tuple[tuple[str, int], ...] = ()

    def __post_init__(self) -> None:
        if self.charset is not None and self.charset not in (*CHARSETS, "utf8"):
            raise UsageError(f"{self.charset!r} is no character set of MySQL's")
        if self.catalog is not None:
            self.catalog.doubt_names()  # a schema file need not have all that the server has
        for name in self.supposed:
            if name.partition(":")[0] not in SUPPOSED:
                kinds = " or ".join(f"{kind}:…" for kind in SUPPOSED)
                raise UsageError(f"{name!r} is no supposition: they are called {kinds}")


@dataclass(frozen=True, slots=True)
class KnownTables:
    """What DDL said of tables up to some point; ``tracked``: the names that it touched."""

    catalog: Catalog
    tracked: frozenset[tuple[str | None, str | None]]

    def same(self, other: KnownTables) -> bool:
        """Whether another one has the same content."""
        return self.tracked == other.tracked and vars(self.catalog) == vars(other.catalog)


@dataclass(frozen=True, slots=True)
class Start:
    """Where a reading begins, as if all that stands before it had been read.

    ``ordinal``, ``number``: of the first event and transaction; ``begin``: offset in the first log
    of the transaction to begin with, 0 for the log's beginning; ``catalog``, ``tracked``: the
    tables as DDL left them, and the names that it touched, None for those of the options;
    ``first``, ``last``: whether the first log read is the first of all, and the last log the last
    one; ``seen``: the GTIDs of the transactions before; ``lost``: places where statements may be
    missing, each with the tables as they are known from there on.
    """

    ordinal: int = 0
    number: int = 0
    begin: int = 0
    catalog: Catalog | None = None
    tracked: frozenset[tuple[str | None, str | None]] = frozenset()
    first: bool = True
    last: bool = True
    seen: GtidSet | None = None
    lost: Mapping[Lost, KnownTables] = field(default_factory=dict)
