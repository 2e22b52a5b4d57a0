"""Everything that binlogkit raises on purpose.

::

    BinlogKitError
    ├── UsageError                  the call contradicts itself (exit status 2)
    ├── InputError                  the input cannot be read at all (exit status 2)
    │   ├── NotABinlogError         no binlog magic and no plausible first event
    │   └── EmptyInputError         nothing there
    ├── DamageError                 the log is damaged from an offset on (exit status 1)
    │   ├── TruncatedEventError     the file ends inside an event
    │   ├── ChecksumError           an event's CRC32 does not match its bytes
    │   └── MalformedEventError     a field claims what its event cannot hold
    ├── SchemaError                 a table's schema is unknown, ambiguous or contradicts the log
    ├── LimitError                  a documented limit against hostile input was reached
    ├── ServerError                 a MySQL server refused, failed or went away
    └── OracleError                 mysqlbinlog (or another judge) is missing or failed

Each error carries its data as attributes; ``str(error)`` is one line without control characters.
"""

from __future__ import annotations

__all__ = [
    "BinlogKitError",
    "ChecksumError",
    "DamageError",
    "EmptyInputError",
    "InputError",
    "LimitError",
    "MalformedEventError",
    "NotABinlogError",
    "OracleError",
    "SchemaError",
    "ServerError",
    "TruncatedEventError",
    "UsageError",
    "printable",
]

_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")


def printable(text: str) -> str:
    """``text`` on one line, safe on a terminal: control and bidirectional characters are escaped.

    A log's names and values were typed by strangers (TRAPS.md, "Evidence is hostile").
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        c if (c.isprintable() and c not in _BIDI) else c.encode("unicode_escape").decode("ascii")
        for c in text
    )


class BinlogKitError(Exception):
    """The base of every error that binlogkit raises on purpose."""


class UsageError(BinlogKitError):
    """The arguments contradict each other or name what does not exist."""


class InputError(BinlogKitError):
    """An input that cannot be read at all.

    ``file``: the input's name as given.
    """

    def __init__(self, file: str, reason: str) -> None:
        self.file = file
        self.reason = reason
        super().__init__(f"{printable(file)}: {printable(reason)}")


class NotABinlogError(InputError):
    """No binlog magic, or no plausible first event."""


class EmptyInputError(InputError):
    """The input has no bytes, or no binlog was found in it."""


class DamageError(BinlogKitError):
    """The log is damaged.

    ``file``: the input's name; ``offset``: 64-bit logical offset of the event (bytes);
    ``field``: the field that could not be read, or None; ``reason``: one clause.
    """

    def __init__(self, file: str, offset: int, reason: str, field: str | None = None) -> None:
        self.file = file
        self.offset = offset
        self.reason = reason
        self.field = field
        where = f" in field {printable(field)}" if field else ""
        super().__init__(f"{printable(file)} at {offset}{where}: {printable(reason)}")


class TruncatedEventError(DamageError):
    """The file ends inside an event."""


class ChecksumError(DamageError):
    """An event's CRC32 does not match its bytes."""


class MalformedEventError(DamageError):
    """A field claims what its event cannot hold."""


class SchemaError(BinlogKitError):
    """A table's schema is unknown, ambiguous, or contradicts the log."""


class LimitError(BinlogKitError):
    """A documented limit against hostile input was reached; the message names the setting."""


class ServerError(BinlogKitError):
    """A MySQL server refused, failed or went away."""


class OracleError(BinlogKitError):
    """A judge that was asked for (mysqlbinlog, a server) is missing or failed."""
