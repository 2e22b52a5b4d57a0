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
    │       └── ZeroTailError       nothing but zero bytes up to the end of the file
    ├── GapError                    an answer would stand over gaps in the log (exit status 1)
    ├── UndeterminedError           rows kept up to date that the log does not determine (status 1)
    ├── SchemaError                 a table's schema is unknown, ambiguous or contradicts the log
    ├── LimitError                  a documented limit against hostile input was reached
    ├── ServerError                 a MySQL server refused, failed or went away
    │   ├── LostConnectionError     no connection, or it broke; worth another try
    │   └── ReplicationError        the server refused or ended a stream of events
    │       └── LogGapError         what follows is not on the server any more
    ├── WriteError                  what was read cannot be kept: disk full, no right
    └── OracleError                 mysqlbinlog (or another judge) is missing or failed
    UserWarning
    ├── GapWarning                  a frame of Spark's stands over gaps in the log
    └── UnmetWarning                a filter names what the log does not have

Each error carries its data as attributes; ``str(error)`` is one line without control characters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

__all__ = [
    "BinlogKitError",
    "ChecksumError",
    "DamageError",
    "EmptyInputError",
    "GapError",
    "GapWarning",
    "InputError",
    "LimitError",
    "LogGapError",
    "LostConnectionError",
    "MalformedEventError",
    "NotABinlogError",
    "OracleError",
    "ReplicationError",
    "SchemaError",
    "ServerError",
    "TruncatedEventError",
    "UndeterminedError",
    "UnmetWarning",
    "UsageError",
    "WriteError",
    "ZeroTailError",
    "not_installed",
    "printable",
    "teller",
    "together",
]

_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")


_OVER_GAPS = (
    "changes may be missing, so no script is made; with despite_gaps (--despite-gaps) one is, and "
    "names the gaps"
)


def not_installed(what: str, extra: str) -> str:
    """The message of a missing library, and the extra that has it."""
    return f"{what} is not installed: pip install 'binlogkit[{extra}]'"


def printable(text: str) -> str:
    """``text`` on one line, safe on a terminal: control and bidirectional characters are escaped.

    A log's names and values were typed by strangers (docs/hostile-input.md).
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        c if (c.isprintable() and c not in _BIDI) else c.encode("unicode_escape").decode("ascii")
        for c in text
    )


def teller(
    on_damage: str, sink: Callable[[DamageError], None] | None
) -> Callable[[DamageError], None]:
    """What to do with damage: ``stop`` raises it, else it is handed to ``sink``."""

    def tell(error: DamageError) -> None:
        if on_damage == "stop":
            raise error
        if sink is not None:
            sink(error)

    return tell


class GapWarning(UserWarning):
    """Changes may be missing from a frame: it stands over gaps in the log."""


class UnmetWarning(UserWarning):
    """A filter names a table, a position or a time that the log does not have."""


class BinlogKitError(Exception):
    """The base of every error that binlogkit raises on purpose."""


class UsageError(BinlogKitError):
    """The arguments contradict each other or name what does not exist."""


class InputError(BinlogKitError):
    """An input that cannot be read at all.

    ``file``: the input's name as given; ``others``: further inputs that cannot be read either.
    """

    def __init__(self, file: str, reason: str) -> None:
        self.file = file
        self.reason = reason
        self.others: tuple[InputError, ...] = ()
        super().__init__(file, reason)

    def and_also(self, other: InputError) -> InputError:
        """This error, which names ``other`` too."""
        self.others = (*self.others, other, *other.others)
        return self

    def lines(self) -> list[str]:
        """What is wrong, a line for each input."""
        own = f"{printable(self.file)}: {printable(self.reason)}"
        return [own, *(line for other in self.others for line in other.lines())]

    def __str__(self) -> str:
        return "; ".join(self.lines())


def together(errors: Sequence[InputError]) -> InputError:
    """One error that names the inputs of all of these, at least one."""
    first, *others = errors
    return reduce(InputError.and_also, others, first)


class NotABinlogError(InputError):
    """No binlog magic, or no plausible first event."""


class EmptyInputError(InputError):
    """The input has no bytes, or no binlog was found in it."""


class DamageError(BinlogKitError):
    """The log is damaged.

    ``file``: the input's name; ``offset``: 64-bit logical offset of the event (bytes);
    ``field``: the field that could not be read, or None; ``reason``: one clause; ``end``: where
    reading resumes after it (exclusive; what lies between is quarantined), None while that is not
    known. A reader that resumes sets it.
    """

    def __init__(self, file: str, offset: int, reason: str, field: str | None = None) -> None:
        self.file = file
        self.offset = offset
        self.reason = reason
        self.field = field
        self.end: int | None = None
        super().__init__(file, offset, reason, field)

    def __str__(self) -> str:
        where = f"at {self.offset}" if self.end is None else f"from {self.offset} to {self.end}"
        field = f" in field {printable(self.field)}" if self.field else ""
        return f"{printable(self.file)} {where}{field}: {printable(self.reason)}"


class TruncatedEventError(DamageError):
    """The file ends inside an event."""


class ChecksumError(DamageError):
    """An event's CRC32 does not match its bytes."""


