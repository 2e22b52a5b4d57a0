"""Compressed carriers: bounded memory, cuts, damage."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tracemalloc
from collections.abc import Callable

import pytest
import zstandard

import binlogkit as bk
from binlogkit.errors import DamageError, LimitError
from binlogkit.sources.carriers import resolve
from tests.sources.carried import KEYS, events

LOG = KEYS.read_bytes()
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "zstd": zstandard.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
}


@pytest.mark.parametrize("packer", PACKERS)
def test_several_frames(packer: str) -> None:
    pack = PACKERS[packer]
    assert events(pack(LOG[:1000]) + pack(b"") + pack(LOG[1000:])) == events(LOG)


@pytest.mark.parametrize("packer", PACKERS)
@pytest.mark.parametrize("cut", [1, 200])
def test_a_cut_is_told_after_what_is_whole(packer: str, cut: int) -> None:
    data = PACKERS[packer](LOG)[:-cut]
    log = bk.open(data, on_damage="report")
    seen = [e["pos"] for e in log.event_records()]
    assert seen == [e["pos"] for e in events(LOG)][: len(seen)]
    assert any("compress" in str(damage) for damage in log.damages)
    with pytest.raises(DamageError, match="compress"):
        events(data)


@pytest.mark.parametrize("packer", PACKERS)
def test_damage(packer: str) -> None:
    data = bytearray(PACKERS[packer](LOG))
    data[len(data) // 2] ^= 0xFF
    with pytest.raises(DamageError):
        events(bytes(data))


@pytest.mark.slow
@pytest.mark.parametrize("packer", PACKERS)
def test_expansion_is_not_held(packer: str) -> None:
    """256 MiB of zeros are a few hundred kilobytes packed; what is held is a small part of it."""
    packed = PACKERS[packer](b"\xfebin" + bytes(256 << 20))
    assert len(packed) < 1 << 19
    carrier = resolve(packed)[0]
    tracemalloc.start()
    total = 0
    with carrier.open() as file:
        while chunk := file.read(1 << 20):
            total += len(chunk)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert total == 4 + (256 << 20)
    assert peak < {"zstd": 100 << 20, "xz": 24 << 20}.get(packer, 8 << 20)


def test_a_wide_window_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A frame may claim a window of gigabytes."""
    parameters = zstandard.ZstdCompressionParameters(window_log=27, enable_ldm=True)
    packer = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    data = packer.compress(LOG) + packer.flush()
    assert events(data) == events(LOG)
    monkeypatch.setenv("BINLOGKIT_LIMIT_WINDOW", str(1 << 20))
    with pytest.raises(LimitError, match="BINLOGKIT_LIMIT_WINDOW"):
        events(data)
    with pytest.raises(LimitError, match="BINLOGKIT_LIMIT_WINDOW"):
        events(lzma.compress(LOG, preset=9))


def test_an_empty_stream() -> None:
    for pack in PACKERS.values():
        with pytest.raises(bk.errors.EmptyInputError):
            events(io.BytesIO(pack(b"")))
