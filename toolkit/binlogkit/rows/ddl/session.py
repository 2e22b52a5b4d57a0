"""The settings a statement is read under: sql_mode bits, versions as numbers, its event's facts.

Bits: ``MODE_…`` in ``sql/system_variables.h`` of 8.0.31; the Query event's status variable
``Q_SQL_MODE_CODE`` carries the same mask.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, IntFlag

from binlogkit.rows.ddl.charsets import UNKNOWN, Collated, canonical, collated

#: Where no server version is known every ``/*!NNNNN … */`` of a released server counts.
ASSUMED_VERSION = 99898

_VERSION = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{1,2})")


class SqlMode(IntFlag):
    """Those bits of sql_mode that matter for reading DDL and for what it does to values."""

    REAL_AS_FLOAT = 0x1
    ANSI_QUOTES = 0x4
    MAXDB = 0x1000  # up to 5.7: TIMESTAMP means DATETIME
    NO_BACKSLASH_ESCAPES = 0x100000
    STRICT_TRANS_TABLES = 0x200000
    STRICT_ALL_TABLES = 0x400000
    PAD_CHAR_TO_FULL_LENGTH = 0x80000000
    TIME_TRUNCATE_FRACTIONAL = 0x100000000  # since 8.0.1


#: The mode of a session that is not known to have one of the bits.
DEFAULT_MODE = SqlMode(0)

_BY_NAME = {mode.name: mode for mode in SqlMode} | {
    # Combination modes (manual 5.7, "Combination SQL Modes"); 8.0 keeps ANSI only.
    "ANSI": SqlMode.REAL_AS_FLOAT | SqlMode.ANSI_QUOTES,
    "DB2": SqlMode.ANSI_QUOTES,
    "MAXDB": SqlMode.MAXDB | SqlMode.ANSI_QUOTES,
    "MSSQL": SqlMode.ANSI_QUOTES,
    "ORACLE": SqlMode.ANSI_QUOTES,
    "POSTGRESQL": SqlMode.ANSI_QUOTES,
}


def mode_from_names(names: str) -> SqlMode:
    """The bits of a sql_mode given by comma-separated names; other names change nothing here."""
    mode = SqlMode(0)
    for name in names.split(","):
        mode |= _BY_NAME.get(name.strip().upper(), SqlMode(0))
    return mode


def version_number(version: str | None) -> int:
    """``8.0.31-log`` as 80031 (``MYSQL_VERSION_ID``); ASSUMED_VERSION where it has no number."""
    found = _VERSION.match(version or "")
    if found is None:
        return ASSUMED_VERSION
    major, minor, patch = (int(part) for part in found.groups())
    return major * 10000 + minor * 100 + patch


class Acted(Enum):
    """Whether a CREATE … IF NOT EXISTS made what it names.

    AS_KNOWN: where it is not known to be there already (a script that begins with nothing);
    UNKNOWN: the log does not show whether it was there.
    """

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"
    AS_KNOWN = "as known"


@dataclass(frozen=True, slots=True)
class Session:
    """What a Query event says of its session, and its server.

    ``version``: MYSQL_VERSION_ID; ``explicit_timestamp``: explicit_defaults_for_timestamp.

    ``utf8mb4_collation``: default_collation_for_utf8mb4 (8.0.11), or None for the server's own.
    ``thread``: the connection number, which temporary tables belong to. ``foreign_keys``: whether
    foreign_key_checks is known to be on. ``acted``: of CREATE … IF NOT EXISTS. ``place``: where the
    statement stands, ``FILE at OFFSET``, empty where it is in no log.
    """

    version: int = ASSUMED_VERSION
    mode: SqlMode = DEFAULT_MODE
    default_db: str | None = None
    server: Collated = UNKNOWN
    database: Collated = UNKNOWN
    explicit_timestamp: bool = True
    utf8mb4_collation: str | None = None
    thread: int | None = None
    foreign_keys: bool = False
    acted: Acted = Acted.AS_KNOWN
    place: str = ""

    def collated(self, charset: str | None, collation: str | None) -> Collated:
        """What a CHARACTER SET and a COLLATE of a statement say together."""
        found = collated(charset, collation, self.version)
        if collation is None and found.charset == "utf8mb4" and self.utf8mb4_collation is not None:
            return Collated("utf8mb4", canonical(self.utf8mb4_collation))
        return found
