"""The set as an archive: the same bytes each time, nothing lost, and readable without Python."""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from binlogkit.cli import run
from binlogkit.errors import InputError, UsageError
from binlogkit_fixtures import golden
from binlogkit_fixtures import manifest as mf
from binlogkit_fixtures.expected import index
from binlogkit_fixtures.expected.archive import SUMS, write_archives
from binlogkit_fixtures.verify import folders, verify


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A set of three cases with its own index."""
    root = tmp_path_factory.mktemp("set")
    for cell, scenario in (
        ("8.0-row-compressed", "json"), ("8.0-row-full", "crash"), ("5.7-row-minimal", "json"),
    ):  # fmt: skip
        shutil.copytree(golden.case(cell, scenario).path, root / cell / scenario)
    assert index.update(root, [], compress=True) == []
    return root


@pytest.fixture(scope="module")
def packed(small: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return write_archives(small, tmp_path_factory.mktemp("packed"), "1.0")


def _members(path: Path) -> dict[str, bytes]:
    top = "binlogkit-golden-1.0/"
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            found = {name: archive.read(name) for name in archive.namelist()}
    else:
        with tarfile.open(path) as tar:
            found = {m.name: tar.extractfile(m).read() for m in tar}  # type: ignore[union-attr]
    assert all(name.startswith(top) for name in found)
    return {name.removeprefix(top): data for name, data in found.items()}


def test_the_index_is_that_of_the_golden_set() -> None:
    root = golden.folder()
    kept = index.read(root)
    assert {case.path for case in kept.cases} == {str(case) for case in golden.cases()}
    assert list(index.check(root)) == []
    jsonschema.validate(json.loads((root / index.INDEX).read_bytes()), index.schema())
    proved = [case.proved for case in kept.cases]
    assert sum(counts["cells"] for counts in proved) > 80_000
    open_, cells = (sum(counts[name] for counts in proved) for name in ("cells_open", "cells"))
    assert open_ * 1000 < cells


def test_the_same_set_gives_the_same_bytes(small: Path, packed: list[Path], tmp_path: Path) -> None:
    copy = shutil.copytree(small, tmp_path / "other", copy_function=shutil.copyfile)
    again = write_archives(copy, tmp_path / "again", "1.0")
    assert [path.name for path in again] == [
        "binlogkit-golden-1.0.tar.gz",
        "binlogkit-golden-1.0.zip",
    ]
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in packed]
    header = packed[0].read_bytes()[:10]
    assert header[3:8] == b"\0\0\0\0\0"  # neither a name nor a time
    with tarfile.open(packed[0]) as tar:
        assert all(member.mtime == member.uid == 0 for member in tar)


def test_both_hold_everything_unpacked(small: Path, packed: list[Path]) -> None:
    tar, zipped = map(_members, packed)
    assert tar == zipped
    assert not [name for name in tar if name.endswith(".xz")]
    sums = tar.pop(SUMS).decode().splitlines()
    assert sums == [f"{mf.sha256(data)}  {name}" for name, data in tar.items()]
    listed = {file.path for file in index.read(small).files}
    schemas = ("damaged", "event", "index", "manifest", "row")
    assert tar.keys() - listed == {"index.json", *(f"schemas/{n}.schema.json" for n in schemas)}
    rows = [json.loads(line) for line in tar["8.0-row-full/crash/rows.jsonl"].splitlines()]
    jsonschema.validate(rows[0], json.loads(tar["schemas/row.schema.json"]))


def test_an_unpacked_archive_is_a_set_of_its_own(packed: list[Path], tmp_path: Path) -> None:
    with tarfile.open(packed[0]) as tar:
        safely: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        tar.extractall(tmp_path, **safely)  # Python 3.11.4 knows filters, Debian's 3.11.2 not
    root = tmp_path / "binlogkit-golden-1.0"
    assert [finding for place in folders(root) for finding in verify(place)] == []
    assert run(["fixtures", "verify", str(root / "8.0-row-full")]) == 0


def test_what_is_not_as_the_index_says_is_not_packed(small: Path, tmp_path: Path) -> None:
    root = shutil.copytree(small, tmp_path / "set")
    log = root / "8.0-row-full" / "crash" / "binlog.000001"
    log.write_bytes(log.read_bytes()[:-1])
    with pytest.raises(InputError, match="not the one of the index"):
        write_archives(root, tmp_path / "out", "1.0")
    log.unlink()
    (root / "stray").write_bytes(b"")
    assert {p.what for p in index.check(root)} == {
        "in the index, but not there",
        "not in the index",
    }
    assert not (tmp_path / "out").exists()


def test_a_changed_manifest_is_found_by_the_index(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of values that no log tells: an error's message."""
    root = shutil.copytree(small, tmp_path / "set")
    place = root / "8.0-row-full" / "crash" / "manifest.json.xz"
    data = mf.read_packed(place)
    mf.write_packed(place, data.replace(b'"runner": "local"', b'"runner": "docker"'))
    assert run(["fixtures", "verify", str(root), "--format", "jsonl"]) == 1
    (finding,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert finding["file"] == "8.0-row-full/crash/manifest.json"
    assert "index" in finding["problem"]


def test_nothing_is_replaced(small: Path, packed: list[Path]) -> None:
    with pytest.raises(UsageError, match="there already"):
        write_archives(small, packed[0].parent, "1.0")
    with pytest.raises(UsageError, match="not for a file's name"):
        write_archives(small, packed[0].parent, "../1")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tool", "build", "start"),
    [
        ("go", ["go", "build", "-o", "{out}/read", "{here}/read_archive.go"], ["{out}/read"]),
        (
            "javac",
            ["javac", "-d", "{out}", "{here}/ReadArchive.java"],
            ["java", "-cp", "{out}", "ReadArchive"],
        ),
        (
            "cargo",
            ["cargo", "build", "--quiet", "--manifest-path", "{out}/rust/Cargo.toml"],
            ["{out}/rust/target/debug/read_archive"],
        ),
    ],
    ids=["Go", "Java", "Rust"],
)
def test_a_program_in_another_language_reads_both(
    tool: str, build: list[str], start: list[str], small: Path, packed: list[Path], tmp_path: Path
) -> None:
    """Sums, headers of all events, cells, large integers; Go and Java with their own libraries."""
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    places = {"out": tmp_path, "here": Path(__file__).parent}
    shutil.copytree(places["here"] / "read_archive", tmp_path / "rust")
    subprocess.run([word.format_map(places) for word in build], check=True)
    program = [word.format_map(places) for word in start]

    def read(archive: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*program, archive], capture_output=True, text=True)

    said = [read(path) for path in packed]
    assert [done.stderr for done in said] == ["", ""]
    assert said[0].stdout == said[1].stdout
    counts = Counter[str]()
    for case in index.read(small).cases:
        counts.update(case.proved)
    assert said[0].stdout.startswith(f"3 cases, {counts['events']} events, ")
    assert f" {counts['rows']} rows, {counts['cells']} cells, " in said[0].stdout
    damaged = tmp_path / "damaged.zip"
    with zipfile.ZipFile(packed[1]) as archive, zipfile.ZipFile(damaged, "w") as copy:
        for name in archive.namelist():
            data = archive.read(name)
            copy.writestr(name, data.replace(b'"op": "insert"', b'"op": "update"'))
    done = read(damaged)
    assert (done.returncode, "another SHA-256" in done.stderr) == (1, True)
