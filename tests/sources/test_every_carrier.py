"""Whatever carries a log, its records are the same, but for the file's name; damage too."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.sources.carriers import resolve
from tests.sources.carried import DATA, KEYS, WHOLE, events, rows

LOGS = ["5.6-row-full/keys", "5.7-statement-full/keys", "8.0-row-compressed/json"]
CASES = [
    *(("9-row-full/modern", carrier) for carrier in WHOLE),
    *((log, carrier) for log in LOGS for carrier in ("zstd", "hexdump -C", "xxd", "xxd -p")),
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("log", "carrier"), CASES)
def test_records_are_the_same(log: str, carrier: str) -> None:
    data = (DATA / log / "binlog.000001").read_bytes()
    carried = WHOLE[carrier](data)
    assert events(carried) == events(data)
    assert rows(carried) == rows(data)


def _damage(source: Any) -> tuple[list[Any], list[Any]]:
    log = bk.open(source, on_damage="report")
    found = [(r["pos"], r["end_pos"], r["type"], r["checksum"]) for r in log.event_records()]
    return found, [(d.offset, d.end, d.field, d.reason) for d in log.damages]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("carrier", WHOLE)
def test_damage_is_told_the_same(carrier: str) -> None:
    data = bytearray(KEYS.read_bytes())
    data[4800] ^= 0x20  # in an event's body
    data[9000:9004] = b"\xff\xff\xff\xff"
    del data[-10:]
    expected = _damage(bytes(data))
    assert len(expected[1]) >= 3
    assert _damage(WHOLE[carrier](bytes(data))) == expected


@pytest.mark.parametrize("carrier", ["gzip", "hexdump -C", "xxd -p"])
def test_files_and_file_objects(tmp_path: Path, carrier: str) -> None:
    packed = WHOLE[carrier](KEYS.read_bytes())
    path = tmp_path / "any name"
    path.write_bytes(packed)
    expected = events(KEYS)
    assert events(path) == expected
    with path.open("rb") as file:
        assert events(file) == expected
    assert events(io.BytesIO(packed)) == expected
    assert resolve(path)[0].size == len(packed)


def test_layers_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    data = KEYS.read_bytes()
    for _ in range(5):
        data = WHOLE["gzip"](data)
    with pytest.raises(bk.errors.LimitError, match="BINLOGKIT_LIMIT_NESTING"):
        events(data)
    monkeypatch.setenv("BINLOGKIT_LIMIT_NESTING", "5")
    assert events(data) == events(KEYS)
