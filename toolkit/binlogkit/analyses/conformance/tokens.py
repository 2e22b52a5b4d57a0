r"""The value forms of ``mysqlbinlog -v``: one token of its text -> one :class:`Printed` value.

The forms were read from the output of mysqlbinlog 9.7.4 over logs written by 5.7.22, 8.0.31 and
9.7.4, and agree with ``log_event_print_value`` and ``get_quote_table`` in the server's
``sql/log_event.cc`` (8.0). Strings are quoted so that the text is unambiguous: ``\b \f \n \r \t``
by their letters, ``\\`` and ``\'``, every other byte below 0x20 as ``\xNN``, all others raw; so a
value never holds a line end and cannot forge a row. Up to 5.7 the same bytes are all written
``\xNN`` (``my_b_write_quoted`` of 5.7); both read back to the same bytes here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

_ESCAPES = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"}
_ESCAPED = re.compile(rb"\\(x[0-9a-f]{2}|[bfnrt\\'])")
_STRING = re.compile(rb"'((?:[^'\\\x00-\x1f]|\\(?:x[0-9a-f]{2}|[bfnrt\\']))*)'")
_INTEGER = re.compile(rb"(-?\d{1,81})(?: \((\d{1,20})\))?")
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
_BITS = re.compile(rb"b'([01]*)'")
_OLD_DATETIME = re.compile(rb"\d{4,}-\d{2,}-\d{2,} \d{2,}:\d{2,}:\d{2,}")
_VECTOR = re.compile(rb"\[[-+0-9.einfa,]*\]")
_CALL = re.compile(rb"(JSON_REPLACE|JSON_INSERT|JSON_ARRAY_INSERT|JSON_REMOVE)\(")
_SCALAR = re.compile(rb"null|true|false|-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
_SEPARATOR = re.compile(rb",?\s*")


class TokenError(ValueError):
    """A token that none of mysqlbinlog's value forms explains; never leaves this package."""


class TokenForm(StrEnum):
    """Which of mysqlbinlog's value forms a token has."""

    NULL = "null"
    INTEGER = "integer"  # 5, or -1 (4294967295): `number` signed, `unsigned` the other reading
    NUMBER = "number"  # DECIMAL, FLOAT, DOUBLE, TIMESTAMP: `text`
    STRING = "string"  # `data`
    BITS = "bits"  # BIT and SET: `text` of zeros and ones
    PLAIN = "plain"  # an old DATETIME, which is not quoted: `text`
    VECTOR = "vector"  # [1.00000e+00,2.50000e+00], 9.0 and later: `text`
    JSON_DIFF = "json-diff"  # `diffs`, empty for @4=@4
    FAULT = "fault"  # mysqlbinlog says that it cannot: `text`


@dataclass(frozen=True, slots=True)
class Diff:
    """One operation of a partial JSON update as it is printed.

    ``op``: ``replace``, ``insert`` or ``remove`` (an array insert is ``insert``: the log has one
    code for both, the printed name follows from the path's last character); ``value``: None for
    ``remove``; ``json``: True where ``value`` is JSON text, False where it is a string's content.
    """

    op: str
    path: bytes
    value: bytes | None = None
    json: bool = False


@dataclass(frozen=True, slots=True)
class Printed:
    """One printed value; which attribute holds it, its :class:`TokenForm` says."""

    form: TokenForm
    text: str = ""
    number: int = 0
    unsigned: int | None = None
    data: bytes = b""
    diffs: tuple[Diff, ...] = ()


NULL = Printed(TokenForm.NULL)


def unquote(body: bytes) -> bytes:
    """The bytes of a string from what stands between its quotes."""
    if b"\\" not in body:
        return body
    return _ESCAPED.sub(_unescape, body)


def _unescape(match: re.Match[bytes]) -> bytes:
    what = match[1]
    if what[:1] == b"x":
        return bytes([int(what[1:], 16)])
    return _ESCAPES.get(what, what)


