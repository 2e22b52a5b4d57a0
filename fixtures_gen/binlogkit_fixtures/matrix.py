"""The matrix: which servers with which settings the scenarios are run on.

A cell is one server: 5.7 and 8.0, each with ROW, STATEMENT and MIXED, each with full, minimal and
noblob images, make eighteen; extra cells add one setting each. Names are like ``8.0-row-minimal``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from binlogkit.errors import UsageError
from binlogkit_fixtures.scenarios.model import Facts
from binlogkit_fixtures.servers import ServerSpec

__all__ = [
    "CELLS",
    "FORMATS",
    "IMAGES",
    "SERIES",
    "Cell",
    "cell",
    "select",
]

SERIES = ("5.7", "8.0")
FORMATS = ("ROW", "STATEMENT", "MIXED")
IMAGES = ("full", "minimal", "noblob")

#: Which scenarios the golden set keeps of the eighteen, so that it stays small. STATEMENT and MIXED
#: log the same of ``types`` and, whatever the image, the same of all that is logged as statements.
_ALL = (
    "types",
    "transactions",
    "ddl",
    "keys",
    "incident",
    "statements",
    "json",
    "crash",
    "shutdown",
)
_GOLDEN: Mapping[tuple[str, str], tuple[str, ...]] = MappingProxyType(
    {
        ("ROW", "full"): _ALL,
        ("ROW", "minimal"): ("types", "transactions", "ddl", "keys", "statements", "json"),
        ("ROW", "noblob"): ("transactions", "keys", "statements", "json"),
        ("STATEMENT", "full"): ("types", "transactions", "ddl", "keys", "incident", "statements"),
        ("STATEMENT", "minimal"): ("keys",),
        ("STATEMENT", "noblob"): ("keys",),
        ("MIXED", "full"): ("transactions", "ddl", "keys", "statements", "json"),
        ("MIXED", "minimal"): ("keys", "statements"),
        ("MIXED", "noblob"): ("keys", "statements"),
    }
)

#: One identity per series, so that GTIDs repeat and tell at sight where a log is from.
_IDENTITY: Mapping[str, tuple[str, str]] = {
    "5.6": ("56", "56565656-0056-11ee-8056-565656565656"),
    "5.7": ("57", "57575757-0057-11ee-8057-575757575757"),
    "8.0": ("80", "80808080-0080-11ee-8080-808080808080"),
    "9": ("90", "90909090-0090-11ee-8090-909090909090"),
}

#: Settings of every cell. ``explicit-defaults-for-timestamp`` is ON in 8.0 and OFF in 5.7 unless
#: set (manual, "Server System Variables"); functions of the ``statements`` scenario need trust.
_EVERYWHERE: Mapping[str, str | None] = MappingProxyType(
    {
        "gtid-mode": "ON",
        "enforce-gtid-consistency": "ON",
        "explicit-defaults-for-timestamp": "ON",
        "log-bin-trust-function-creators": "ON",
        "secure-file-priv": "",
        "event-scheduler": "OFF",
        "innodb-lock-wait-timeout": "1",
        "lower-case-table-names": "0",
    }
)


@dataclass(frozen=True, slots=True)
class Cell:
    """One server of the matrix.

    ``series``: 5.7 or 8.0; ``settings``: options that this cell adds or changes; ``golden``: the
    scenarios that the golden set has of it (the generator runs any); ``apart``: those kept beside
    that set, because reading them needs their keyring.
    """

    name: str
    series: str
    format: str = "ROW"
    image: str = "full"
    settings: Mapping[str, str] = field(default_factory=dict)
    golden: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()

    @property
    def options(self) -> dict[str, str | None]:
        """All options that the cell's server starts with."""
        server_id, uuid = _IDENTITY[self.series]
        return {
            **_EVERYWHERE,
            "server-id": server_id,
            "server-uuid": uuid,
            "binlog-format": self.format,
            "binlog-row-image": self.image,
            **self.settings,
        }

    def spec(self) -> ServerSpec:
        """The order for the cell's server."""
        return ServerSpec(version=self.series, options=self.options)

    def facts(self, version: tuple[int, int, int]) -> Facts:
        """What conditions may ask, once the server has told its full version."""
        return Facts(version, self.format, self.image, str(self.options["gtid-mode"]))


