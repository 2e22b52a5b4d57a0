"""What single values of an event say, in words: times, collations, versions, bits."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from binlogkit._kernel.charsets import COLLATIONS
from binlogkit.events.explain.parts import Detail

Bits = Mapping[int, tuple[str, str]]  # mask -> name, meaning
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
