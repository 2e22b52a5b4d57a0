"""When two writings of a cell are the same value, and what mysqlbinlog or ours did differently."""

from __future__ import annotations

import math
import re
import struct
from datetime import datetime, timedelta
from decimal import Decimal

from binlogkit.analyses.conformance import charsets
from binlogkit.analyses.conformance.cell import Cell, is_integer, is_number
from binlogkit.analyses.conformance.rule import Kind, Rules
from binlogkit.analyses.conformance.tokens import Printed, TokenForm

VALUE_RULES = Rules()
_rule = VALUE_RULES.add

_EPOCH = datetime(1970, 1, 1)
_HEX = re.compile(r"0x((?:[0-9A-F]{2})*)")
_OLD_TIME = re.compile(r"(\d{1,20}):(\d\d):(\d\d)")
_QUARTER = 15 * 60


# Numbers


@_rule(
    "unsigned-reading",
    "a negative integer is printed with its unsigned reading in brackets; the column is "
    "unsigned, and that reading is ours",
    "INT",
)
def _unsigned_reading(cell: Cell) -> bool:
    matches = is_integer(cell.ours) and cell.printed.unsigned == cell.ours
    return matches and cell.column.unsigned is not False


@_rule(
    "float-six-digits",
    "FLOAT is printed with %-20g: six digits of the single-precision value; ours has those",
    "FLOAT",
)
def _float_six_digits(cell: Cell) -> bool:
    if not is_number(cell.ours) or cell.printed.form not in (TokenForm.NUMBER, TokenForm.INTEGER):
        return False
    single = struct.unpack("<f", struct.pack("<f", cell.ours))[0]
    return f"{single:g}" == cell.printed.text


@_rule(
    "double-digits", "DOUBLE is printed with %-.20g; the digits read back to the same value",
    "DOUBLE",
)  # fmt: skip
def _double_digits(cell: Cell) -> bool:
    if not is_number(cell.ours) or cell.printed.form not in (TokenForm.NUMBER, TokenForm.INTEGER):
        return False
    theirs, ours = float(cell.printed.text), float(cell.ours)
    return theirs == ours and math.copysign(1, theirs) == math.copysign(1, ours)


@_rule("bit-as-number", "BIT is printed as its bits, the highest first", "BIT")
def _bit_number(cell: Cell) -> bool:
    if cell.printed.form is not TokenForm.BITS or not is_integer(cell.ours):
        return False
    return int(cell.printed.text or "0", 2) == int(cell.ours)


# ENUM and SET


