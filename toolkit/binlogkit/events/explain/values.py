"""What single values of an event say, in words: times, collations, versions, bits.

Bits: ``sql_mode`` and ``flags2`` as the server's ``system_variables.h`` and ``query_options.h``
(8.0.31) number them, those that only older servers had included; the header's flags as the manual
of the server's sources explains them.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from binlogkit._kernel.charsets import COLLATIONS
from binlogkit.events.explain.parts import Detail

__all__ = [
    "FLAGS2", "GTID_FLAGS", "HEADER_FLAGS", "LOAD_OPTIONS", "ROWS_FLAGS", "SQL_MODE", "TABLE_FLAGS",
    "bits_of", "characters", "collation", "created", "error_code", "gtid_sids", "microseconds",
    "seconds", "version",
]  # fmt: skip

Bits = Mapping[int, tuple[str, str]]
_SHOWN = 60  # bytes of a longer text
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def seconds(value: int) -> str:
    """A time in seconds."""
    return f"{_EPOCH + timedelta(seconds=value):%Y-%m-%d %H:%M:%S} UTC"


def created(value: int) -> str:
    """The time in a format description."""
    return seconds(value) if value else "0, not the first log after a server start"


def microseconds(value: int) -> str:
    """A time in microseconds; of a crafted one only the number is known."""
    try:
        return f"{_EPOCH + timedelta(microseconds=value):%Y-%m-%d %H:%M:%S.%f} UTC"
    except OverflowError:
        return "beyond every calendar"


def collation(value: int) -> str:
    """A collation id."""
    known = COLLATIONS.get(value)
    return known[1] if known else "an id that no known server has"


def version(value: int) -> str:
    """A server version as a number: 80031 is 8.0.31; 999999 stands for an unknown one."""
    if value == 999_999:
        return "unknown"
    return f"{value // 10_000}.{value // 100 % 100}.{value % 100}"


def error_code(value: int) -> str:
    """The error that a statement ended with."""
    return f"error {value} of the server" if value else "no error"


def characters(value: bytes) -> str:
    """Bytes that are meant as text, in quotes; what is no ASCII as ``\\xNN``."""
    shown = value[:_SHOWN].decode("latin-1").encode("unicode_escape").decode("ascii")
    return f"'{shown}'" if len(value) <= _SHOWN else f"'{shown}'…"


def gtid_sids(value: int) -> str:
    """The number of entries of a GTID set, which with tags (8.3.0) is packed between two ones."""
    if value >> 56 == 1:
        return f"{value >> 8 & 0xFFFFFFFFFFFF}, with tags"
    return ""


def bits_of(value: int, names: Bits) -> list[Detail]:
    """The set bits, lowest first."""
    details = []
    for number in range(value.bit_length()):
        bit = 1 << number
        if value & bit:
            name, meaning = names.get(bit, ("", "a bit that has no name in this version"))
            shown = f"{name}: {meaning}" if name and meaning else name or meaning
            details.append(Detail(f"bit {number}", 1, shown))
    return details


HEADER_FLAGS: Bits = {
    0x0001: ("IN_USE", "the log is still written, or was never closed (5.0.3)"),
    0x0002: ("FORCED_ROTATE", "not used since 4.1.1"),
    0x0004: ("THREAD_SPECIFIC", "depends on its connection, for it uses temporary tables (4.1.0)"),
    0x0008: ("SUPPRESS_USE", "needs no default database: no USE in front of it (4.1.7)"),
    0x0010: ("UPDATE_TABLE_MAP_VERSION", "not used (5.1.4)"),
    0x0020: ("ARTIFICIAL", "made up by the server for a reader: stands in no log file"),
    0x0040: ("RELAY_LOG", "written by a replica's receiver thread"),
    0x0080: ("IGNORABLE", "may be left out by who does not know its type (5.6.2)"),
    0x0100: ("NO_FILTER", "replication filters do not hold for it (5.6)"),
    0x0200: ("MTS_ISOLATE", "a multi-threaded replica applies it alone (5.6)"),
}
ROWS_FLAGS: Bits = {
    0x0001: ("STMT_END", "the statement's last rows event"),
    0x0002: ("NO_FOREIGN_KEY_CHECKS", "foreign_key_checks was off"),
    0x0004: ("RELAXED_UNIQUE_CHECKS", "unique_checks was off"),
    0x0008: ("COMPLETE_ROWS", "the rows hold every column"),
    0x0010: ("USE_SQL_FOREIGN_KEY", "the SQL layer did foreign keys: their rows are here (9.6)"),
}
TABLE_FLAGS: Bits = {
    0x0001: ("BIT_LEN_EXACT", "the lengths of BIT columns are exact: every server sets it"),
    0x0002: ("REFERRED_FK_DB", "a foreign key refers to the table"),
    0x0004: ("GENERATED_INVISIBLE_PK", "its primary key is generated and invisible (8.0.30)"),
}
GTID_FLAGS: Bits = {0x01: ("MAY_HAVE_SBR", "statements may stand in the transaction as text")}
LOAD_OPTIONS: Bits = {
    0x01: ("DUMPFILE", ""),
    0x02: ("OPT_ENCLOSED", "OPTIONALLY ENCLOSED BY"),
    0x04: ("REPLACE", ""),
    0x08: ("IGNORE", ""),
}
FLAGS2: Bits = {
    1 << 14: ("AUTO_IS_NULL", "sql_auto_is_null is on"),
    1 << 19: ("NOT_AUTOCOMMIT", "autocommit is off"),
    1 << 26: ("NO_FOREIGN_KEY_CHECKS", "foreign_key_checks is off"),
    1 << 27: ("RELAXED_UNIQUE_CHECKS", "unique_checks is off"),
}
_SQL_MODES = [
    "REAL_AS_FLOAT",
    "PIPES_AS_CONCAT",
    "ANSI_QUOTES",
    "IGNORE_SPACE",
    "NOT_USED",
    "ONLY_FULL_GROUP_BY",
    "NO_UNSIGNED_SUBTRACTION",
    "NO_DIR_IN_CREATE",
    "POSTGRESQL",
    "ORACLE",
    "MSSQL",
    "DB2",
    "MAXDB",
    "NO_KEY_OPTIONS",
    "NO_TABLE_OPTIONS",
    "NO_FIELD_OPTIONS",
    "MYSQL323",
    "MYSQL40",
    "ANSI",
    "NO_AUTO_VALUE_ON_ZERO",
    "NO_BACKSLASH_ESCAPES",
    "STRICT_TRANS_TABLES",
    "STRICT_ALL_TABLES",
    "NO_ZERO_IN_DATE",
    "NO_ZERO_DATE",
    "ALLOW_INVALID_DATES",
    "ERROR_FOR_DIVISION_BY_ZERO",
    "TRADITIONAL",
    "NO_AUTO_CREATE_USER",
    "HIGH_NOT_PRECEDENCE",
    "NO_ENGINE_SUBSTITUTION",
    "PAD_CHAR_TO_FULL_LENGTH",
    "TIME_TRUNCATE_FRACTIONAL",
]
SQL_MODE: Bits = {1 << number: (name, "") for number, name in enumerate(_SQL_MODES)}
