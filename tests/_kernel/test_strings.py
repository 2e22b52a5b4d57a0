"""Text, byte strings, ENUM and SET: what needs more than a server's boundary values to tell."""

from __future__ import annotations

import pytest

from binlogkit._kernel.cells import CellOverrun, CellSpec, Undecodable
from binlogkit._kernel.codecs import decoder_for
from binlogkit.constants import ColumnType as T


def value(spec: CellSpec, data: bytes) -> object:
    found, p = decoder_for(spec)(data + b"\xff", 0, len(data))
    assert p == len(data)
    return found


def test_unknown_charset_is_strict_utf8() -> None:
    spec = CellSpec(T.VARCHAR, length=20)
    assert value(spec, b"\x03\xe9\x80\x80") == "\u9000"
    assert value(spec, b"\x02a\xe9") == Undecodable(
        b"a\xe9", "no UTF-8 at byte 1, and the charset is unknown"
    )


def test_known_charset_that_the_bytes_are_not_of() -> None:
    spec = CellSpec(T.BLOB, length=2, charset="gbk")
    found = value(spec, b"\x03\x00a\x81\xff")
    assert isinstance(found, Undecodable)
    assert (found.raw, found.reason[:16]) == (b"a\x81\xff", "no gbk at byte 1")


def test_utf8mb3_has_no_character_of_four_bytes() -> None:
    spec = CellSpec(T.VARCHAR, length=20, charset="utf8mb3")
    assert isinstance(value(spec, b"\x04" + "😀".encode()), Undecodable)


def test_binary_gets_its_zero_bytes_back_only_when_n_is_known() -> None:
    assert value(CellSpec(T.STRING, length=3, charset="binary"), b"\x01a") == b"a\0\0"
    assert value(CellSpec(T.VARCHAR, length=3, charset="binary"), b"\x01a") == b"a"
    assert value(CellSpec(T.STRING, charset="binary"), b"\x01a") == b"a"


def test_length_has_two_bytes_from_256_on() -> None:
    assert value(CellSpec(T.VARCHAR, length=255), b"\x01a") == "a"
    assert value(CellSpec(T.VARCHAR, length=256), b"\x01\x00a") == "a"


@pytest.mark.parametrize(
    ("spec", "data"),
    [
        (CellSpec(T.VARCHAR, length=255), b"\x05abcd"),
        (CellSpec(T.VARCHAR, length=256), b"\x01"),
        (CellSpec(T.BLOB, length=4), b"\xff\xff\xff\xff"),
        (CellSpec(T.JSON, length=4), b""),
        (CellSpec(T.LONGLONG), b"1234567"),
    ],
)
def test_a_length_past_the_end_overruns(spec: CellSpec, data: bytes) -> None:
    with pytest.raises(CellOverrun, match="left"):
        decoder_for(spec)(data + b"more that is not its", 0, len(data))


def test_enum() -> None:
    known = CellSpec(T.ENUM, length=1, labels=("x", "y"))
    assert [value(known, bytes([i])) for i in range(3)] == ["", "x", "y"]
    assert value(known, b"\x03") == Undecodable(b"\x03", "index 3 of an ENUM with 2 labels")
    assert value(CellSpec(T.ENUM, length=2), b"\x01\x01") == 257


def test_set() -> None:
    known = CellSpec(T.SET, length=1, labels=("x", "y", "z"))
    assert [value(known, bytes([i])) for i in (0, 1, 5, 7)] == ["", "x", "x,z", "x,y,z"]
    assert isinstance(value(known, b"\x08"), Undecodable)
    assert value(CellSpec(T.SET, length=8), b"\xff" * 8) == 2**64 - 1


def test_geometry_and_vector_are_as_stored() -> None:
    for kind in (T.GEOMETRY, T.VECTOR):
        assert value(CellSpec(kind, length=4), b"\x02\0\0\0\xff\x00") == b"\xff\x00"


def test_json_that_is_none_is_told_and_walked_over() -> None:
    found = value(CellSpec(T.JSON, length=4), b"\x01\0\0\0\xee")
    assert found == Undecodable(b"\xee", "value type 0xee is unknown")


def test_empty_json() -> None:
    """What the server has where IGNORE put no document into a NOT NULL column."""
    assert value(CellSpec(T.JSON, length=4), b"\0\0\0\0") == "null"
