"""Files around files give the bytes of the one inside, however they are asked."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import BinaryIO

import pytest

from binlogkit.sources.layers import FileHash, Layer, Lookahead, Pieces

DATA = bytes(range(256)) * 9

LAYERS: dict[str, Callable[[], io.RawIOBase | BinaryIO]] = {
    "layer": lambda: Layer(io.BytesIO(DATA)),
    "lookahead": lambda: Lookahead(io.BytesIO(DATA)),
    "begun": lambda: Lookahead(io.BytesIO(DATA[7:]), DATA[:7]),
    "pieces": lambda: Pieces(io.BytesIO(), iter([DATA[:5], DATA[5:]])),
    "hash": lambda: FileHash(lambda: io.BytesIO(DATA)).open(),
}


@pytest.mark.parametrize("kind", LAYERS)
def test_read_without_a_size_reads_to_the_end(kind: str) -> None:
    assert LAYERS[kind]().read() == DATA
    begun = LAYERS[kind]()
    first = begun.read(3) or b""
    assert first == DATA[:3]
    assert begun.read(-1) == DATA[3:]
    assert begun.read() == begun.read(5) == b""


@pytest.mark.parametrize("kind", LAYERS)
def test_readinto_gives_what_read_gives(kind: str) -> None:
    file, whole, room = LAYERS[kind](), b"", bytearray(100)
    while count := file.readinto(room):  # type: ignore[union-attr]
        whole += room[:count]
    assert whole == DATA
