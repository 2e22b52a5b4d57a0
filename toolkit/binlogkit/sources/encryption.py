"""Encrypted logs (``binlog_encryption``, 8.0.14+), decrypted as they are read.

Server's sources, sql/rpl_log_encryption.cc and sql/stream_cipher.cc; João Gramacho, "How to
manually decrypt an encrypted binary log file" (MySQL Server blog, 2018).

A file begins with 512 bytes: ``fd 62 69 6e``, version 1, then fields, each a type byte and a value:
1 the id of the key, its length in a byte before it; 2 the file's password, 32 bytes, encrypted by
AES-256-CBC with that key; 3 the initialisation vector of this, 16 bytes; 0 ends them. After that
stands a whole plain log, encrypted by AES-256-CTR; SHA-512 of the password gives key (32 bytes) and
nonce (8 bytes), and the counter (8 bytes) begins at 0. So positions are those of the plain log.

``ALTER INSTANCE ROTATE BINLOG MASTER KEY`` gives all logs of a server new headers for the new key
and removes the old one; a copy taken before needs the keyring of its time.
"""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO, cast

from binlogkit.constants import BINLOG_MAGIC, ENCRYPTED_MAGIC
from binlogkit.errors import InputError, MalformedEventError, TruncatedEventError
from binlogkit.sources.keyring import KEY_LENGTH, KeyFiles, Secret, read_key, read_keyring
from binlogkit.sources.layers import Layer, Lookahead

HEADER_LENGTH = 512
VERSION = 1
_KEY_ID, _PASSWORD, _VECTOR = 1, 2, 3
_PASSWORD_LENGTH, _VECTOR_LENGTH = 32, 16
_BLOCK = 16
_FIELD = "encryption_header"
_NONCE_LENGTH = 8


@dataclass(frozen=True, slots=True)
class EncryptionHeader:
    """What the 512 bytes say: the key's id, the encrypted password and its vector."""

    key_id: str
    password: bytes
    vector: bytes


def read_header(name: str, data: bytes) -> EncryptionHeader:
    """The header of an encrypted log, of its first 512 bytes.

    Errors: :class:`DamageError`; :class:`InputError` for a version that is not known.
    """
    damage = partial(MalformedEventError, name)
    if len(data) < HEADER_LENGTH:
        what = f"the file ends {len(data)} bytes into its encryption header"
        raise TruncatedEventError(name, 0, what)
    version = data[len(ENCRYPTED_MAGIC)]
    if version != VERSION:
        raise InputError(name, f"encrypted in a way that is not known (version {version})")
    fields: dict[int, bytes] = {}
    at = len(ENCRYPTED_MAGIC) + 1
    while at < HEADER_LENGTH and (kind := data[at]):
        if kind == _KEY_ID:
            at, length = at + 1, data[at + 1] if at + 1 < HEADER_LENGTH else 0
        else:
            length = {_PASSWORD: _PASSWORD_LENGTH, _VECTOR: _VECTOR_LENGTH}.get(kind, -1)
        fields[kind] = data[at + 1 : at + 1 + length]
        if length < 0 or at + 1 + length > HEADER_LENGTH:
            raise damage(at, f"field {kind} of the encryption header is invalid", _FIELD)
        at += 1 + length
    missing = {_KEY_ID, _PASSWORD, _VECTOR} - fields.keys()
    if missing:
        raise damage(at, f"the encryption header lacks field {min(missing)}", _FIELD)
    key_id = fields[_KEY_ID].decode("utf-8", "backslashreplace")
    return EncryptionHeader(key_id, fields[_PASSWORD], fields[_VECTOR])


def decrypted(file: Lookahead, name: str, keys: KeyFiles) -> Decrypted:
    """The plain log of an encrypted one, which ``file`` gives from its start.

    Errors: :class:`InputError` where there is no key, or it is not the log's; :class:`DamageError`.
    """
    head = file.peek(HEADER_LENGTH + len(BINLOG_MAGIC))
    header, start = read_header(name, head[:HEADER_LENGTH]), head[HEADER_LENGTH:]
    keys = keys.found()
    for password in _passwords(name, header, keys):
        if _cipher(password, 0).update(start) == BINLOG_MAGIC[: len(start)]:
            file.read(HEADER_LENGTH)
            return Decrypted(cast(BinaryIO, file), password)
    which = keys.key_file or f"{header.key_id} of {keys.keyring}"
    raise InputError(name, f"the key {which} does not decrypt it: it is another server's")


def _passwords(name: str, header: EncryptionHeader, keys: KeyFiles) -> list[Secret]:
    """What the file's password may be."""
    if keys.key_file is not None:
        key = read_key(keys.key_file)
        return [_file_password(header, key), key]
    if keys.keyring is None:
        raise InputError(
            name,
            f"encrypted with the key {header.key_id}: give the server's keyring file (--keyring) "
            "or a file with the key (--key-file)",
        )
    keyring = read_keyring(keys.keyring)
    found = keyring.get(header.key_id)
    if found is None:
        raise InputError(name, _not_there(header.key_id, keys.keyring, sorted(keyring)))
    if len(found.reveal()) != KEY_LENGTH:
        raise InputError(keys.keyring, f"the key {header.key_id} is not of {KEY_LENGTH} bytes")
    return [_file_password(header, found)]


def _not_there(key_id: str, keyring: str, names: list[str]) -> str:
    """Which key the log wants, and which ones of its server the keyring holds instead."""
    server = key_id.rpartition("_")[0]
    others = [n for n in names if n.startswith(f"{server}_") and n[len(server) + 1 :].isdecimal()]
    reason = f"encrypted with the key {key_id}, which is not in {keyring}"
    if others:
        return f"{reason}; it has {', '.join(others)}: the server's key was rotated since"
    return f"{reason}; it has no binary log key of that server"


def _file_password(header: EncryptionHeader, key: Secret) -> Secret:
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    cipher = Cipher(algorithms.AES(key.reveal()), modes.CBC(header.vector)).decryptor()
    return Secret(cipher.update(header.password) + cipher.finalize())


def _cipher(password: Secret, offset: int) -> Any:
    """What decrypts the bytes from ``offset`` of the plain log on."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    digest = hashlib.sha512(password.reveal()).digest()
    counter, inside = divmod(offset, _BLOCK)
    vector = digest[KEY_LENGTH : KEY_LENGTH + _NONCE_LENGTH] + counter.to_bytes(8, "big")
    cipher = Cipher(algorithms.AES(digest[:KEY_LENGTH]), modes.CTR(vector)).decryptor()
    cipher.update(bytes(inside))
    return cipher


class Decrypted(Layer):
    """The plain log in an encrypted file, which stands after its header.

    It can seek where the file can; closing it closes the file.
    """

    def __init__(self, file: BinaryIO, password: Secret) -> None:
        super().__init__(file)
        self._password = password
        self._cipher = _cipher(password, 0)
        self._offset = 0

    def tell(self) -> int:
        return self._offset

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to an offset of the plain log."""
        if whence == io.SEEK_SET:
            offset += HEADER_LENGTH
        elif whence == io.SEEK_CUR:
            offset, whence = offset + self._offset + HEADER_LENGTH, io.SEEK_SET
        self._offset = max(self._inner.seek(offset, whence) - HEADER_LENGTH, 0)
        self._cipher = _cipher(self._password, self._offset)
        return self._offset

    def some(self, size: int) -> bytes:
        data = self._inner.read(size)
        self._offset += len(data)
        return bytes(self._cipher.update(data))
