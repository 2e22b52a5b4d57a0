"""Encrypted logs of the real 9.7.4 server, their keys, and what is wrong with either."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import traceback
from pathlib import Path
from random import Random

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

import binlogkit as bk
from binlogkit.cli import run
from binlogkit.errors import DamageError, InputError, TruncatedEventError, UsageError
from binlogkit.sources.carriers import resolve
from binlogkit.sources.encryption import HEADER_LENGTH, read_header
from binlogkit.sources.keyring import KeyFiles, read_keyring
from binlogkit_fixtures import manifest as mf
from tests.fuzz.binlogkit_fuzz.framing import log_of
from tests.sources.carried import DATA, ENCRYPTED, events, hexdump_c, rows

LOG = ENCRYPTED / "keys" / "binlog.000001"
KEYRING = ENCRYPTED / "keys" / "keyring"
KEY_ID = "MySQLReplicationKey_90909090-0090-11ee-8090-909090909090_1"
DIGITS = next(
    e["data"] for e in json.loads(KEYRING.read_text())["elements"] if e["data_id"] == KEY_ID
)


def plain() -> bytes:
    with resolve(LOG, KeyFiles(str(KEYRING)))[0].open() as file:
        return file.read()


@pytest.fixture
def keys(tmp_path: Path) -> dict[str, Path]:
    """Files with the key in every form."""
    forms = {
        "raw": bytes.fromhex(DIGITS),
        "hex": DIGITS.encode(),
        "hex line": f"  0x{DIGITS.lower()}\r\n".encode(),
    }
    for name, data in forms.items():
        (tmp_path / name).write_bytes(data)
    return {name: tmp_path / name for name in forms}


@pytest.mark.parametrize("case", sorted(p.name for p in ENCRYPTED.iterdir()))
def test_positions_are_the_servers(case: str) -> None:
    """SHOW BINLOG EVENTS of the server that encrypted them."""
    folder = ENCRYPTED / case
    listed = [(e.file, e.pos, e.end_pos) for e in mf.read(folder).events]
    log = bk.open(sorted(folder.glob("binlog.0*")), keyring=folder / "keyring")
    found = [(Path(str(e["file"])).name, e["pos"], e["end_pos"]) for e in log.event_records()]
    assert found == listed
    assert {e["checksum"] for e in log.event_records()} == {"ok"}


def test_rows_are_those_of_the_plain_log() -> None:
    """The same story on the same server without encryption."""
    same = ("pos", "row", "db", "table", "op", "before", "after", "gtid", "timestamp")
    theirs = rows(DATA / "9-row-full" / "keys" / "binlog.000001")
    ours = rows(LOG, keyring=KEYRING)
    assert [[r[k] for k in same] for r in ours] == [[r[k] for k in same] for r in theirs]


@pytest.mark.parametrize("form", ["raw", "hex", "hex line"])
def test_key_files(keys: dict[str, Path], form: str) -> None:
    assert events(LOG, key_file=keys[form]) == events(LOG, keyring=KEYRING)


def test_the_files_own_password(tmp_path: Path) -> None:
    """What ``openssl`` users have at hand after the first step."""
    header = read_header("log", LOG.read_bytes()[:HEADER_LENGTH])
    cipher = Cipher(algorithms.AES(bytes.fromhex(DIGITS)), modes.CBC(header.vector)).decryptor()
    (tmp_path / "password").write_bytes(cipher.update(header.password))
    assert events(LOG, key_file=tmp_path / "password") == events(LOG, keyring=KEYRING)


@pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not on this machine")
def test_openssl_agrees(tmp_path: Path) -> None:
    """The two steps of "How to manually decrypt an encrypted binary log file"."""
    data = LOG.read_bytes()
    header = read_header("log", data[:HEADER_LENGTH])
    cbc = ["-aes-256-cbc", "-nopad", "-K", DIGITS, "-iv", header.vector.hex()]
    password = _openssl([*cbc], header.password)
    (tmp_path / "password").write_bytes(password)
    derived = __import__("hashlib").sha512(password).digest()
    ctr = ["-aes-256-ctr", "-K", derived[:32].hex(), "-iv", derived[32:40].hex() + "00" * 8]
    assert _openssl(ctr, data[HEADER_LENGTH:]) == plain()


def _openssl(arguments: list[str], data: bytes) -> bytes:
    argv = ["openssl", "enc", "-d", *arguments]
    return subprocess.run(argv, input=data, capture_output=True, check=True).stdout


def test_in_other_carriers(tmp_path: Path) -> None:
    data = LOG.read_bytes()
    for packed in (gzip.compress(data), hexdump_c(data).encode()):
        assert events(packed, keyring=KEYRING) == events(LOG, keyring=KEYRING)
    (tmp_path / "binlog.000001").write_bytes(data)
    (tmp_path / "binlog.000002.gz").write_bytes(gzip.compress(plain()))
    assert len(resolve(tmp_path)) == 2
    both = events(tmp_path, keyring=KEYRING, duplicates="keep")
    assert len(both) == 2 * len(events(plain()))


def test_seeking() -> None:
    whole = plain()
    with resolve(LOG, KeyFiles(str(KEYRING)))[0].open() as file:
        for offset in (0, 4, 15, 16, 17, 4096, 4099, len(whole) - 1, 3, len(whole)):
            assert file.seek(offset) == offset == file.tell()
            assert file.read(100) == whole[offset : offset + 100]
        assert file.seek(-5, os.SEEK_END) == len(whole) - 5
        assert file.read(100) == whole[-5:]


def test_damage_is_told_at_the_plain_logs_positions() -> None:
    data = bytearray(LOG.read_bytes())
    data[HEADER_LENGTH + 4800] ^= 1
    expected = bytearray(plain())
    expected[4800] ^= 1
    found = [bk.open(bytes(expected), on_damage="report")]
    found.append(bk.open(bytes(data), on_damage="report", keyring=KEYRING))
    told = [(list(log.event_records()) and None, [str(d) for d in log.damages]) for log in found]
    assert told[0] == told[1]
    assert told[0][1]


# ---- keys that are not there, or wrong ------------------------------------------------------


def refused(source: object, **keys: object) -> str:
    """The error's message, which shows no secret; nor does its traceback."""
    with pytest.raises(InputError) as caught:
        events(source, **keys)
    printed = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    for secret in (DIGITS, DIGITS.lower(), repr(bytes.fromhex(DIGITS))[2:-1]):
        assert secret not in printed
    return str(caught.value)


