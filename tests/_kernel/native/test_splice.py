"""What the kernel splices is what a plain reading of the same events gives."""

from __future__ import annotations

import random

import pytest
import zstandard

from binlogkit._kernel.native.splice import SMALL, spliced
from tests._kernel.native import splices


@pytest.mark.parametrize("seed", range(4))
def test_events_right_and_wrong(seed: int) -> None:
    source, met = random.Random(seed), 0
    for _ in range(300):
        data = splices.made(source)
        most, inside = source.choice((1 << 20, 1 << 20, 200)), source.choice((100_000, 4, 3))
        front = source.randbytes(source.randrange(5))
        found = spliced(
            front + data, len(front), len(front) + len(data), 1000 - len(front), most, inside,
            splices.unpack,
        )  # fmt: skip
        expected = splices.by_python(data, 1000, most, inside)
        if expected is not None:
            met += 1
            *told, behind, last = expected
            expected = (*told, behind + len(front), last + len(front))  # type: ignore[assignment]
        assert splices.same(found) == expected
    assert met > 60


def test_events_of_any_number() -> None:
    """As many as four megabytes hold, and no more; what is behind them waits."""
    source = random.Random(1)
    inside = splices.event(source, 30, bytes(60_000))
    stored = b"\x02\x01\x00\x03\x03\xfc" + len(inside).to_bytes(2, "little")
    packed = zstandard.compress(inside)
    stored += b"\x01" + bytes([len(splices.packed(len(packed)))]) + splices.packed(len(packed))
    one = splices.sealed(splices.event(source, splices.PAYLOAD, stored + b"\0" + packed))
    found = spliced(one * 100, 0, 100 * len(one), 0, SMALL, 10, splices.unpack)
    assert found is not None
    data, spots, _, behind, last = found
    assert 4 << 20 <= len(bytes(data)) < (4 << 20) + 2 * SMALL
    assert behind == len(bytes(spots)) // 64 * len(one)
    assert last == behind - len(one)


@pytest.mark.parametrize(("start", "end"), [(-1, 4), (3, 2), (0, 9)])
def test_a_place_outside_of_the_buffer(start: int, end: int) -> None:
    with pytest.raises(ValueError, match="outside"):
        spliced(bytes(8), start, end, 0, 1, 1, splices.unpack)


def test_an_error_of_who_unpacks_passes() -> None:
    source = random.Random(3)
    body = b"\x02\x01\x00\x03\x01\x09\x01\x01\x02\x00zz"
    data = splices.sealed(splices.event(source, splices.PAYLOAD, body))

    def fails(stored: bytes, claimed: int) -> bytes:
        raise KeyError(stored, claimed)

    with pytest.raises(KeyError):
        spliced(data, 0, len(data), 0, 100, 100, fails)
