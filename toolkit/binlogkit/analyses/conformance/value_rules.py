"""When two writings of a cell are the same value: the functions behind the rules, but JSON's."""

from __future__ import annotations

import math
import re
import struct
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation

from binlogkit.analyses.conformance import charsets
from binlogkit.analyses.conformance.cell import Cell, is_integer, is_number
from binlogkit.analyses.conformance.tokens import Form

__all__ = [
    "binary_hex",
    "binary_padding",
    "binary_unpadded",
    "bit_number",
    "bytes_kept",
    "charset",
    "charset_damage",
    "charset_unknown",
    "date_colons",
    "decimal_scale",
    "double_digits",
    "enum_label",
    "float_six_digits",
    "labels_unknown",
    "moment_text",
    "old_time_negative",
    "old_timestamp_high",
    "set_bits",
    "set_labels",
    "timestamp_epoch",
    "timestamp_zone",
    "unsigned_reading",
    "unsigned_shown_negative",
    "vector_numbers",
    "year_zero",
    "zero_date_as_null",
]

_EPOCH = datetime(1970, 1, 1)
_HEX = re.compile(r"0x((?:[0-9A-F]{2})*)")
_OLD_TIME = re.compile(r"(\d{1,20}):(\d\d):(\d\d)")
_QUARTER = 15 * 60


def unsigned_reading(cell: Cell) -> bool:
    """-1 (255) and 255, where the column is unsigned or nothing says that it is not."""
    return (
        is_integer(cell.ours)
        and cell.printed.unsigned == cell.ours
        and cell.column.unsigned is not False
    )


def unsigned_shown_negative(cell: Cell) -> bool:
    """-1 (255) and -1, where the column is unsigned."""
    return (
        is_integer(cell.ours)
        and cell.printed.unsigned is not None
        and cell.ours == cell.printed.number
        and cell.column.unsigned is True
    )


# Numbers


def float_six_digits(cell: Cell) -> bool:
    """The single-precision value prints with ``%g`` as theirs does."""
    if not is_number(cell.ours) or cell.printed.form not in (Form.NUMBER, Form.INTEGER):
        return False
    try:
        single = struct.unpack("<f", struct.pack("<f", cell.ours))[0]
    except OverflowError:
        return False
    return f"{single:g}" == cell.printed.text


def double_digits(cell: Cell) -> bool:
    """Twenty digits name one double; the sign of zero counts."""
    if not is_number(cell.ours) or cell.printed.form not in (Form.NUMBER, Form.INTEGER):
        return False
    theirs, ours = float(cell.printed.text), float(cell.ours)
    return theirs == ours and math.copysign(1, theirs) == math.copysign(1, ours)


def decimal_scale(cell: Cell) -> bool:
    """Equal as numbers."""
    try:
        return Decimal(str(cell.ours)) == Decimal(cell.printed.text)
    except InvalidOperation:
        return False


def bit_number(cell: Cell) -> bool:
    """The bits as a binary number."""
    if cell.printed.form is not Form.BITS or not is_integer(cell.ours):
        return False
    return int(cell.printed.text or "0", 2) == int(cell.ours)


def year_zero(cell: Cell) -> bool:
    """Theirs 1900, ours 0."""
    return is_integer(cell.ours) and cell.ours == 0 and cell.printed.number == 1900


# ENUM and SET


def enum_label(cell: Cell) -> bool:
    """The label of the printed index; index 0 is the empty error value."""
    labels, number = cell.column.labels, cell.printed.number
    if labels is None or not isinstance(cell.ours, str) or number > len(labels):
        return False
    return cell.ours == ("" if number == 0 else labels[number - 1])