def _standard() -> list[Cell]:
    return [
        Cell(f"{series}-{form.lower()}-{image}", series, form, image, golden=_GOLDEN[form, image])
        for series in SERIES
        for form in FORMATS
        for image in IMAGES
    ]


_NO_GTID = {"gtid-mode": "OFF", "enforce-gtid-consistency": "OFF"}
_PARTIAL_JSON = {"binlog-row-value-options": "PARTIAL_JSON"}
_NO_CHECKSUM = {"binlog-checksum": "NONE"}
_ROWS_QUERY = {"binlog-rows-query-log-events": "ON"}

_EXTRA = [
    Cell(
        "8.0-row-full-metadata",
        "8.0",
        settings={"binlog-row-metadata": "FULL"},
        golden=("types", "transactions", "ddl", "keys", "statements"),
    ),
    Cell(
        "8.0-row-compressed",
        "8.0",
        settings={"binlog-transaction-compression": "ON"},
        golden=("types", "transactions", "ddl", "keys", "statements", "json"),
    ),
    Cell("8.0-row-partial-json", "8.0", settings=_PARTIAL_JSON, golden=("json",)),
    Cell(
        "8.0-row-minimal-partial-json",
        "8.0",
        image="minimal",
        settings=_PARTIAL_JSON,
        golden=("json",),
    ),
    *(
        Cell(f"{series}-row-no-checksum", series, settings=_NO_CHECKSUM, golden=("keys",))
        for series in SERIES
    ),
    *(
        Cell(
            f"{series}-row-no-gtid",
            series,
            settings=_NO_GTID,
            golden=("transactions", "ddl", "statements"),
        )
        for series in SERIES
    ),
    Cell(
        "8.0-statement-no-gtid",
        "8.0",
        "STATEMENT",
        settings=_NO_GTID,
        golden=("transactions", "statements"),
    ),
    *(
        Cell(
            f"{series}-row-rows-query",
            series,
            settings=_ROWS_QUERY,
            golden=("transactions", "keys"),
        )
        for series in SERIES
    ),
    Cell(
        "5.7-row-v1-events",
        "5.7",
        settings={"log-bin-use-v1-row-events": "1"},
        golden=("types", "transactions", "keys"),
    ),
    Cell(
        "5.6-row-full",
        "5.6",
        settings={"log-slave-updates": "ON"},  # 5.6 wants it for gtid-mode
        golden=("types", "transactions", "keys"),
    ),
    Cell("9-row-full", "9", golden=("transactions", "keys", "modern")),
    Cell(
        "9-row-encrypted",
        "9",
        settings={"binlog-encryption": "ON"},
        apart=("transactions", "keys"),
    ),
]

CELLS: Mapping[str, Cell] = MappingProxyType({c.name: c for c in (*_standard(), *_EXTRA)})


def cell(name: str) -> Cell:
    """The cell of that name. UsageError: there is none."""
    found = CELLS.get(name)
    if found is None:
        raise UsageError(f"there is no cell '{name}'; there are {', '.join(CELLS)}")
    return found


def select(
    *,
    cells: Sequence[str] = (),
    versions: Sequence[str] = (),
    formats: Sequence[str] = (),
    images: Sequence[str] = (),
) -> list[Cell]:
    """The cells that match: those named, or the matrix narrowed by version, format and image.

    Without a name the eighteen are meant. UsageError: an unknown name, or nothing matches.
    """
    chosen = [cell(name) for name in cells] or _standard()
    wanted = [form.upper() for form in formats]
    found = [
        c
        for c in chosen
        if (not versions or c.series in versions)
        and (not wanted or c.format in wanted)
        and (not images or c.image in images)
    ]
    if not found:
        raise UsageError("no cell of the matrix matches")
    return found
