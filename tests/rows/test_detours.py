"""Which logs the kernel leaves to Python, from where on and why: these, and no others."""

from __future__ import annotations

import base64
import bz2
import gzip
import io
import logging
import lzma
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "fuzz"))

import fsspec
import pytest
import zstandard
from binlogkit.rows.detours import LOGGER, Cause, Detour
from binlogkit.rows.pieces import Piece
from binlogkit_fuzz import seeds

import binlogkit as bk
from binlogkit.rows import boundaries

TESTS = Path(__file__).parents[1]
LOG = seeds.logs()["8.0-row-full/transactions/binlog.000001"]
RELAY = sorted((Path(__file__).parent / "_data" / "5.6.24-relay").glob("relay.0*"))

#: Other projects' logs: what of each is read in Python.
LEFT = {
    "duplicate_xid.000001": (672, Cause.DAMAGE),  # its last XID_EVENT has a wrong checksum
    "bug33029-slave-relay-bin.000001": (4, Cause.POSITIONS),
    "corrupt-relay-bin.000624": (4, Cause.POSITIONS),
    "mariadb-bin.000001": (4, Cause.OTHER_FORMAT),
    "mdev-4645-binlog_group_id.binlog": (4, Cause.OTHER_FORMAT),
    "ver_5_1-wl2325_s.001": (4, Cause.OTHER_FORMAT),  # 5.1 before 5.1.18
    "trunc_binlog.000001": (0, Cause.OLD_FORMAT),
    "binlog_old_version_4_1.000001": (0, Cause.OLD_FORMAT),
}


def detours_of(source: Any, **options: Any) -> list[Detour]:
    log = bk.open(source, on_damage="report", **options)
    for _ in log.batches():
        pass
    return log.detours


def test_servers_logs_are_read_by_the_kernel() -> None:
    """Every series of servers, compressed payloads, images and settings of the golden set."""
    folders = sorted({path.parent for path in seeds.DATA.glob("*/*/binlog.0*")})
    assert len(folders) > 100
    for folder in folders:
        pieces = bk.open(folder).walk().pieces()
        assert all(isinstance(piece, Piece) for piece in pieces), folder


def test_encrypted_logs_are_read_by_the_kernel() -> None:
    for folder in (TESTS / "_encrypted" / "9-row-encrypted").iterdir():
        assert detours_of(str(folder / "binlog.*"), keyring=folder / "keyring") == []


@pytest.mark.skipif(not seeds.CORPUS.is_dir(), reason="no other projects' logs beside the project")
def test_other_projects_logs() -> None:
    logs = [path for path in seeds.CORPUS.glob("*/*") if path.is_file()]
    assert {path.name for path in logs} > set(LEFT)
    for path in logs:
        found = [(detour.pos, detour.cause) for detour in detours_of(path)]
        assert found == ([LEFT[path.name]] if path.name in LEFT else []), path


class ReadOnly:
    """A file object that can do nothing but read()."""

    def __init__(self, data: bytes) -> None:
        self._file = io.BytesIO(data)

    def read(self, size: int = -1) -> bytes:
        return self._file.read(size)


def carriers(folder: Path) -> Iterator[tuple[str, Any]]:
    yield "bytes", LOG
    yield "file object", io.BytesIO(LOG)
    yield "only read()", ReadOnly(LOG)
    pack: list[tuple[str, Callable[[bytes], bytes]]] = [
        ("gz", gzip.compress), ("zst", zstandard.compress), ("bz2", bz2.compress),
        ("xz", lzma.compress),
    ]  # fmt: skip
    for suffix, compress in pack:
        path = folder / f"packed.{suffix}"
        path.write_bytes(compress(LOG))
        yield suffix, path
    with fsspec.open("memory://detours/binlog.000001", "wb") as file:
        file.write(LOG)
    yield "URL", "memory://detours/binlog.000001"
    names = [f"binlog.{number:06}" for number in range(1, 40)]
    for name in names:
        (folder / name).write_bytes(LOG)
    (folder / "binlog.index").write_text("".join(f"./{name}\n" for name in names))
    yield "index file", folder / "binlog.index"
    yield "live log", LOG[:-31]  # without its ROTATE_EVENT
    yield "cut event", LOG[:-5]  # nothing is read of it in Python either


def test_what_carries_a_log_does_not_matter(tmp_path: Path) -> None:
    rows = sum(b.batch.num_rows for b in bk.open(LOG).batches())
    for name, source in carriers(tmp_path):
        log = bk.open(source, on_damage="report")
        found = sum(b.batch.num_rows for b in log.batches())
        assert (log.detours, found) == ([], rows * (39 if name == "index file" else 1)), name


@pytest.mark.parametrize("form", ["statement", "hexdump"])
def test_events_in_a_text_are_no_log(form: str) -> None:
    text = LOG.hex(" ") if form == "hexdump" else f"BINLOG '{base64.b64encode(LOG[4:]).decode()}';"
    (detour,) = detours_of(text.encode())
    assert detour.cause == Cause.LOOSE_EVENTS
    assert (detour.pos, detour.inner) == (0, -1)
    log = bk.open(LOG)
    assert detour.events == sum(1 for _ in log.event_records())
    assert detour.size == len(LOG) - 4
    assert detour.rows == sum(1 for _ in log.row_records())


def test_what_is_read_in_python_is_counted_and_logged(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a damaged event on; by each reading anew, not of other frames."""
    monkeypatch.setattr(boundaries, "ENOUGH", 1 << 20)
    records = list(bk.open(LOG).event_records())
    rows = list(bk.open(LOG).row_records())
    at = int(str(rows[20]["pos"]))
    broken = LOG[: at + 20] + bytes([LOG[at + 20] ^ 1]) + LOG[at + 21 :]
    log = bk.open(broken, on_damage="report")
    with caplog.at_level(logging.INFO, LOGGER):
        read = sum(b.batch.num_rows for b in log.batches())
    (detour,) = log.detours
    behind = [record for record in records if int(str(record["pos"])) >= at]
    assert (detour.pos, detour.inner, detour.cause) == (at, -1, Cause.DAMAGE)
    assert detour.events == len(behind)
    assert detour.size == len(LOG) - at
    assert detour.rows == read - sum(int(str(row["pos"])) < at for row in rows)
    assert [record.getMessage() for record in caplog.records] == [str(detour)]
    assert f"from {at}: {len(behind)} events" in str(detour)
    list(log.row_records(stop_position=1))
    assert [(d.pos, d.rows) for d in log.detours] == [(at, 0)]
    list(log.event_records())
    assert log.detours == []


def test_relay_logs_by_themselves_are_read_by_the_kernel() -> None:
    for path in RELAY:
        assert detours_of(path) == [], path


def test_a_relay_log_that_goes_on_in_the_next_counts_for_each() -> None:
    found = detours_of([str(path) for path in RELAY])
    assert [detour.file for detour in found] == [str(path) for path in RELAY]
    assert [detour.cause for detour in found] == [Cause.RELAY_LOG] + [Cause.CONTINUED] * 4
    rows = [row["file"] for row in bk.open([str(path) for path in RELAY]).row_records()]
    assert [detour.rows for detour in found] == [rows.count(str(path)) for path in RELAY]


def test_each_cause_says_what_it_means() -> None:
    assert len({cause.sentence for cause in Cause}) == len(Cause)
