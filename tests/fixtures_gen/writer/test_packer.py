"""The one range check: what fits is written, what does not is an error, never cut."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from binlogkit._kernel.cursor import Cursor, StoredText
from binlogkit.errors import UsageError
from binlogkit_fixtures.writer import UnwritableError
from binlogkit_fixtures.writer.packer import Packer
from binlogkit_fixtures.writer.varint import signed, unsigned


def packed(write: Callable[[Packer], None]) -> bytes:
    packer = Packer("X_EVENT")
    write(packer)
    return bytes(packer.data)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, "00"), (250, "fa"), (251, "fcfb00"), (65535, "fcffff"), (65536, "fd000001"),
        (2**24 - 1, "fdffffff"), (2**24, "fe0000000100000000"), (2**64 - 1, "fe" + "ff" * 8),
    ],
)  # fmt: skip
def test_packed_integers_are_the_shortest(value: int, expected: str) -> None:
    data = packed(lambda p: p.packed(value, "n"))
    assert data.hex() == expected
    assert Cursor(data).packed("n") == value


@pytest.mark.parametrize(
    "write",
    [
        lambda p: p.uint(1, 256, "n"),
        lambda p: p.uint(1, -1, "n"),
        lambda p: p.uint(4, 1 << 32, "n"),
        lambda p: p.sint(1, 128, "n"),
        lambda p: p.sint(8, -(1 << 63) - 1, "n"),
        lambda p: p.packed(-1, "n"),
        lambda p: p.packed(1 << 64, "n"),
        lambda p: p.fill(3, b"abcd", "n"),
        lambda p: p.take(3, b"ab", "n"),
        lambda p: p.c_string(b"a\0b", "n"),
        lambda p: unsigned(p, 1 << 64, "n"),
        lambda p: unsigned(p, -1, "n"),
        lambda p: signed(p, 1 << 63, "n"),
    ],
)
def test_what_does_not_fit_is_told(write: Callable[[Packer], None]) -> None:
    with pytest.raises(UnwritableError) as caught:
        packed(write)
    assert (caught.value.event, caught.value.field) == ("X_EVENT", "n")
    assert isinstance(caught.value, UsageError)
    assert str(caught.value).startswith("X_EVENT cannot be written: n: ")


def test_a_length_that_does_not_fit_names_itself() -> None:
    with pytest.raises(UnwritableError) as caught:
        packed(lambda p: p.sized(1, bytes(256), "name"))
    assert caught.value.field == "name_length"


def test_text_keeps_the_bytes_that_it_was_read_from() -> None:
    packer = Packer("X_EVENT")
    assert packer.text("é") == b"\xc3\xa9"
    assert packer.text(StoredText("\\xe9", b"\xe9")) == b"\xe9"


# Values of the server's own unit test, variable_length_integers-t.cc, and the edges of each width.
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, "00"), (2, "04"), (127, "fe"), (128, "0102"), (256, "0104"), (65535, "fbff07"),
        (2**56 - 1, "7fffffffffffffff"), (2**56, "ff0000000000000001"), (2**64 - 1, "ff" * 9),
    ],
)  # fmt: skip
def test_unsigned_variable_length(value: int, expected: str) -> None:
    data = packed(lambda p: unsigned(p, value, "n"))
    assert data.hex() == expected
    assert Cursor(data).variable("n") == value


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, "00"), (1, "04"), (-2, "06"), (127, "f903"), (-65535, "ebff0f"),
        (2**56 - 1, "fffeffffffffffff01"), (2**56, "ff0000000000000002"),
        (-(2**56), "ffffffffffffffff01"), (1 - 2**63, "fffdffffffffffffff"),
    ],
)  # fmt: skip
def test_signed_variable_length(value: int, expected: str) -> None:
    assert packed(lambda p: signed(p, value, "n")).hex() == expected
