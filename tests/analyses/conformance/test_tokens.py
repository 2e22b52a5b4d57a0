r"""mysqlbinlog's value forms.

Tokens are copied from the output of mysqlbinlog 9.7.4 over logs of 5.7.22, 8.0.31 and 9.7.4
(``_data/make_data.py`` and the golden set), the old DATETIME and the 5.7 escapes from
``log_event_print_value`` and ``my_b_write_quoted`` in ``sql/log_event.cc``.
"""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binlogkit.analyses.conformance.tokens import (
    Diff,
    Printed,
    TokenError,
    TokenForm,
    read_token,
    unquote,
)

LETTERS = {8: rb"\b", 9: rb"\t", 10: rb"\n", 12: rb"\f", 13: rb"\r"}


def quote(value: bytes) -> bytes:
    """``value`` as mysqlbinlog 8.0 and later write it, quotes included."""
    out = bytearray(b"'")
    for byte in value:
        if byte in LETTERS:
            out += LETTERS[byte]
        elif byte in b"\\'":
            out += bytes([0x5C, byte])
        elif byte < 0x20:
            out += b"\\x%02x" % byte
        else:
            out.append(byte)
    out += b"'"
    return bytes(out)


FORMS = [
    (b"NULL", Printed(TokenForm.NULL)),
    (b"1", Printed(TokenForm.INTEGER, "1", 1)),
    (b"-1 (255)", Printed(TokenForm.INTEGER, "-1 (255)", -1, 255)),
    (
        b"-9223372036854775808 (9223372036854775808)",
        Printed(TokenForm.INTEGER, "-9223372036854775808 (9223372036854775808)", -(2**63), 2**63),
    ),
    (b"-12345.67890", Printed(TokenForm.NUMBER, "-12345.67890")),
    (b"1.5                 ", Printed(TokenForm.NUMBER, "1.5")),
    (b"1.0000000000000000525e+300", Printed(TokenForm.NUMBER, "1.0000000000000000525e+300")),
    (b"b'10101'", Printed(TokenForm.BITS, "10101")),
    (b"'1940:02:10'", Printed(TokenForm.STRING, data=b"1940:02:10")),
    (b"2012-03-18 11:30:45", Printed(TokenForm.PLAIN, "2012-03-18 11:30:45")),
    (b"1704067201.500000", Printed(TokenForm.NUMBER, "1704067201.500000")),
    (rb"'a\x00b\'c\\d'", Printed(TokenForm.STRING, data=b"a\0b'c\\d")),
    (rb"'q\'q" + b"\"'", Printed(TokenForm.STRING, data=b"q'q\"")),
    (rb"'line1\nline2\r\t\b\x1a'", Printed(TokenForm.STRING, data=b"line1\nline2\r\t\b\x1a")),
    (rb"'5.7: \x0a\x27\x5c'", Printed(TokenForm.STRING, data=b"5.7: \n'\\")),
    (b"'\xff'", Printed(TokenForm.STRING, data=b"\xff")),
    (b"''", Printed(TokenForm.STRING)),
    (
        b"[1.00000e+00,2.50000e+00,-3.00000e+10]",
        Printed(TokenForm.VECTOR, "[1.00000e+00,2.50000e+00,-3.00000e+10]"),
    ),
    (b"@4", Printed(TokenForm.JSON_DIFF)),
    (
        rb"JSON_REPLACE(@4, '$.a', 'b\'\nc')",
        Printed(TokenForm.JSON_DIFF, diffs=(Diff("replace", b"$.a", b"b'\nc"),)),
    ),
    (
        b"JSON_INSERT(@4, '$.n', null,\n###      '$.t', true,\n###      '$.f', 1000.0,"
        b"\n###      '$.s', 'v')",
        Printed(
            TokenForm.JSON_DIFF,
            diffs=(
                Diff("insert", b"$.n", b"null", True),
                Diff("insert", b"$.t", b"true", True),
                Diff("insert", b"$.f", b"1000.0", True),
                Diff("insert", b"$.s", b"v"),
            ),
        ),
    ),
    (
        b"JSON_REMOVE(\n###      JSON_INSERT(@2, '$.new', "
        b"CAST('{\"p\": [1.5, \"x\"]}' AS JSON)),\n###      '$.a[0]')",
        Printed(
            TokenForm.JSON_DIFF,
            diffs=(
                Diff("insert", b"$.new", b'{"p": [1.5, "x"]}', True),
                Diff("remove", b"$.a[0]"),
            ),
        ),
    ),
    (
        b"JSON_ARRAY_INSERT(@2, '$.list[3]', -1.5e-3)",
        Printed(TokenForm.JSON_DIFF, diffs=(Diff("insert", b"$.list[3]", b"-1.5e-3", True),)),
    ),
    (
        b"!! Don't know how to handle column type=255 meta=4 (0004)",
        Printed(TokenForm.FAULT, "!! Don't know how to handle column type=255 meta=4 (0004)"),
    ),
]


@pytest.mark.parametrize(("token", "value"), FORMS, ids=[str(f[0])[:40] for f in FORMS])
def test_form(token: bytes, value: Printed) -> None:
    assert read_token(token) == value


@pytest.mark.parametrize(
    "token",
    [
        b"",
        b"'",
        b"'a",
        b"'a'b'",
        b"'\\q'",
        b"'a\nb'",
        b"b'012'",
        b"1 (2) 3",
        b"[1'2]",
        b"JSON_REPLACE(@4, '$.a', 1",
        b"JSON_REPLACE(@4, '$.a', 1) x",
        b"JSON_REPLACE(@4, '$.a', CAST('1'))",
        b"JSON_WHAT(@4)",
    ],
)
def test_what_is_no_form_is_an_error(token: bytes) -> None:
    with pytest.raises(TokenError):
        read_token(token)


@given(st.binary(max_size=200))
def test_escapes_read_back(value: bytes) -> None:
    """A quoted string is one line and gives its bytes back."""
    token = quote(value)
    assert b"\n" not in token
    assert read_token(token) == Printed(TokenForm.STRING, data=value)


@given(st.binary(max_size=100))
def test_the_escapes_of_5_7_read_back(value: bytes) -> None:
    """Up to 5.7: bytes below 0x20, quote and backslash as ``\\xNN``, all others raw."""
    body = b"".join(
        b"\\x%02x" % byte if byte < 0x20 or byte in b"'\\" else bytes([byte]) for byte in value
    )
    assert unquote(body) == value


@given(st.binary(max_size=60))
def test_no_token_breaks_the_reader(token: bytes) -> None:
    with suppress(TokenError):
        read_token(token)
