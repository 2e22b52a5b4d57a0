"""``index.json``: what a set of fixtures holds, and the SHA-256 of every file in it.

Files are named and hashed as they are when unpacked (``manifest.json``, not ``manifest.json.xz``),
so that the index of the source tree is the one of the archive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from binlogkit.errors import InputError
from binlogkit_fixtures import manifest as mf
from binlogkit_fixtures.expected import files, lines
from binlogkit_fixtures.expected.proofs import Problem, Proved, prove
from binlogkit_fixtures.records import json_schema, to_json
from binlogkit_fixtures.servers.keyring import KEYRING

__all__ = [
    "INDEX", "LICENCE", "Index", "IndexCase", "IndexFile", "add_lines", "build", "check",
    "contents", "fixtures", "of", "plain_name", "read", "replace_file", "schema", "update", "write",
]  # fmt: skip

INDEX = "index.json"
FORMAT_VERSION = 1
LICENCE = "CC0-1.0"  # SPDX
KINDS = ("binlog", "manifest", "events", "rows", "text", "keyring", "about")


@dataclass(frozen=True, slots=True)
class IndexFile:
    """A file: ``path`` from the index's folder, with slashes; ``kind``: binlog, manifest, events,
    rows, text (mysqlbinlog's), keyring or about (README, licence)."""

    path: str
    kind: str
    size: int
    sha256: str

    def __post_init__(self) -> None:
        for part in self.path.split("/"):
            mf.file_name(part)
        if self.kind not in KINDS:
            raise ValueError(f"there is no kind of file {self.kind!r}")


@dataclass(frozen=True, slots=True)
class IndexCase:
    """A scenario in a cell: its folder, its logs in order, and what its lines were proved by.

    ``proved``: see the README; counts of events, rows and cells, and of what each witness saw.
    """

    path: str
    cell: str
    scenario: str
    server_version: str
    binlogs: tuple[str, ...]
    proved: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Index:
    """A set of fixtures."""

    format_version: int
    licence: str
    cases: tuple[IndexCase, ...]
    files: tuple[IndexFile, ...]

    def __post_init__(self) -> None:
        if self.format_version != FORMAT_VERSION:
            raise ValueError(f"format version {self.format_version} is not {FORMAT_VERSION}")


def schema() -> dict[str, Any]:
    """The JSON Schema of the index."""
    return json_schema(Index, "binlogkit fixture index")


def plain_name(path: Path) -> str:
    """A file's name when it is unpacked."""
    return path.name.removesuffix(".xz")


def replace_file(path: Path, data: bytes) -> None:
    """Write a file that is there whole, or as it was before."""
    work = path.with_name(f".{path.name}")
    work.write_bytes(data)
    work.replace(path)


def _hidden(root: Path, path: Path) -> bool:
    """What is not whole yet has a name that begins with a dot, or its folder has."""
    return any(part.startswith(".") for part in path.relative_to(root).parts)


def contents(root: Path) -> Iterator[tuple[str, Path]]:
    """Every file of a set, its place when unpacked first, sorted; but for the index."""
    found = [
        ((path.parent / plain_name(path)).relative_to(root).as_posix(), path)
        for path in root.rglob("*")
        if path.is_file() and path != root / INDEX and not _hidden(root, path)
    ]
    yield from sorted(found)


def add_lines(folder: Path, *, compress: bool = False) -> tuple[Proved, list[Problem]]:
    """Write a fixture's lines, and prove them. InputError: no manifest; DamageError: of a log."""
    manifest = mf.read(folder)
    log = lines.opened(folder, manifest)
    events, rows = list(lines.event_lines(log)), list(lines.row_lines(log))
    for name, records in ((files.EVENTS, events), (files.ROWS, rows)):
        data = files.text(records)
        packed = f"{name}.xz"
        replace_file(folder / (packed if compress else name), mf.packed(data) if compress else data)
        (folder / (name if compress else packed)).unlink(missing_ok=True)
    return prove(folder, manifest, events, rows)


def update(
    root: Path,
    folders: Sequence[Path],
    *,
    compress: bool = False,
    proved: Mapping[Path, Proved] | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> list[Problem]:
    """Write and prove the lines of these fixtures of a set, and then its index.

    Fixtures that the index does not have yet are done as well, but for those ``proved``. Where
    something is not proved the index stays as it was; what it is is returned, ``file`` from
    ``root``.
    """
    known = {}
    if (root / INDEX).is_file():
        known = {root / case.path: Proved(**case.proved) for case in read(root).cases}
    known |= proved or {}
    new = [path for path in fixtures(root) if path not in known]
    found = []
    for folder in dict.fromkeys([*folders, *new]):
        known[folder], problems = add_lines(folder, compress=compress)
        place = folder.relative_to(root).as_posix()
        found += [Problem(f"{place}/{problem.file}", problem.what) for problem in problems]
        progress(place)
    if not found:
        write(build(root, known.__getitem__), root)
    return found


def fixtures(root: Path) -> list[Path]:
    """The folders of a set that hold a manifest, sorted."""
    found = {path.parent for name in mf.NAMES for path in root.rglob(name)}
    return sorted(folder for folder in found if not _hidden(root, folder))


def build(root: Path, proved: Callable[[Path], Proved]) -> Index:
    """The index of a set whose fixtures have their lines; ``proved``: by a fixture's folder."""
    cases = []
    for folder in fixtures(root):
        manifest = mf.read(folder)
        cases.append(
            IndexCase(
                folder.relative_to(root).as_posix(), manifest.cell, manifest.scenario,
                manifest.server_version,
                tuple(log.name for log in manifest.binlogs), proved(folder).counts(),
            )
        )  # fmt: skip
    files = []
    for name, path in contents(root):
        data = mf.read_packed(path)
        files.append(IndexFile(name, _kind(path), len(data), mf.sha256(data)))
    return Index(FORMAT_VERSION, LICENCE, tuple(cases), tuple(files))


def _kind(path: Path) -> str:
    kinds = {
        mf.MANIFEST: "manifest", files.EVENTS: "events", files.ROWS: "rows", KEYRING: "keyring",
    }  # fmt: skip
    name = plain_name(path)
    if name in kinds:
        return kinds[name]
    if name.endswith(".mysqlbinlog.txt"):
        return "text"
    return "binlog" if path.suffix[1:].isdecimal() else "about"


def write(index: Index, root: Path) -> Path:
    """Write the index into the set's folder, a line for each case and file."""
    path = root / INDEX
    replace_file(path, mf.layout(to_json(index)).encode("utf-8"))
    return path


def read(root: Path) -> Index:
    """The index of a set. InputError: none, or not one."""
    return mf.read_record(Index, root / INDEX, "a fixture index")


def of(folder: Path) -> Path | None:
    """The folder of the set that a folder is, or is in. InputError: its own index is none."""
    folder = folder.resolve()
    for one in (folder, *folder.parents):
        if (one / INDEX).is_file():
            try:
                read(one)
            except InputError:
                if one == folder:
                    raise
            else:
                return one
    return None


def check(root: Path, below: str = "") -> Iterator[Problem]:
    """Whether the files of a set are those of its index, each with its SHA-256; ``below``: only
    those in this folder of the set, which ends with a slash."""
    listed = {file.path: file for file in read(root).files if file.path.startswith(below)}
    there = {name: path for name, path in contents(root) if name.startswith(below)}
    for name in sorted(listed.keys() - there.keys()):
        yield Problem(name, "in the index, but not there")
    for name, path in there.items():
        file = listed.get(name)
        if file is None:
            yield Problem(name, "not in the index")
            continue
        try:
            data = mf.read_packed(path)
        except InputError as exc:
            yield Problem(name, exc.reason)
            continue
        if (len(data), mf.sha256(data)) != (file.size, file.sha256):
            yield Problem(name, "its size or SHA-256 is not the one of the index")