def test_no_key() -> None:
    message = refused(LOG)
    assert KEY_ID in message
    assert "--keyring" in message


def test_a_wrong_key(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(bytes(32))
    message = refused(LOG, key_file=tmp_path / "key")
    assert f"the key {tmp_path / 'key'} does not decrypt it" in message
    other = KEYRING.read_text().replace(DIGITS, "00" * 32)
    (tmp_path / "keyring").write_text(other)
    assert f"the key {KEY_ID} of {tmp_path}/keyring does not" in refused(
        LOG, keyring=tmp_path / "keyring"
    )


def test_a_keyring_without_the_key(tmp_path: Path) -> None:
    keyring = tmp_path / "keyring"
    keyring.write_text(KEYRING.read_text().replace(KEY_ID, KEY_ID[:-1] + "7"))
    message = refused(LOG, keyring=keyring)
    assert f"encrypted with the key {KEY_ID}, which is not in {keyring}" in message
    assert f"it has {KEY_ID[:-1]}7: the server's key was rotated since" in message
    keyring.write_text('{"version": "1.0", "elements": []}')
    assert "no binary log key of that server" in refused(LOG, keyring=keyring)


def test_both_are_too_much() -> None:
    with pytest.raises(UsageError, match="not both"):
        bk.open(LOG, keyring=KEYRING, key_file=KEYRING)


def test_the_environment_names_files(
    monkeypatch: pytest.MonkeyPatch, keys: dict[str, Path]
) -> None:
    monkeypatch.setenv("BINLOGKIT_KEYRING", str(KEYRING))
    assert events(LOG)
    monkeypatch.delenv("BINLOGKIT_KEYRING")
    monkeypatch.setenv("BINLOGKIT_KEY_FILE", str(keys["hex"]))
    assert events(LOG)
    monkeypatch.setenv("BINLOGKIT_KEY_FILE", "nowhere")
    assert events(LOG, keyring=KEYRING)  # what is given wins
    assert "nowhere: the key cannot be read" in refused(LOG)


# ---- headers that are wrong -------------------------------------------------------------------

HEADERS = [
    (lambda d: d[:100], DamageError, "the file ends 100 bytes into its encryption header"),
    (lambda d: d[:4] + b"\x02" + d[5:], InputError, r"not known \(version 2\)"),
    (lambda d: d[:5] + b"\x09" + d[6:], DamageError, "field 9 of the encryption header"),
    (lambda d: d[:5] + bytes(507) + d[512:], DamageError, "lacks field 1"),
    (lambda d: d[:6] + b"\xff" + bytes(505) + d[512:], DamageError, "lacks field 2"),
    (lambda d: d[:500] + d[500:], None, ""),
]


def with_fields(*fields: bytes) -> bytes:
    """A header of these fields, filled with zeros, or as long as they make it."""
    return (LOG.read_bytes()[:5] + b"".join(fields)).ljust(HEADER_LENGTH, b"\0")


def key_id(length: int, there: int) -> bytes:
    return b"\1" + bytes([length]) + b"k" * there


@pytest.mark.parametrize(
    ("fields", "sound"),
    [
        ((key_id(255, 255), b"\2" + bytes(32), b"\3" + bytes(16)), True),
        # 5 + 257 + 33 + 17 = 312: the rest of the header has 200 bytes, 198 behind the length.
        ((key_id(255, 255), b"\2" + bytes(32), b"\3" + bytes(16), key_id(198, 198)), True),
        ((key_id(255, 255), b"\2" + bytes(32), b"\3" + bytes(16), key_id(199, 198)), False),
        ((key_id(255, 255), b"\2" + bytes(32), b"\3" + bytes(16), key_id(255, 198)), False),
        # A vector that ends with the header, and one that the header's end cuts off.
        ((key_id(255, 255), key_id(198, 198), b"\2" + bytes(32), b"\3" + bytes(16)), True),
        ((key_id(255, 255), key_id(199, 199), b"\2" + bytes(32), b"\3" + bytes(15)), False),
    ],
)
def test_fields_end_in_the_header(fields: tuple[bytes, ...], sound: bool) -> None:
    data = with_fields(*fields)
    if not sound:
        with pytest.raises(DamageError, match="is invalid"):
            read_header("log", data[:HEADER_LENGTH])
        return
    header = read_header("log", data[:HEADER_LENGTH])
    assert set(header.key_id) == {"k"}
    assert (len(header.password), len(header.vector)) == (32, 16)


@pytest.mark.parametrize(("change", "error", "message"), HEADERS)
def test_headers(change: object, error: type[Exception] | None, message: str) -> None:
    data = change(LOG.read_bytes())  # type: ignore[operator]
    if error is None:
        assert events(data, keyring=KEYRING)
        return
    with pytest.raises(error, match=message):
        events(data, keyring=KEYRING)


def test_every_byte_of_a_header_may_be_wrong() -> None:
    """Nothing but the documented errors, or the same log: zeros behind the fields mean nothing."""
    data = LOG.read_bytes()[:700]
    for at in range(4, 130):
        wrong = bytearray(data)
        wrong[at] ^= 0xFF
        try:
            events(bytes(wrong), keyring=KEYRING)
        except (DamageError, InputError):
            continue


@pytest.mark.parametrize("cut", [4, 5, 300, HEADER_LENGTH - 1])
def test_a_cut_header_is_damage(cut: int) -> None:
    data = LOG.read_bytes()[:cut]
    with pytest.raises(TruncatedEventError, match=f"ends {cut} bytes into its encryption header"):
        list(bk.open(data, keyring=KEYRING).event_records())
    log = bk.open(data, keyring=KEYRING, on_damage="report")
    assert list(log.event_records()) == []
    assert [(type(error), error.offset) for error in log.damages] == [(TruncatedEventError, 0)]
    found = bk.open(data, keyring=KEYRING).verify()
    assert "cut_event" in {one.code for one in found.findings} and found.unreadable is None


MARIADB = "10.6.12-MariaDB-log"
QUERY = bytes(8) + b"\1" + bytes(4) + b"d\0BEGIN"
START_ENCRYPTION = b"\1\1\0\0\0" + bytes(range(12))


@pytest.mark.parametrize("on_damage", ["stop", "report"])
@pytest.mark.parametrize("checksums", [True, False])
def test_mariadbs_encryption_is_called_by_its_name(on_damage: str, checksums: bool) -> None:
    """What stands before it is given; what follows is no damage."""
    known = [(2, QUERY), (164, START_ENCRYPTION)]
    plain = log_of(known, version=MARIADB, checksums=checksums)
    log = bk.open(plain + Random(1).randbytes(5000), on_damage=on_damage)
    said = f"encrypted by MariaDB from {len(plain)} on .MARIADB_START_ENCRYPTION_EVENT.*supported"
    found = []
    with pytest.raises(InputError, match=said):
        for record in log.event_records():
            found.append(record["type"])
    assert found[1:] == ["QUERY_EVENT", "MARIADB_START_ENCRYPTION_EVENT"]
    assert log.damages == [] and log.verify().findings == []
    with pytest.raises(InputError, match=said):
        log.explain().text(80)


def test_an_event_of_that_number_of_another_server_is_no_encryption() -> None:
    data = log_of([(164, START_ENCRYPTION), (2, QUERY)])
    assert len(list(bk.open(data).event_records())) == 3


def test_nothing_behind_the_header() -> None:
    with pytest.raises(bk.errors.EmptyInputError):
        events(LOG.read_bytes()[:HEADER_LENGTH], keyring=KEYRING)
    with pytest.raises(InputError):
        events(LOG.read_bytes()[: HEADER_LENGTH + 3], keyring=KEYRING)


# ---- the command line -------------------------------------------------------------------------


def test_commands(capsys: pytest.CaptureFixture[str], keys: dict[str, Path]) -> None:
    for option in (["--keyring", str(KEYRING)], ["--key-file", str(keys["hex"])]):
        assert run(["rows", str(LOG), "--format", "jsonl", *option]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert [json.loads(line)["pos"] for line in lines] == [
            r["pos"] for r in rows(LOG, keyring=KEYRING)
        ]
    assert run(["rows", str(LOG), "--format", "jsonl"]) == 2
    said = capsys.readouterr().err
    assert KEY_ID in said
    assert len(said.splitlines()) == 1


def test_secrets_do_not_show() -> None:
    keyring = read_keyring(str(KEYRING))
    assert DIGITS.lower() not in repr(keyring).lower()
    assert keyring[KEY_ID].reveal().hex().upper() == DIGITS
    with pytest.raises(TypeError, match="not to be copied"):
        __import__("copy").deepcopy(keyring[KEY_ID])