class MalformedEventError(DamageError):
    """A field claims what its event cannot hold."""


class ZeroTailError(MalformedEventError):
    """Nothing but zero bytes up to the end of the file: space that was never written."""


class GapError(BinlogKitError):
    """An undo or redo of a log in which changes may be missing that concern it.

    ``gaps``: where and what, a sentence each.
    """

    def __init__(self, gaps: tuple[str, ...]) -> None:
        self.gaps = gaps
        super().__init__(gaps)

    def lines(self) -> list[str]:
        """The gaps, a line each, and what to do."""
        return [*map(printable, self.gaps), _OVER_GAPS]

    def __str__(self) -> str:
        return "; ".join(self.lines())


class UndeterminedError(BinlogKitError):
    """A table or a query kept up to date whose rows what was read does not determine.

    ``what``: which one; ``reasons``: why, a sentence each.
    """

    def __init__(self, what: str, reasons: tuple[str, ...]) -> None:
        self.what, self.reasons = what, reasons
        super().__init__(f"{printable(what)}: {'; '.join(map(printable, reasons))}")


class SchemaError(BinlogKitError):
    """A table's schema is unknown, ambiguous, or contradicts the log."""


class LimitError(BinlogKitError):
    """A documented limit against hostile input was reached; the message names the setting."""


class ServerError(BinlogKitError):
    """A MySQL server refused, failed or went away.

    ``server``: ``host:port`` or a socket's path, where it is known; ``code``: the server's or the
    client library's number, or None.
    """

    def __init__(self, reason: str, *, server: str | None = None, code: int | None = None) -> None:
        self.server = server
        self.code = code
        where = f"{printable(server)}: " if server else ""
        super().__init__(f"{where}{printable(reason)}")


class LostConnectionError(ServerError):
    """There is no connection, or it broke: another try may find the server back."""


class ReplicationError(ServerError):
    """A server refused or ended a stream of events.

    ``file``, ``position``: up to where the stream was read, or what was asked for.
    """

    def __init__(
        self,
        reason: str,
        *,
        server: str | None = None,
        code: int | None = None,
        file: str = "",
        position: int = 0,
    ) -> None:
        self.file = file
        self.position = position
        at = f" ({file or 'the first log'} at {position})" if position else ""
        super().__init__(f"{reason}{at}", server=server, code=code)


class LogGapError(ReplicationError):
    """What follows the place that was reached is not on the server any more."""


class WriteError(BinlogKitError):
    """What was read cannot be kept.

    ``path``: the file or folder; ``reason``: what the system says.
    """

    def __init__(self, path: str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"{printable(path)} cannot be written: {printable(reason)}")


class OracleError(BinlogKitError):
    """A judge that was asked for (mysqlbinlog, a server) is missing or failed."""
