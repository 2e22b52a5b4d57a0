"""A cell: one server with its settings, on which scenarios are played.

Which cells there are, matrices say (``matrices/*.toml``, and users' own: ``matrix_file``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from binlogkit_fixtures.scenarios.model import Facts, Scenario
from binlogkit_fixtures.servers import ServerSpec

__all__ = ["FORMATS", "IMAGES", "Cell"]

FORMATS = ("ROW", "STATEMENT", "MIXED")
IMAGES = ("full", "minimal", "noblob")

#: One identity per series, so that GTIDs repeat and show at sight where a log is from.
_IDENTITY: Mapping[str, tuple[str, str]] = {
    "5.6": ("56", "56565656-0056-11ee-8056-565656565656"),
    "5.7": ("57", "57575757-0057-11ee-8057-575757575757"),
    "8.0": ("80", "80808080-0080-11ee-8080-808080808080"),
    "8.4": ("84", "84848484-0084-11ee-8084-848484848484"),
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

#: What a series wants besides.
_BY_SERIES: Mapping[str, Mapping[str, str]] = {
    "5.6": {"log-slave-updates": "ON"},  # for gtid-mode
}

#: Where a story has several servers: relay logs whose names repeat and that stay, and all pass on
#: what they apply (5.7 does not, by itself).
_AMONG_SEVERAL: Mapping[str, str] = {
    "relay-log": "relay",
    "relay-log-purge": "OFF",
    "log-slave-updates": "ON",
}


@dataclass(frozen=True, slots=True)
class Cell:
    """One server of the matrix.

    ``series``: one of ``servers.VERSIONS``; ``settings``: options that this cell adds or changes;
    ``scenarios``: those that its matrix wants there (the generator runs any).
    """

    name: str
    series: str
    format: str = "ROW"
    image: str = "full"
    settings: Mapping[str, str] = field(default_factory=dict)
    scenarios: tuple[str, ...] = ()

    @property
    def options(self) -> dict[str, str | None]:
        """All options that the cell's server starts with."""
        server_id, uuid = _IDENTITY[self.series]
        return {
            **_EVERYWHERE,
            **_BY_SERIES.get(self.series, {}),
            "server-id": server_id,
            "server-uuid": uuid,
            "binlog-format": self.format,
            "binlog-row-image": self.image,
            **self.settings,
        }

    def spec(self) -> ServerSpec:
        """The order for the cell's server."""
        return ServerSpec(version=self.series, options=self.options)

    def members(self, scenario: Scenario) -> dict[str, Cell]:
        """A cell for each server of a story by its name; one by the empty name, where it has none.

        The first has the cell's identity. Of the second, third … the id and the last digits of the
        UUID end in 02, 03 …
        """
        if not scenario.servers:
            return {"": self}
        found = {}
        for number, server in enumerate(scenario.servers, 1):
            own = {**_AMONG_SEVERAL, **self.settings}
            if number > 1:
                server_id, uuid = (str(self.options[name]) for name in ("server-id", "server-uuid"))
                own |= {
                    "server-id": f"{server_id}{number:02}",
                    "server-uuid": f"{uuid[:-2]}{number:02}",
                }
            found[server.name] = replace(self, settings={**own, **server.options})
        return found

    def facts(self, version: tuple[int, int, int]) -> Facts:
        """What conditions may ask, once the server's full version is known."""
        options = self.options
        return Facts(version, self.format, self.image, str(options["gtid-mode"]), options)
