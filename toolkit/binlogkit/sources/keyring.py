"""Keys of encrypted logs: from a server's keyring file, or from a file with one key.

Two kinds of keyring file are read. ``component_keyring_file`` (8.0.24+, seen of 9.7.4) writes JSON:
``{"version": "1.0", "elements": [{"user", "data_id", "data_type", "data" (hex), "extension"}]}``.
The ``keyring_file`` plugin (5.7.11 to 8.3; server's sources, plugin/keyring,
``buffered_file_io.cc`` and ``keyring_key.cc``) writes the version text, the keys, ``EOF``, and in
version 2.0 the SHA-256 of the keys; a key is ``size:8 id_length:8 type_length:8 user_length:8
key_length:8``, the four values, and zeros up to a multiple of 8, the key XORed with a constant
text. The encrypted kinds of keyring file
are not documented and not read.

Secrets stand in no text that this module makes: not in a repr, not in an error.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from binlogkit.errors import InputError, UsageError

KEY_LENGTH = 32
KEYRING_VARIABLE = "BINLOGKIT_KEYRING"
KEY_FILE_VARIABLE = "BINLOGKIT_KEY_FILE"
_MAX_FILE = 64 << 20  # no keyring comes near it
_VERSIONS = {b"Keyring file version:1.0": 0, b"Keyring file version:2.0": 32}  # digest's length
_VERSION_LENGTH = 24
_EOF = b"EOF"
_LENGTHS = struct.Struct("<5Q")
_OBFUSCATION = b"*305=Ljt0*!@$Hnm(*-9-w;:"


class Secret:
    """Bytes that do not show: ``reveal()`` gives them."""

    __slots__ = ("_data",)

    def __init__(self, data: bytes) -> None:
        self._data = data

    def reveal(self) -> bytes:
        """The bytes themselves."""
        return self._data

    def __repr__(self) -> str:
        return "Secret(…)"

    def __reduce__(self) -> str:
        raise TypeError("a secret is not to be copied into another process")


@dataclass(frozen=True, slots=True)
class KeyFiles:
    """Where the keys of encrypted logs are, by the names of files.

    ``keyring``: a server's keyring file; ``key_file``: a file with one key. Where neither is
    given, the environment variables BINLOGKIT_KEYRING and BINLOGKIT_KEY_FILE name them.
    """

    keyring: str | None = None
    key_file: str | None = None

    def found(self) -> KeyFiles:
        """What is given, else what the environment names."""
        if self.keyring or self.key_file:
            return self
        environment = os.environ
        return KeyFiles(environment.get(KEYRING_VARIABLE), environment.get(KEY_FILE_VARIABLE))


NO_KEYS = KeyFiles()


def key_files(keyring: str | Path | None, key_file: str | Path | None) -> KeyFiles:
    """As a user gives them. UsageError: both."""
    if keyring is not None and key_file is not None:
        raise UsageError("give a keyring or a file with one key, not both")
    return KeyFiles(
        None if keyring is None else str(keyring), None if key_file is None else str(key_file)
    )


def read_key(path: str) -> Secret:
    """The key of a key file: 32 bytes, or 64 hex digits with white space around.

    Errors: :class:`InputError`.
    """
    data = _read(path)
    if len(data) == KEY_LENGTH:
        return Secret(data)
    digits = re.fullmatch(rb"\s*(?:0x)?([0-9a-fA-F]{64})\s*", data)
    if digits is None:
        raise InputError(path, f"a key is {KEY_LENGTH} bytes or 64 hex digits; this is neither")
    return Secret(bytes.fromhex(digits[1].decode("ascii")))


def read_keyring(path: str) -> dict[str, Secret]:
    """The keys of a server's keyring file by their ids. Errors: :class:`InputError`."""
    data = _read(path)
    if not data:
        raise InputError(path, "the keyring is empty")
    if data[:_VERSION_LENGTH] in _VERSIONS:
        return dict(_of_plugin(path, data))
    if data.lstrip()[:1] == b"{":
        return dict(_of_component(path, data))
    raise InputError(
        path,
        "not a keyring of keyring_file or component_keyring_file (encrypted keyrings and other "
        "kinds are not read; a key by itself goes with --key-file)",
    )


def _read(path: str) -> bytes:
    try:
        with Path(path).open("rb") as file:
            data = file.read(_MAX_FILE + 1)
    except OSError as exc:
        raise InputError(path, f"the key cannot be read: {exc.strerror}") from exc
    if len(data) > _MAX_FILE:
        raise InputError(path, "not a keyring: it is too large for one")
    return data


def _of_component(path: str, data: bytes) -> Iterator[tuple[str, Secret]]:
    """The elements of component_keyring_file's JSON."""
    try:
        for element in json.loads(data)["elements"]:
            yield str(element["data_id"]), Secret(bytes.fromhex(element["data"]))
    except (ValueError, RecursionError, LookupError, TypeError):
        reason = "not a keyring of component_keyring_file, or a damaged one"
        raise InputError(path, reason) from None  # its message would quote the file


def _of_plugin(path: str, data: bytes) -> Iterator[tuple[str, Secret]]:
    """The keys of the keyring_file plugin's file."""
    digest = _VERSIONS[data[:_VERSION_LENGTH]]
    end = len(data) - digest - len(_EOF)
    body = data[_VERSION_LENGTH:end]
    if data[end : end + len(_EOF)] != _EOF:
        raise InputError(path, "the keyring is damaged: it does not end as one")
    if digest and hashlib.sha256(body).digest() != data[-digest:]:
        raise InputError(path, "the keyring is damaged: its SHA-256 does not match")
    at = 0
    while at < len(body):
        if len(body) - at < _LENGTHS.size:
            raise InputError(path, f"the keyring is damaged at {at + _VERSION_LENGTH}")
        size, *lengths = _LENGTHS.unpack_from(body, at)
        if size > len(body) - at or _LENGTHS.size + sum(lengths) > size:
            raise InputError(path, f"the keyring is damaged at {at + _VERSION_LENGTH}")
        start = at + _LENGTHS.size
        name = body[start : start + lengths[0]].decode("utf-8", "backslashreplace")
        key_start = start + sum(lengths[:3])
        yield name, Secret(_plain(body[key_start : key_start + lengths[3]]))
        at += size


def _plain(key: bytes) -> bytes:
    """A key without the plugin's obfuscation."""
    return bytes(b ^ _OBFUSCATION[i % len(_OBFUSCATION)] for i, b in enumerate(key))
