"""Payloads that are spliced give what they give one by one."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import zstandard

import binlogkit as bk
from binlogkit.errors import BinlogKitError
from binlogkit.log.verify import Verification
from binlogkit.rows import scan
from binlogkit.rows.splice import splice
from tests.fuzz.binlogkit_fuzz import seeds
from tests.fuzz.binlogkit_fuzz.framing import Part, join, split

PAYLOAD, ZSTD = 40, b"\x28\xb5\x2f\xfd"
LOGS = {k: v for k, v in seeds.logs().items() if k.startswith("8.0-row-compressed/")}


def told(found: Verification) -> list[Any]:
    """What is foreign from an event on has GTIDs or not by where a window ends."""
    foreign = any(one.code == "foreign_log" for one in found.findings)
    findings = [one | {"gtid": None} if foreign else one for one in found.records()]
    return [*findings, *found.file_records()]


def said(path: Path) -> list[Any]:
    """All that a log tells."""
    found: list[Any] = []
    for ask in (
        lambda log: [*log.event_records()],
        lambda log: [*log.row_records()],
        lambda log: log.transactions(engine="pyarrow").to_pylist(),
        lambda log: log.statements(engine="pyarrow").to_pylist(),
        lambda log: told(log.verify(rows=True)),
    ):
        try:
            found.append(ask(bk.open(path, on_damage="report")))
        except BinlogKitError as error:
            found.append(f"{type(error).__name__}: {error}")
    return found


def both(path: Path) -> tuple[list[Any], list[Any], int]:
    """What a log tells one by one, and spliced, and how often it could be."""
    with patch.object(scan, "splice", lambda *_: None):
        alone = said(path)
    with patch.object(scan, "splice", side_effect=splice) as used:
        return alone, said(path), used.call_count


@pytest.mark.parametrize("name", LOGS)
@pytest.mark.slow
def test_golden_logs(name: str, tmp_path: Path) -> None:
    path = tmp_path / "binlog.000001"
    path.write_bytes(LOGS[name])
    alone, spliced, used = both(path)
    assert spliced == alone
    assert used


def turned(data: bytes, chance: random.Random) -> bytes:
    """Bytes with some turned, left out or doubled."""
    for _ in range(chance.randrange(1, 4)):
        at = chance.randrange(len(data))
        new = chance.choice((b"", bytes([chance.randrange(256)]), data[at : at + 7] * 2))
        data = data[:at] + new + data[at + 1 :]
    return data


def packed(value: int) -> bytes:
    return bytes([value]) if value < 251 else b"\xfd" + value.to_bytes(3, "little")


def unpacked(part: Part, chance: random.Random) -> Part:
    """A payload that is not compressed; some bytes are turned, and some claims are wrong."""
    start = part.body.index(ZSTD)
    plain = zstandard.ZstdDecompressor().decompressobj().decompress(part.body[start:])
    if chance.random() < 0.4:
        plain = turned(plain, chance)
    claimed = packed(len(plain) + (chance.random() < 0.1))
    size = packed(len(plain))
    fields = [b"\x02\x03\xfc\xff\x00", b"\x03" + packed(len(claimed)) + claimed]
    body = b"".join((*fields, b"\x01" + packed(len(size)) + size, b"\x00", plain))
    return replace(part, body=body)


@pytest.mark.parametrize("seed", range(200))
@pytest.mark.sampled(0, 16)
def test_damaged_logs(seed: int, tmp_path: Path) -> None:
    """Damage that checksums tell, and what nothing tells but the payload itself."""
    chance, path = random.Random(seed), tmp_path / "binlog.000001"
    data = LOGS[chance.choice([*LOGS])]
    if chance.random() < 0.5:
        pieces = split(data)
        parts = [unpacked(p, chance) if p.code == PAYLOAD else p for p in pieces.parts]
        data = join(replace(pieces, parts=parts))
    else:
        data = data[:4] + turned(data[4:], chance)
    path.write_bytes(data)
    alone, spliced, _ = both(path)
    assert spliced == alone
