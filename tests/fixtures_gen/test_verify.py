"""``verify`` finds whatever was done to a folder of fixtures."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from binlogkit.errors import InputError
from binlogkit_fixtures import golden
from binlogkit_fixtures import manifest as mf
from binlogkit_fixtures.records import to_json
from binlogkit_fixtures.verify import check_index, folders, verify

LOG = "binlog.000001"
RING = golden.case("8.0-row-full", "ring", "a-relay")
TEXT = f"{LOG}.mysqlbinlog.txt.xz"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of a golden case."""
    case = golden.case("8.0-row-compressed", "transactions")
    return Path(shutil.copytree(case.path, tmp_path / "8.0-row-compressed" / "transactions"))


@pytest.mark.parametrize(
    "case",
    [
        "5.7-row-v1-events/transactions",
        "8.0-row-full/crash",
        "8.0-row-full/shutdown",
        "9-row-full/modern",
        "8.0-row-compressed/chain/replica-relay",
        "8.0-row-full/ring/a-relay",
        "5.7-row-no-gtid/ring/a-relay",
    ],
)
def test_golden_logs_are_well(case: str) -> None:
    assert list(verify(golden.case(*case.split("/")).path)) == []


def _flip(folder: Path) -> None:
    data = bytearray((folder / LOG).read_bytes())
    data[300] ^= 1
    (folder / LOG).write_bytes(data)


def _cut(folder: Path) -> None:
    (folder / LOG).write_bytes((folder / LOG).read_bytes()[:-1])


def _remove(folder: Path) -> None:
    (folder / LOG).unlink()


def _link_elsewhere(folder: Path) -> None:
    target = folder.parent / "elsewhere"
    (folder / LOG).rename(target)
    (folder / LOG).symlink_to(target)


def _add(folder: Path) -> None:
    (folder / "binlog.000009").write_bytes(b"")


def _other_text(folder: Path) -> None:
    mf.write_packed(folder / TEXT, b"nothing")


def _broken_text(folder: Path) -> None:
    (folder / TEXT).write_bytes(b"nothing")


def _no_manifest(folder: Path) -> None:
    (folder / "manifest.json.xz").write_bytes(b"nothing")


@pytest.mark.parametrize(
    ("damage", "file", "problem"),
    [
        (_flip, LOG, "the SHA-256 is another one"),
        (_cut, LOG, " bytes instead of "),
        (_remove, LOG, "missing, or not a plain file"),
        (_link_elsewhere, LOG, "missing, or not a plain file"),
        (_add, "binlog.000009", "not in the manifest"),
        (_other_text, TEXT, "the SHA-256 of the text is another one"),
        (_broken_text, TEXT, "unreadable"),
        (_no_manifest, "manifest.json", "unreadable"),
    ],
)
def test_each_damage_is_found(
    damage: Callable[[Path], None], file: str, problem: str, folder: Path
) -> None:
    damage(folder)
    found = list(verify(folder))
    assert [finding.file for finding in found] == [file]
    assert problem in found[0].problem


def test_a_log_that_is_not_what_the_server_listed(folder: Path) -> None:
    """The hashes agree with the manifest, the events do not: a manifest of another log."""
    record = to_json(mf.read(folder))
    (folder / "manifest.json.xz").unlink()
    record["events"][1]["end_pos"] += 1
    (folder / "manifest.json").write_text(json.dumps(record), "utf-8")
    assert [finding.problem for finding in verify(folder)] == [
        "an event at (126, 157) where SHOW BINLOG EVENTS has one at (126, 158)"
    ]


@pytest.mark.parametrize(
    ("key", "value", "there"), [("end_pos", 1057, 1057), ("server_id", 80, 1056)]
)
def test_relay_logs_that_are_not_what_the_replica_listed(
    key: str, value: int, there: int, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(RING.path, tmp_path / "a-relay"))
    record = to_json(mf.read(folder))
    (folder / "manifest.json.xz").unlink()
    (event,) = [e for e in record["events"] if (e["file"], e["pos"]) == ("relay.000002", 367)]
    assert event[key] != value
    event[key] = value
    (folder / "manifest.json").write_text(json.dumps(record), "utf-8")
    problem = f"an event at (367, 1056) where SHOW BINLOG EVENTS has one at (367, {there})"
    assert [(f.file, f.problem) for f in verify(folder)] == [("relay.000002", problem)]


def test_what_a_replica_says_it_received_is_proved(tmp_path: Path) -> None:
    """What it executed is more: in a ring it has its own transactions, too."""
    folder = Path(shutil.copytree(RING.path, tmp_path / "a-relay"))
    record = to_json(mf.read(folder))
    (folder / "manifest.json.xz").unlink()
    mark = record["marks"][0]
    assert mark["gtid_executed"] != mark["gtid_retrieved"]
    mark["gtid_retrieved"] = mark["gtid_executed"]
    (folder / "manifest.json").write_text(json.dumps(record), "utf-8")
    problems = [finding.problem for finding in verify(folder)]
    assert problems[0].startswith("mark closed: gtid_retrieved is 80808080-")
    assert len(problems) == 1


def test_a_bad_checksum_is_found_whatever_the_manifest_says(folder: Path) -> None:
    _flip(folder)
    record = to_json(mf.read(folder))
    (folder / "manifest.json.xz").unlink()
    record["binlogs"][0]["sha256"] = mf.sha256((folder / LOG).read_bytes())
    (folder / "manifest.json").write_text(json.dumps(record), "utf-8")
    problems = [finding.problem for finding in verify(folder)]
    assert len(problems) == 1
    assert "the CRC32 of the event is" in problems[0]


def test_a_folder_is_held_to_the_index_of_its_set(folder: Path, tmp_path: Path) -> None:
    """It has what no log and no server can say again: the story, warnings, names of marks."""
    root = tmp_path
    shutil.copy(golden.folder() / "index.json", root)
    assert list(check_index(folder)) == []
    manifest = mf.read(folder)
    mf.write(replace(manifest, story=f"{manifest.story}."), folder, compress=True)
    (found,) = check_index(folder)
    assert (found.folder, found.problem) == (
        str(root), "its size or SHA-256 is not the one of the index",
    )  # fmt: skip
    (root / "index.json").write_text("{}")  # another program's
    assert list(check_index(folder)) == []
    with pytest.raises(InputError, match="not a fixture index"):
        list(check_index(root))


def test_folders_are_found(folder: Path, tmp_path: Path) -> None:
    assert folders(tmp_path) == folders(folder) == [folder]
    with pytest.raises(InputError, match="not a folder"):
        folders(tmp_path / "missing")
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(InputError, match="no fixtures here"):
        folders(empty)
