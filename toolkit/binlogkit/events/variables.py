"""The events that a statement-format QUERY_EVENT needs before it: INTVAR, RAND, USER_VAR.

INTVAR: ``type:1 value:8``; RAND: ``seed1:8 seed2:8``; USER_VAR: ``name_length:4 name is_null:1``
and unless NULL ``type:1 collation:4 value_length:4 value``, from 5.5.3 on ``flags:1``.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from enum import IntEnum

from binlogkit._kernel.charsets import charset_of, decode
from binlogkit._kernel.cursor import Cursor
from binlogkit._kernel.numbers import decimal_size, read_decimal
from binlogkit.constants import EventType
from binlogkit.events.base import ParseContext, code_name, hidden, reads
from binlogkit.sources.raw import RawEvent

_UNSIGNED = 1
_MAX_PRECISION, _MAX_SCALE = 65, 30


class IntvarType(IntEnum):
    """Which session value an INTVAR_EVENT sets."""

    INVALID_INT = 0
    LAST_INSERT_ID = 1
    INSERT_ID = 2


class UserVarType(IntEnum):
    """``Item_result``: the type of a user variable's value."""

    STRING = 0
    REAL = 1
    INT = 2
    ROW = 3
    DECIMAL = 4


@dataclass(frozen=True, slots=True)
class Intvar:
    """LAST_INSERT_ID() or the next AUTO_INCREMENT value of the statement that follows."""

    intvar_type: str
    value: int


@dataclass(frozen=True, slots=True)
class Rand:
    """The seeds of RAND() in the statement that follows."""

    seed1: int
    seed2: int


@dataclass(frozen=True, slots=True)
class UserVar:
    """A user variable that the statement that follows reads.

    ``value``: as stored, None if NULL; ``flags``: bit 0 unsigned, None before 5.5.3.
    """

    name: str
    is_null: bool
    var_type: str | None = None
    collation: int | None = None
    value: bytes | None = None
    unsigned: bool = False
    flags: int | None = hidden(None)

    @property
    def charset(self) -> str | None:
        """The character set of a string."""
        return charset_of(self.collation) if self.collation is not None else None

    @property
    def decoded(self) -> str | int | float | None:
        """The value as SQL has it, a DECIMAL as text; None for NULL, bytes and what is damaged.

        INT: 8 bytes; REAL: a double; DECIMAL: ``precision:1 scale:1`` and the packed number;
        STRING: text in ``charset``; no server writes ROW.
        """
        data = self.value
        if data is None:
            return None
        try:
            match self.var_type:
                case "STRING" if self.charset not in (None, "binary"):
                    return decode(str(self.charset), data)
                case "REAL" if math.isfinite(number := struct.unpack("<d", data)[0]):
                    return float(number)
                case "INT":
                    return int(struct.unpack("<Q" if self.unsigned else "<q", data)[0])
                case "DECIMAL":
                    return _decimal(data)
        except (ValueError, struct.error):
            pass
        return None


def _decimal(data: bytes) -> str | None:
    precision, scale, *_ = data
    packed = data[2:]
    sound = 0 < precision <= _MAX_PRECISION and scale <= min(precision, _MAX_SCALE)
    if not sound or len(packed) != decimal_size(precision, scale):
        return None
    return f"{read_decimal(packed, precision, scale):f}"


@reads(EventType.INTVAR_EVENT)
def _intvar(cursor: Cursor, raw: RawEvent, context: ParseContext) -> Intvar:
    return Intvar(code_name(IntvarType, cursor.uint(1, "type")), cursor.uint(8, "value"))


@reads(EventType.RAND_EVENT)
def _rand(cursor: Cursor, raw: RawEvent, context: ParseContext) -> Rand:
    return Rand(cursor.uint(8, "seed1"), cursor.uint(8, "seed2"))


@reads(EventType.USER_VAR_EVENT)
def _user_var(cursor: Cursor, raw: RawEvent, context: ParseContext) -> UserVar:
    name = cursor.text(cursor.uint(4, "name_length"), "name")
    if cursor.uint(1, "is_null"):
        return UserVar(name, True)
    kind = code_name(UserVarType, cursor.uint(1, "type"))
    collation = cursor.uint(4, "collation")
    value = cursor.read(cursor.uint(4, "value_length"), "value")
    flags = cursor.uint(1, "flags") if cursor.left else None
    return UserVar(name, False, kind, collation, value, bool((flags or 0) & _UNSIGNED), flags)