def read_token(token: bytes) -> Printed:
    """The value that ``token`` (all that stands between ``=`` and the comment) writes.

    Raises :class:`TokenError` when no form fits.
    """
    if token == b"NULL":
        return NULL
    first = token[:1]
    if first == b"'":
        match = _STRING.fullmatch(token)
        if match:
            return Printed(TokenForm.STRING, data=unquote(match[1]))
    elif first == b"b":
        match = _BITS.fullmatch(token)
        if match:
            return Printed(TokenForm.BITS, text=match[1].decode("ascii"))
    elif first == b"[":
        if _VECTOR.fullmatch(token):
            return Printed(TokenForm.VECTOR, token.decode("ascii"))
    elif first in b"J@" and first:
        return Printed(TokenForm.JSON_DIFF, diffs=_read_diffs(token))
    elif first == b"!" or first == b"*" or token.startswith((b"Invalid JSON", b"Error ")):
        return Printed(TokenForm.FAULT, text=token.decode("utf-8", "backslashreplace").strip())
    else:
        return _read_number(token.rstrip(b" "))
    raise TokenError(f"not a value form of mysqlbinlog: {token[:60]!r}")


def _read_number(token: bytes) -> Printed:
    match = _INTEGER.fullmatch(token)
    if match:
        other = int(match[2]) if match[2] else None
        return Printed(TokenForm.INTEGER, token.decode("ascii"), int(match[1]), other)
    if _NUMBER.fullmatch(token):
        return Printed(TokenForm.NUMBER, token.decode("ascii"))
    if _OLD_DATETIME.fullmatch(token):
        return Printed(TokenForm.PLAIN, token.decode("ascii"))
    raise TokenError(f"not a value form of mysqlbinlog: {token[:60]!r}")


_OPS = {
    b"JSON_REPLACE": "replace",
    b"JSON_INSERT": "insert",
    b"JSON_ARRAY_INSERT": "insert",
    b"JSON_REMOVE": "remove",
}


def _read_diffs(token: bytes) -> tuple[Diff, ...]:
    """The operations of ``JSON_INSERT(JSON_REPLACE(@4, '$.a', 1), '$.b', 2)``, in stored order.

    The names stand in reverse order (the first operation is innermost); neighbours with the same
    name share one call (``print_json_diff`` in ``sql/log_event.cc``, 8.0).
    """
    calls: list[bytes] = []
    at = 0
    while match := _CALL.match(token, at):
        calls.append(match[1])
        at = _skip(token, match.end())
    match = re.compile(rb"@\d+").match(token, at)
    if not match:
        raise TokenError(f"not a JSON diff: {token[:60]!r}")
    at = match.end()
    diffs: list[Diff] = []
    while calls:
        if token[at : at + 1] == b")":
            calls.pop()
            at += 1
            continue
        path, at = _read_string(token, _skip(token, at))
        op = _OPS[calls[-1]]
        if op == "remove":
            diffs.append(Diff(op, path))
            continue
        value, is_json, at = _read_json_value(token, _skip(token, at))
        diffs.append(Diff(op, path, value, is_json))
    if at != len(token):
        raise TokenError(f"text after a JSON diff: {token[at : at + 60]!r}")
    return tuple(diffs)


def _skip(token: bytes, at: int) -> int:
    """Past a comma, spaces, and the line separator ``\\n###      ``."""
    match = _SEPARATOR.match(token, at)
    at = match.end() if match else at
    if token.startswith(b"###", at):
        at += 3
        while token[at : at + 1] == b" ":
            at += 1
    return at


def _read_string(token: bytes, at: int) -> tuple[bytes, int]:
    match = _STRING.match(token, at)
    if not match:
        raise TokenError(f"a string is missing in a JSON diff: {token[at : at + 60]!r}")
    return unquote(match[1]), match.end()


def _read_json_value(token: bytes, at: int) -> tuple[bytes, bool, int]:
    if token.startswith(b"CAST(", at):
        value, at = _read_string(token, at + 5)
        if not token.startswith(b" AS JSON)", at):
            raise TokenError(f"CAST without AS JSON: {token[at : at + 60]!r}")
        return value, True, at + 9
    if token[at : at + 1] == b"'":
        value, at = _read_string(token, at)
        return value, False, at
    match = _SCALAR.match(token, at)
    if not match:
        raise TokenError(f"not a JSON value: {token[at : at + 60]!r}")
    return match[0], True, match.end()
