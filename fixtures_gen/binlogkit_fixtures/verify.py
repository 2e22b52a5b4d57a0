"""Whether a folder of fixtures is what its manifests say, and its logs say what it expects.

Nothing is taken for true because it is written down: the expected lines, the tables at marks and
the executed GTIDs are all found anew (expected/proofs.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import binlogkit as bk
from binlogkit.errors import DamageError, InputError, UsageError, printable
from binlogkit_fixtures import manifest as mf
from binlogkit_fixtures.expected import files, index, lines
from binlogkit_fixtures.expected.proofs import prove
from binlogkit_fixtures.servers.keyring import KEYRING

__all__ = ["Finding", "check_index", "folders", "verify"]

_Place = tuple[object, object, object]  # pos, end_pos, server_id


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as the manifest says: the folder, the file in it, what is wrong."""

    folder: str
    file: str
    problem: str


def folders(root: Path) -> list[Path]:
    """The folders at and below ``root`` that hold a manifest, sorted. InputError: there is none."""
    if not root.is_dir():
        raise InputError(str(root), "not a folder")
    found = index.fixtures(root)
    if not found:
        raise InputError(str(root), "no fixtures here: no manifest.json in it or below")
    return found


def check_index(root: Path) -> Iterator[Finding]:
    """Check the files of a set, or of a folder in it, against the set's index, where it has one.
    InputError: not an index."""
    of = index.of(root)
    if of is not None:
        inside = root.resolve().relative_to(of)
        for problem in index.check(of, "" if inside == Path() else f"{inside.as_posix()}/"):
            yield Finding(str(of), problem.file, problem.what)


def verify(folder: Path) -> Iterator[Finding]:
    """Check one folder: files and hashes, each log's structure, and the server's list of events.

    Where these are well, the expected events and rows and what the manifest says of tables are
    proved anew. A manifest that cannot be read is a finding too.
    """
    place = str(folder)
    well = True
    for finding in _files(folder, place):
        well = False
        yield finding
    if well:
        yield from _truth(folder, place)


def _files(folder: Path, place: str) -> Iterator[Finding]:
    try:
        manifest = mf.read(folder)
    except InputError as exc:
        yield Finding(place, "manifest.json", exc.reason)
        return
    known = {log.name for log in manifest.binlogs}
    known |= {text.name.removesuffix(".xz") for text in manifest.texts}
    known |= {mf.MANIFEST, KEYRING, *files.NAMES}
    for path in sorted(folder.iterdir()):
        if index.plain_name(path) not in known:
            yield Finding(place, path.name, "not in the manifest")
    for log in manifest.binlogs:
        problem = _file_problem(folder, log) or _log_problem(folder, log.name, manifest)
        if problem:
            yield Finding(place, log.name, problem)
    for text in manifest.texts:
        problem = _text_problem(folder, text)
        if problem:
            yield Finding(place, text.name, problem)


def _truth(folder: Path, place: str) -> Iterator[Finding]:
    manifest = mf.read(folder)
    try:
        log = lines.opened(folder, manifest)
        events, rows = (_kept(folder, name) for name in files.NAMES)
        events = list(lines.event_lines(log)) if events is None else events
        rows = list(lines.row_lines(log)) if rows is None else rows
        _, problems = prove(folder, manifest, events, rows)
    except _KeptError as error:
        yield Finding(place, *error.args)
        return
    except DamageError as error:
        yield Finding(place, error.file, str(error))
        return
    except UsageError as error:  # no server has such a version
        yield Finding(place, mf.MANIFEST, str(error))
        return
    for problem in problems:
        yield Finding(place, problem.file, problem.what)


class _KeptError(Exception):
    """A file of lines is none: its name, and what is wrong with it."""


def _kept(folder: Path, name: str) -> list[dict[str, Any]] | None:
    path = files.find(folder, name)
    if path is None:
        return None
    try:
        return list(files.read(path))
    except (ValueError, RecursionError, InputError) as exc:
        raise _KeptError(path.name, f"unreadable: {printable(str(exc))}") from exc


def _file_problem(folder: Path, log: mf.BinlogFile) -> str | None:
    path = folder / log.name
    if path.is_symlink() or not path.is_file():
        return "missing, or not a plain file"
    size = path.stat().st_size
    if size != log.size:
        return f"{size} bytes instead of {log.size}"
    return None if mf.sha256(path.read_bytes()) == log.sha256 else "the SHA-256 is another one"


def _log_problem(folder: Path, name: str, manifest: mf.Manifest) -> str | None:
    """Structure and checksums by our reader, positions by what the server listed.

    The end of a relay log's event is where it ended in its source's log.
    """
    listed = list(_listed(e for e in manifest.events if e.file == name))
    last = name == manifest.binlogs[-1].name
    unlisted = "STOP_EVENT" if last and manifest.ending == "stop" else None
    seen: list[_Place] = []
    try:
        for event in bk.open(str(folder / name), keyring=_keyring(folder)).event_records():
            if event["inner"] is None and event["type"] != unlisted:
                end = event["fields"]["log_pos"] if manifest.relay else event["end_pos"]
                seen.append((event["pos"], end, event["server_id"]))
    except (DamageError, InputError) as exc:
        return str(exc)
    return None if seen == listed else _first_difference(seen, listed)


def _listed(events: Iterable[mf.EventLine]) -> Iterator[_Place]:
    """The events but for those inside payloads, which 8.0.31 lists with the payload's own end."""
    payload = None
    for event in events:
        if event.type == "Transaction_payload":
            payload = event.end_pos
        elif event.end_pos == payload:
            continue
        else:
            payload = None
        yield event.pos, event.end_pos, event.server_id


def _keyring(folder: Path) -> Path | None:
    return folder / KEYRING if (folder / KEYRING).is_file() else None


def _first_difference(seen: list[_Place], listed: list[_Place]) -> str:
    for ours, theirs in zip(seen, listed, strict=False):
        if ours != theirs:
            return f"an event at {ours[:2]} where SHOW BINLOG EVENTS has one at {theirs[:2]}"
    return f"{len(seen)} events where SHOW BINLOG EVENTS has {len(listed)}"


def _text_problem(folder: Path, text: mf.OracleText) -> str | None:
    path = mf.find_text(folder, text.name)
    if path.is_symlink() or not path.is_file():
        return "missing, or not a plain file"
    try:
        data = mf.read_packed(path)
    except InputError as exc:
        return exc.reason
    return None if mf.sha256(data) == text.sha256 else "the SHA-256 of the text is another one"