def set_number(printed: Printed) -> int:
    """The number of a SET by its printed bits. ValueError: they are no whole bytes."""
    if printed.form is not TokenForm.BITS or len(printed.text) % 8:
        raise ValueError(f"not the bits of a SET: {printed.text}")
    stored = int(printed.text or "0", 2).to_bytes(len(printed.text) // 8, "big")
    return int.from_bytes(stored, "little")


@_rule(
    "set-bits", "SET is printed as the bits of its bytes in stored order, lowest byte first", "SET"
)
def _set_bits(cell: Cell) -> bool:
    return is_integer(cell.ours) and set_number(cell.printed) == cell.ours


@_rule("set-labels", "SET is printed as bits; ours names the labels of the set bits", "SET")
def _set_labels(cell: Cell) -> bool:
    labels, number = cell.column.labels, set_number(cell.printed)
    if labels is None or not isinstance(cell.ours, str) or number >> len(labels):
        return False
    return cell.ours == ",".join(v for i, v in enumerate(labels) if number >> i & 1)


@_rule("enum-label", "ENUM is printed as its index; ours is that index's label", "ENUM")
def _enum_label(cell: Cell) -> bool:
    labels, number = cell.column.labels, cell.printed.number
    if labels is None or not isinstance(cell.ours, str) or number > len(labels):
        return False
    return cell.ours == ("" if number == 0 else labels[number - 1])  # 0: the empty error value


# Dates and times


@_rule("date-colons", "DATE is printed with colons between year, month and day", "DATE")
def _date_colons(cell: Cell) -> bool:
    if not isinstance(cell.ours, str) or not re.fullmatch(r"\d{4}-\d\d-\d\d", cell.ours):
        return False
    printed = cell.printed
    return printed.form is TokenForm.STRING and printed.data == cell.ours.replace("-", ":").encode()


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


def _seconds_printed(cell: Cell) -> bool:
    return isinstance(cell.ours, str) and cell.printed.form in (TokenForm.INTEGER, TokenForm.NUMBER)


@_rule(
    "timestamp-epoch", "TIMESTAMP is printed as seconds since the epoch, 0 being the zero date",
    "TIMESTAMP",
)  # fmt: skip
def _timestamp_epoch(cell: Cell) -> bool:
    return _seconds_printed(cell) and bool(cell.ours == moment_text(cell.printed.text))


# Strings


def _hex(value: object) -> bytes | None:
    found = _HEX.fullmatch(value) if isinstance(value, str) else None
    return bytes.fromhex(found[1]) if found else None


def _is_binary(cell: Cell) -> bool:
    return cell.column.charset in (None, "binary")


def _width(cell: Cell) -> int:
    """Bytes of a BINARY(n): by the column, else by the printed type."""
    found = re.fullmatch(r"STRING\((\d{1,20})\)", cell.type)
    if found:
        return int(found[1])
    return cell.column.length if cell.column.fixed and not cell.type else 0


@_rule(
    "binary-as-hex", "bytes are printed as a quoted string; ours are the same bytes in hexadecimal",
    "STRING", "VECTOR", "GEOMETRY",
)  # fmt: skip
def _binary_hex(cell: Cell) -> bool:
    printed = cell.printed
    return printed.form is TokenForm.STRING and _is_binary(cell) and _hex(cell.ours) == printed.data


@_rule(
    "binary-padding",
    "the log stores BINARY(n) without its trailing zero bytes; ours is padded to n",
    "STRING",
)
def _binary_padding(cell: Cell) -> bool:
    ours = _hex(cell.ours)
    if ours is None or not _is_binary(cell) or cell.printed.form is not TokenForm.STRING:
        return False
    return len(ours) == _width(cell) and ours == cell.printed.data.ljust(len(ours), b"\0")


@_rule("charset", "text is printed in its column's character set; its bytes say ours", "STRING")
def _charset(cell: Cell) -> bool:
    name = cell.column.charset
    if not isinstance(cell.ours, str) or cell.printed.form is not TokenForm.STRING or name is None:
        return False
    return charsets.says(name, cell.printed.data, cell.ours)


@_rule(
    "bytes-kept",
    "ours says that the bytes are no text in the character set that it has, and keeps the "
    "bytes that are printed",
    "STRING",
)
def _bytes_kept(cell: Cell) -> bool:
    if not isinstance(cell.ours, dict) or cell.printed.form is not TokenForm.STRING:
        return False
    if _hex(cell.ours.get("undecodable")) != cell.printed.data:
        return False
    if cell.column.charset not in (None, "utf8", "utf8mb3", "utf8mb4"):
        return cell.column.charset != "binary"
    try:
        cell.printed.data.decode("utf-8")
    except UnicodeDecodeError:
        return True
    return False


@_rule(
    "vector-numbers",
    "VECTOR is printed as its numbers with %.5e; ours are the stored floats, which print so",
    "VECTOR",
)
def _vector_numbers(cell: Cell) -> bool:
    stored = _hex(cell.ours)
    if stored is None or len(stored) % 4 or cell.printed.form is not TokenForm.VECTOR:
        return False
    values = [number[0] for number in struct.iter_unpack("<f", stored)]
    return cell.printed.text == "[" + ",".join(f"{v:.5e}" for v in values) + "]"


# What the text does not decide


@_rule(
    "labels-not-known",
    "ENUM and SET are printed as numbers and no labels were given: ours cannot be judged",
    "ENUM", "SET",
    kind=Kind.UNDER_DETERMINED,
)  # fmt: skip
def _labels_unknown(cell: Cell) -> bool:
    return cell.column.labels is None and isinstance(cell.ours, str)


@_rule(
    "charset-not-known", "the judge has no codec for the column's character set", "STRING",
    kind=Kind.UNDER_DETERMINED, source="Python's codecs module",
)  # fmt: skip
def _charset_unknown(cell: Cell) -> bool:
    name = cell.column.charset
    if name is None or name == "binary":
        return False
    return isinstance(cell.ours, str) and not charsets.is_known(name)


# What mysqlbinlog has wrong


@_rule(
    "year-zero",
    "YEAR is stored as a byte, 0 for the year 0000, else the year less 1900; mysqlbinlog adds "
    "1900 to 0 too, and 1900 is no value of YEAR",
    "YEAR",
    kind=Kind.THEIRS,
)
def _year_zero(cell: Cell) -> bool:
    return is_integer(cell.ours) and cell.ours == 0 and cell.printed.number == 1900


@_rule(
    "old-time-negative",
    "a TIME of 5.5 and before is a signed 3-byte number; mysqlbinlog reads it as unsigned",
    "TIME",
    kind=Kind.THEIRS,
)
def _old_time_negative(cell: Cell) -> bool:
    found = _OLD_TIME.fullmatch(cell.printed.data.decode("ascii", "replace"))
    if cell.type != "TIME" or found is None or not isinstance(cell.ours, str):
        return False
    number = int(found[1]) * 10000 + int(found[2]) * 100 + int(found[3])
    if number < 1 << 23:
        return False
    value = (1 << 24) - number
    return cell.ours == f"-{value // 10000:02d}:{value // 100 % 100:02d}:{value % 100:02d}"


@_rule(
    "old-timestamp-high",
    "a TIMESTAMP of 5.5 and before is an unsigned 4-byte number; mysqlbinlog prints it with %d",
    "TIMESTAMP",
    kind=Kind.THEIRS,
)
def _old_timestamp_high(cell: Cell) -> bool:
    number = cell.printed.number
    if cell.printed.form is not TokenForm.INTEGER or number >= 0:
        return False
    return bool(cell.ours == moment_text(str(number + (1 << 32))))


# What ours has wrong


@_rule(
    "unsigned-shown-negative", "the column is unsigned, ours is the signed reading", "INT",
    kind=Kind.OURS,
)  # fmt: skip
def _unsigned_shown_negative(cell: Cell) -> bool:
    if not is_integer(cell.ours) or cell.printed.unsigned is None:
        return False
    return cell.ours == cell.printed.number and cell.column.unsigned is True


@_rule("binary-unpadded", "BINARY(n) is padded to n when n is known", "STRING", kind=Kind.OURS)
def _binary_unpadded(cell: Cell) -> bool:
    ours = _hex(cell.ours)
    if ours is None or not _is_binary(cell) or not _width(cell):
        return False
    return len(ours) != _width(cell) and ours.rstrip(b"\0") == cell.printed.data.rstrip(b"\0")


@_rule(
    "charset-damage", "ours holds U+FFFD where bytes could not be read: they are lost", "STRING",
    kind=Kind.OURS,
)  # fmt: skip
def _charset_damage(cell: Cell) -> bool:
    if not isinstance(cell.ours, str) or "\ufffd" not in cell.ours:
        return False
    return "\ufffd".encode() not in cell.printed.data


@_rule(
    "zero-date-as-null", "a zero date is a value, not NULL", "DATE", "DATETIME", "TIMESTAMP",
    kind=Kind.OURS,
)  # fmt: skip
def _zero_date_as_null(cell: Cell) -> bool:
    if cell.ours is not None or cell.printed.form is TokenForm.NULL:
        return False
    shown = cell.printed.data.decode("ascii", "replace") or cell.printed.text
    return bool(shown) and not shown.strip("0 :.-")


@_rule(
    "timestamp-zone",
    "TIMESTAMP is off by whole quarters of an hour: shown in a time zone other than UTC",
    "TIMESTAMP",
    kind=Kind.OURS,
)
def _timestamp_zone(cell: Cell) -> bool:
    if not _seconds_printed(cell):
        return False
    theirs = datetime.fromisoformat(moment_text(cell.printed.text))
    apart = (datetime.fromisoformat(cell.ours) - theirs).total_seconds()
    return apart != 0 and apart % _QUARTER == 0 and abs(apart) <= 14 * 3600


@_rule("decimal-scale", "the same number without its declared scale", "DECIMAL", kind=Kind.OURS)
def _decimal_scale(cell: Cell) -> bool:
    return isinstance(cell.ours, str) and Decimal(cell.ours) == Decimal(cell.printed.text)
