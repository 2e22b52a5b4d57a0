"""Whether a folder of fixtures is what its manifests say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import binlogkit as bk
from binlogkit.errors import DamageError, InputError
from binlogkit_fixtures import manifest as mf
from binlogkit_fixtures.servers.keyring import KEYRING

__all__ = ["Finding", "folders", "verify"]

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
    found = {path.parent for pattern in mf.NAMES for path in root.rglob(pattern)}
    if not found:
        raise InputError(str(root), "no fixtures here: no manifest.json in it or below")
    return sorted(found)


def verify(folder: Path) -> Iterator[Finding]:
    """Check one folder: files and hashes, each log's structure, and the server's list of events.

    A manifest that cannot be read is a finding too.
    """
    place = str(folder)
    try:
        manifest = mf.read(folder)
    except InputError as exc:
        yield Finding(place, "manifest.json", exc.reason)
        return
    known = {log.name for log in manifest.binlogs} | {text.name for text in manifest.texts}
    for path in sorted(folder.iterdir()):
        if path.name not in known and path.name not in (*mf.NAMES, KEYRING):
            yield Finding(place, path.name, "not in the manifest")
    for log in manifest.binlogs:
        problem = _file_problem(folder, log) or _log_problem(folder, log.name, manifest)
        if problem:
            yield Finding(place, log.name, problem)
    for text in manifest.texts:
        problem = _text_problem(folder, text)
        if problem:
            yield Finding(place, text.name, problem)


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

    8.0.31 lists the events inside a payload with its end as their position and their end.
    """
    listed: list[_Place] = [
        (e.pos, e.end_pos, e.server_id)
        for e in manifest.events
        if e.file == name and e.end_pos != e.pos
    ]
    last = name == manifest.binlogs[-1].name
    unlisted = "STOP_EVENT" if last and manifest.ending == "stop" else None
    seen: list[_Place] = []
    try:
        for event in bk.open(str(folder / name), keyring=_keyring(folder)).event_records():
            if event["inner"] is None and event["type"] != unlisted:
                seen.append((event["pos"], event["end_pos"], event["server_id"]))
    except (DamageError, InputError) as exc:
        return str(exc)
    return None if seen == listed else _first_difference(seen, listed)


def _keyring(folder: Path) -> Path | None:
    return folder / KEYRING if (folder / KEYRING).is_file() else None


def _first_difference(seen: list[_Place], listed: list[_Place]) -> str:
    for ours, theirs in zip(seen, listed, strict=False):
        if ours != theirs:
            return f"an event at {ours[:2]} where SHOW BINLOG EVENTS has one at {theirs[:2]}"
    return f"{len(seen)} events where SHOW BINLOG EVENTS has {len(listed)}"


def _text_problem(folder: Path, text: mf.OracleText) -> str | None:
    path = folder / text.name
    if path.is_symlink() or not path.is_file():
        return "missing, or not a plain file"
    try:
        data = mf.read_packed(path)
    except InputError as exc:
        return exc.reason
    return None if mf.sha256(data) == text.sha256 else "the SHA-256 of the text is another one"
