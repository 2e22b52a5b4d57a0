"""What a user may name, and in which order its logs are read."""

from __future__ import annotations

import gzip
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest
import zstandard

import binlogkit as bk
from binlogkit.errors import DamageError, EmptyInputError, InputError
from binlogkit.sources.carriers import Carrier, resolve

DATA = Path(__file__).parents[1] / "_data"
LOG = DATA / "8.0-row-full" / "keys" / "binlog.000001"


def content(carrier: Carrier) -> bytes:
    with carrier.open() as file:
        parts = []
        while part := file.read(1 << 16):
            parts.append(part)
        return b"".join(parts)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    data = LOG.read_bytes()
    for name in ("binlog.999999", "binlog.1000000", "binlog.000002"):
        (tmp_path / name).write_bytes(data)
    (tmp_path / "binlog.000003.gz").write_bytes(gzip.compress(data))
    (tmp_path / "notes.txt").write_text("not a log")
    (tmp_path / "empty").write_bytes(b"")
    return tmp_path


def names(carriers: list[Carrier]) -> list[str]:
    return [Path(c.name).name for c in carriers]


def test_a_folder_gives_its_logs_in_numeric_order(folder: Path) -> None:
    expected = ["binlog.000002", "binlog.000003.gz", "binlog.999999", "binlog.1000000"]
    assert names(resolve(folder)) == expected
    assert names(resolve(str(folder))) == expected


def test_a_glob(folder: Path) -> None:
    assert names(resolve(f"{folder}/binlog.9*")) == ["binlog.999999"]
    with pytest.raises(EmptyInputError):
        resolve(f"{folder}/nothing.*")


def test_an_index_file_names_logs_beside_it_only(folder: Path) -> None:
    index = folder / "binlog.index"
    index.write_text("/var/lib/mysql/binlog.000002\n./binlog.999999\n..\\..\\etc\\binlog.000002\n")
    found = resolve(index)
    assert names(found) == ["binlog.000002", "binlog.999999", "binlog.000002"]
    assert all(Path(c.name).parent == folder for c in found)


def test_bytes_and_file_objects_and_lists() -> None:
    data = LOG.read_bytes()
    assert content(resolve(data)[0]) == data
    with LOG.open("rb") as file:
        carrier = resolve(file)[0]
        assert content(carrier) == data
        assert content(carrier) == data  # as often as wanted

    class Pipe(io.RawIOBase):
        def __init__(self) -> None:
            self.left = data

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            part, self.left = self.left[: len(buffer)], self.left[len(buffer) :]
            buffer[: len(part)] = part
            return len(part)

    carrier = resolve(io.BufferedReader(Pipe()))[0]
    assert content(carrier) == content(carrier) == data
    assert len(resolve([data, str(LOG)])) == 2
    with pytest.raises(EmptyInputError):
        resolve([])


def test_compressed_carriers_are_known_by_their_bytes(tmp_path: Path) -> None:
    data = LOG.read_bytes()
    for number, packed in enumerate((gzip.compress(data), zstandard.compress(data))):
        path = tmp_path / f"log{number}"
        path.write_bytes(packed)
        assert content(resolve(path)[0]) == data


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_a_cut_compressed_carrier_is_damage(tmp_path: Path, pack: object) -> None:
    path = tmp_path / "log"
    path.write_bytes(pack(LOG.read_bytes())[:-500])  # type: ignore[operator]
    with pytest.raises(DamageError) as caught:
        content(resolve(path)[0])
    assert caught.value.file == str(path)


def test_compressed_carriers_of_several_frames(tmp_path: Path) -> None:
    data = LOG.read_bytes()
    for pack in (gzip.compress, zstandard.compress):
        path = tmp_path / "log"
        path.write_bytes(pack(data[:1000]) + pack(data[1000:]))
        assert content(resolve(path)[0]) == data


def test_urls(tmp_path: Path) -> None:
    assert content(resolve(LOG.as_uri())[0]) == LOG.read_bytes()
    with pytest.raises(InputError):
        resolve("nosuchscheme://host/binlog.000001")


def test_what_is_not_there(tmp_path: Path) -> None:
    for path in (tmp_path / "binlog.000001",):
        with pytest.raises(InputError, match="no such file"), resolve(path)[0].open():
            pass
    with pytest.raises(EmptyInputError):
        resolve(tmp_path)


# ---- names that are no text -----------------------------------------------------------------

ODD = os.fsdecode(b"b\xffn\xe9.000001")
SHOWN = "b\\xffn\\xe9.000001"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("given", [ODD, "", "binlog.index", "*.000001"])
def test_a_file_whose_name_is_no_text(tmp_path: Path, given: str) -> None:
    """Bytes that are no UTF-8 are shown as digits, whatever named the file."""
    (tmp_path / ODD).write_bytes(LOG.read_bytes())
    (tmp_path / "binlog.index").write_bytes(b"./b\xffn\xe9.000001\n")
    log = bk.open(tmp_path / given)
    assert log.files == [f"{tmp_path}/{SHOWN}"]
    records = [*log.event_records(), *log.row_records(), *log.transaction_records()]
    assert {record["file"] for record in records} == set(log.files)
    assert json.loads(json.dumps(records[0], default=str))["file"].encode()
    assert set(log.rows(engine="pyarrow")["file"].to_pylist()) == set(log.files)
    [audit, *_] = log.audit().records()
    assert audit and not log.verify().unreadable
    name = log.table_names()[0]
    ends = [record["end_pos"] for record in log.event_records()]
    for file in (ODD, SHOWN, log.files[0]):
        assert log.state(name, at=(file, ends[-1])).rows.num_rows
        assert log.explain(f"{file}:{ends[0]}").text(100).isascii()
    assert resolve(resolve(tmp_path / given)[0].location or "")[0].name == log.files[0]


def test_a_surrogate_that_no_file_has() -> None:
    with pytest.raises(InputError):
        list(bk.open("b\ud800.000001").event_records())