def _set_number(cell: Cell) -> int | None:
    bits = cell.printed.text
    if cell.printed.form is not Form.BITS or len(bits) % 8:
        return None
    stored = int(bits or "0", 2).to_bytes(len(bits) // 8, "big")
    return int.from_bytes(stored, "little")


def set_bits(cell: Cell) -> bool:
    """The number whose lowest byte stands first."""
    return is_integer(cell.ours) and _set_number(cell) == cell.ours


def set_labels(cell: Cell) -> bool:
    """The labels of the set bits, joined by commas."""
    labels, number = cell.column.labels, _set_number(cell)
    if labels is None or number is None or not isinstance(cell.ours, str):
        return False
    if number >> len(labels):
        return False
    return cell.ours == ",".join(v for i, v in enumerate(labels) if number >> i & 1)


def labels_unknown(cell: Cell) -> bool:
    """Ours is a label, and no labels were given."""
    return cell.column.labels is None and isinstance(cell.ours, str)


# Dates and times


def date_colons(cell: Cell) -> bool:
    """1940:02:10 and 1940-02-10."""
    return (
        isinstance(cell.ours, str)
        and cell.printed.form is Form.STRING
        and re.fullmatch(r"\d{4}-\d\d-\d\d", cell.ours) is not None
        and cell.printed.data == cell.ours.replace("-", ":").encode("ascii")
    )


def moment_text(text: str) -> str:
    """Seconds since the epoch as the server's text in UTC; raises ValueError for no such thing."""
    whole, _, fraction = text.partition(".")
    if int(whole) == 0 and not fraction.strip("0"):
        moment = "0000-00-00 00:00:00"
    else:
        try:
            moment = str(_EPOCH + timedelta(seconds=int(whole)))
        except OverflowError as exc:
            raise ValueError(text) from exc
    return f"{moment}.{fraction}" if fraction else moment


def timestamp_epoch(cell: Cell) -> bool:
    """The same moment with the same fraction digits."""
    if not isinstance(cell.ours, str) or cell.printed.form not in (Form.INTEGER, Form.NUMBER):
        return False
    try:
        return cell.ours == moment_text(cell.printed.text)
    except ValueError:
        return False


def old_timestamp_high(cell: Cell) -> bool:
    """Ours is the unsigned reading of a negative number."""
    if cell.printed.form is not Form.INTEGER or cell.printed.number >= 0:
        return False
    return isinstance(cell.ours, str) and cell.ours == moment_text(
        str(cell.printed.number + (1 << 32))
    )


def timestamp_zone(cell: Cell) -> bool:
    """Off by whole quarters of an hour, at most 14 hours."""
    if not isinstance(cell.ours, str) or cell.printed.form not in (Form.INTEGER, Form.NUMBER):
        return False
    try:
        ours = datetime.fromisoformat(cell.ours)
        apart = (ours - datetime.fromisoformat(moment_text(cell.printed.text))).total_seconds()
    except (ValueError, TypeError):
        return False
    return apart != 0 and apart % _QUARTER == 0 and abs(apart) <= 14 * 3600


def zero_date_as_null(cell: Cell) -> bool:
    """Ours NULL, theirs a date whose digits are all 0."""
    if cell.ours is not None or cell.printed.form is Form.NULL:
        return False
    shown = cell.printed.data.decode("ascii", "replace") or cell.printed.text
    return bool(shown) and not shown.strip("0 :.-")


def old_time_negative(cell: Cell) -> bool:
    """3 bytes hhmmss: theirs as if unsigned, ours signed."""
    found = _OLD_TIME.fullmatch(cell.printed.data.decode("ascii", "replace"))
    if cell.type != "TIME" or found is None or not isinstance(cell.ours, str):
        return False
    number = int(found[1]) * 10000 + int(found[2]) * 100 + int(found[3])
    if number < 1 << 23:
        return False
    value = (1 << 24) - number
    return cell.ours == f"-{value // 10000:02d}:{value // 100 % 100:02d}:{value % 100:02d}"


# Strings


def _hex(value: object) -> bytes | None:
    found = _HEX.fullmatch(value) if isinstance(value, str) else None
    return bytes.fromhex(found[1]) if found else None


def _is_binary(cell: Cell) -> bool:
    return cell.column.charset in (None, "binary")


def binary_hex(cell: Cell) -> bool:
    """``0x…`` of the printed bytes, for a column that is not known to be text."""
    return (
        cell.printed.form is Form.STRING
        and _is_binary(cell)
        and _hex(cell.ours) == cell.printed.data
    )


def _width(cell: Cell) -> int:
    """Bytes of a BINARY(n): by the column, else by the printed type."""
    found = re.fullmatch(r"STRING\((\d{1,20})\)", cell.type)
    if found:
        return int(found[1])
    return cell.column.length if cell.column.fixed and not cell.type else 0


def binary_padding(cell: Cell) -> bool:
    """Ours is the printed bytes and zeros up to n."""
    ours = _hex(cell.ours)
    if ours is None or not _is_binary(cell) or cell.printed.form is not Form.STRING:
        return False
    return len(ours) == _width(cell) and ours == cell.printed.data.ljust(len(ours), b"\0")


def binary_unpadded(cell: Cell) -> bool:
    """Ours and theirs differ by zeros at the end only, and ours is not n bytes long."""
    ours = _hex(cell.ours)
    if ours is None or not _is_binary(cell) or not _width(cell):
        return False
    return len(ours) != _width(cell) and ours.rstrip(b"\0") == cell.printed.data.rstrip(b"\0")


def charset(cell: Cell) -> bool:
    """The printed bytes say ours."""
    if not isinstance(cell.ours, str) or cell.printed.form is not Form.STRING:
        return False
    name = cell.column.charset
    return name is not None and charsets.says(name, cell.printed.data, cell.ours)


def bytes_kept(cell: Cell) -> bool:
    """``{"undecodable": "0x…"}`` with the printed bytes, which are indeed no text as stated."""
    if not isinstance(cell.ours, dict) or cell.printed.form is not Form.STRING:
        return False
    if _hex(cell.ours.get("undecodable")) != cell.printed.data:
        return False
    name = cell.column.charset
    if name in (None, "utf8", "utf8mb3", "utf8mb4"):
        try:
            cell.printed.data.decode("utf-8")
        except UnicodeDecodeError:
            return True
        return False
    return name != "binary"


def charset_unknown(cell: Cell) -> bool:
    """Text in a character set that Python does not know."""
    name = cell.column.charset
    return (
        isinstance(cell.ours, str)
        and name not in (None, "binary")
        and not charsets.is_known(str(name))
    )


def charset_damage(cell: Cell) -> bool:
    """A replacement character that the printed bytes do not hold."""
    return (
        isinstance(cell.ours, str)
        and "\ufffd" in cell.ours
        and "\ufffd".encode() not in cell.printed.data
    )


def vector_numbers(cell: Cell) -> bool:
    """Each stored float printed with ``%.5e``."""
    stored = _hex(cell.ours)
    if stored is None or len(stored) % 4 or cell.printed.form is not Form.VECTOR:
        return False
    values = [number[0] for number in struct.iter_unpack("<f", stored)]
    return cell.printed.text == "[" + ",".join(f"{v:.5e}" for v in values) + "]"
