"""Keyring files of the component and of the plugin, whole and damaged."""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binlogkit.errors import InputError
from binlogkit.sources.keyring import KEY_LENGTH, read_key, read_keyring
from tests.sources.carried import ENCRYPTED, events

COMPONENT = ENCRYPTED / "keys" / "keyring"
KEYS = {e["data_id"]: e["data"] for e in json.loads(COMPONENT.read_text())["elements"]}
OBFUSCATION = b"*305=Ljt0*!@$Hnm(*-9-w;:"


def plugin(keys: dict[str, bytes], version: bytes = b"2.0") -> bytes:
    """As the keyring_file plugin writes it: ``Key::store_in_buffer``, ``Buffered_file_io``."""
    body = b""
    for name, key in keys.items():
        values = [
            name.encode(),
            b"AES",
            b"",
            bytes(b ^ OBFUSCATION[i % 24] for i, b in enumerate(key)),
        ]
        size = 40 + sum(map(len, values))
        padding = -size % 8
        body += struct.pack("<5Q", size + padding, *map(len, values))
        body += b"".join(values) + bytes(padding)
    digest = hashlib.sha256(body).digest() if version == b"2.0" else b""
    return b"Keyring file version:" + version + body + b"EOF" + digest


def test_the_component(tmp_path: Path) -> None:
    found = read_keyring(str(COMPONENT))
    assert {n: k.reveal().hex().upper() for n, k in found.items()} == KEYS


@pytest.mark.parametrize("version", [b"1.0", b"2.0"])
def test_the_plugin(tmp_path: Path, version: bytes) -> None:
    keys = {name: bytes.fromhex(digits) for name, digits in KEYS.items()}
    path = tmp_path / "keyring"
    path.write_bytes(plugin({"INNODBKey-1": bytes(32), **keys}, version))
    found = read_keyring(str(path))
    assert {n: k.reveal() for n, k in found.items()} == {"INNODBKey-1": bytes(32), **keys}
    log = ENCRYPTED / "keys" / "binlog.000001"
    assert events(log, keyring=path) == events(log, keyring=COMPONENT)


GOOD = plugin({"a": bytes(range(32)), "bc": bytes(16)})
DAMAGED = [
    (b"", "the keyring is empty"),
    (b"hello", "not a keyring of keyring_file or component_keyring_file"),
    (b"{", "not a keyring of component_keyring_file, or a damaged one"),
    (b'{"elements": 3}', "a damaged one"),
    (b'{"elements": [3]}', "a damaged one"),
    (b'{"elements": [{"data_id": "a", "data": "xyz"}]}', "a damaged one"),
    (b'{"elements": ' + b"[" * 100_000, "a damaged one"),
    (GOOD[:-40], "does not end as one"),
    (GOOD[:30] + b"!" + GOOD[31:], "SHA-256 does not match"),
    (b"Keyring file version:1.0" + bytes(24) + b"EOF", "damaged at 24"),
    (b"Keyring file version:1.0" + struct.pack("<5Q", 40, 9, 9, 9, 9) + b"EOF", "damaged at 24"),
    (b"Keyring file version:1.0" + struct.pack("<5Q", 1 << 60, 1, 1, 1, 1) + b"EOF", "damaged"),
    (b"Keyring file version:1.0" + struct.pack("<5Q", 0, 0, 0, 0, 0) + b"EOF", "damaged"),
]


@pytest.mark.parametrize(("data", "message"), DAMAGED, ids=lambda v: repr(v)[:40])
def test_damaged(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "keyring"
    path.write_bytes(data)
    with pytest.raises(InputError, match=message) as caught:
        read_keyring(str(path))
    assert caught.value.file == str(path)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200), st.booleans(), st.integers(0, len(GOOD) - 1))
def test_any_bytes(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, whole: bool, at: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "any"
    content = b"Keyring file version:1.0" + data + b"EOF" if whole else GOOD[:at] + data
    path.write_bytes(content)
    try:
        read_keyring(str(path))
    except InputError:
        return


@pytest.mark.parametrize("data", [b"", bytes(31), bytes(33), b"0" * 63, b"0" * 65, b"g" * 64])
def test_what_is_no_key(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "key"
    path.write_bytes(data)
    with pytest.raises(InputError, match=f"a key is {KEY_LENGTH} bytes or 64 hex digits"):
        read_key(str(path))


@pytest.mark.parametrize("path", ["nowhere/key", "."])
def test_files_that_cannot_be_read(path: str) -> None:
    for read in (read_key, read_keyring):
        with pytest.raises(InputError, match="the key cannot be read"):
            read(path)


def test_what_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("binlogkit.sources.keyring._MAX_FILE", 8)
    path = tmp_path / "keys"
    path.write_bytes(b"x" * 9)
    with pytest.raises(InputError, match="too large"):
        read_keyring(str(path))
    path.write_bytes(b"x" * 8)
    with pytest.raises(InputError, match="not a keyring of"):
        read_keyring(str(path))
