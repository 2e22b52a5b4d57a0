"""Binary forms that columns and JSON documents share, written from a value's text."""

from __future__ import annotations

import re

from binlogkit.analyses.conformance.stored import decimal_bytes

#: The last group of each is the fraction's digits.
DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)()")
DATETIME = re.compile(r"(\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?")
TIME = re.compile(r"-?(\d{2,3}):(\d\d):(\d\d)(?:\.(\d{1,6}))?")
DECIMAL = re.compile(r"(-?)(\d+)(?:\.(\d+))?")

_GROUP = 9


def packed_fraction(digits: str, scale: int) -> bytes:
    """A time's fraction: two digits a byte, as one number. ValueError: not ``scale`` digits."""
    if len(digits) != scale:
        raise ValueError(f"{digits!r} are not {scale} digits")
    size = (scale + 1) // 2
    return int(digits.ljust(2 * size, "0") or "0").to_bytes(size, "big")


def write_decimal(text: str, precision: int, scale: int) -> bytes:
    """A number's text as DECIMAL(``precision``, ``scale``) stores it. ValueError: it does not fit.

    Nine digits make four big-endian bytes, fewer at either end less; the first bit is the sign,
    set for positive numbers, and of negative ones all bits are inverted.
    """
    found = DECIMAL.fullmatch(text)
    if found is None:
        raise ValueError(text)
    sign, whole, part = found.groups(default="")
    whole = whole.lstrip("0").rjust(precision - scale, "0")
    if len(whole) != precision - scale or len(part) != scale:
        raise ValueError(f"{text} is no DECIMAL({precision},{scale})")
    first = len(whole) % _GROUP
    groups = [whole[:first], *_nines(whole[first:]), *_nines(part)]
    stored = bytearray(
        b"".join(int(g).to_bytes(decimal_bytes(len(g), 0), "big") for g in groups if g)
    )
    if sign:
        stored = bytearray(byte ^ 0xFF for byte in stored)
    stored[0] ^= 0x80
    return bytes(stored)


def _nines(digits: str) -> list[str]:
    return [digits[at : at + _GROUP] for at in range(0, len(digits), _GROUP)]
