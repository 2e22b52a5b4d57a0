"""The manifest: what stands beside the binlogs of one scenario in one cell, and its file.

``manifest.json`` (or ``manifest.json.xz``) lies in the folder of its binlogs; mysqlbinlog's text
of the log ``NAME`` lies there as ``NAME.mysqlbinlog.txt.xz``. The truth of a table is what the
server's own SELECT said at a mark; :class:`Table` says in which form. ``manifest.schema.json`` is
:func:`schema`, written out.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from binlogkit.errors import InputError, UsageError, printable
from binlogkit_fixtures.records import T, from_json, json_schema, to_json

__all__ = [
    "FORMAT_VERSION",
    "MANIFEST",
    "NAMES",
    "BinlogFile",
    "Column",
    "ErrorLine",
    "EventLine",
    "Manifest",
    "MarkPoint",
    "OracleText",
    "Table",
    "Value",
    "WarningLine",
    "file_name",
    "find",
    "find_text",
    "layout",
    "packed",
    "read",
    "read_packed",
    "schema",
    "sha256",
    "write",
    "write_packed",
    "write_schema",
]

FORMAT_VERSION = 1
MANIFEST = "manifest.json"
NAMES = (MANIFEST, f"{MANIFEST}.xz")
MAX_TEXT = 64 << 20  # bytes that one manifest or text may hold when unpacked

_FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
_SHA256 = re.compile(r"[0-9a-f]{64}")

Value = str | int | float | None


def file_name(name: str) -> str:
    """``name`` when it names a file of the manifest's own folder.

    ValueError: a separator, a leading dot, an odd character, too long (names in
    manifests cannot leave the folder).
    """
    if not _FILE_NAME.fullmatch(name):
        raise ValueError(f"'{printable(name)}' does not name a file of the manifest's folder")
    return name


def _digest(text: str) -> None:
    if not _SHA256.fullmatch(text):
        raise ValueError(f"'{printable(text)}' is not a SHA-256")


@dataclass(frozen=True, slots=True)
class BinlogFile:
    """A binlog of the folder: size in bytes, SHA-256 in lower-case hexadecimal."""

    name: str
    size: int
    sha256: str

    def __post_init__(self) -> None:
        file_name(self.name)
        _digest(self.sha256)


@dataclass(frozen=True, slots=True)
class OracleText:
    """mysqlbinlog's text of one binlog: xz file in the folder, SHA-256 of the unpacked text.

    ``exit_status`` and ``stderr`` (its beginning): how the program ended; where the status is not
    0 the text is what it printed before it gave up.
    """

    binlog: str
    name: str
    sha256: str
    exit_status: int
    stderr: str

    def __post_init__(self) -> None:
        file_name(self.binlog)
        file_name(self.name)
        _digest(self.sha256)


@dataclass(frozen=True, slots=True)
class EventLine:
    """A row of SHOW BINLOG EVENTS, or SHOW RELAYLOG EVENTS: there ``end_pos`` is the source's."""

    file: str
    pos: int
    type: str
    server_id: int
    end_pos: int
    info: str


@dataclass(frozen=True, slots=True)
class Column:
    """A column as information_schema.columns describes it.

    ``type``: COLUMN_TYPE; ``generated``: ``virtual``, ``stored`` or null.
    """

    name: str
    type: str
    charset: str | None
    collation: str | None
    nullable: bool
    generated: str | None
    invisible: bool


@dataclass(frozen=True, slots=True)
class Table:
    """A table at a mark: ``create`` is SHOW CREATE TABLE, ``rows`` hold values in column order.

    Rows come by primary key, else as the server's scan gives them. Values as the server wrote
    them: integers, YEAR and BIT as integers; FLOAT as the double of its 4 bytes (round both sides
    to 32 bits to compare), DOUBLE as number; DECIMAL as string with its scale, without zero fill;
    DATE, TIME, DATETIME and TIMESTAMP (UTC) as the server's text; text, ENUM and SET as string
    converted by the server; BINARY, VARBINARY, BLOB and GEOMETRY (SRID + WKB) as 0x and upper-case
    hexadecimal; JSON as the server's text; SQL NULL as null.
    """

    columns: tuple[Column, ...]
    primary_key: tuple[str, ...]
    engine: str
    create: str
    rows: tuple[tuple[Value, ...], ...]

    def records(self) -> list[dict[str, Value]]:
        """The rows as ``{column: value}``."""
        names = [column.name for column in self.columns]
        return [dict(zip(names, row, strict=True)) for row in self.rows]


@dataclass(frozen=True, slots=True)
class MarkPoint:
    """Where log and tables stood at a mark.

    ``file`` and ``pos``: the log's end there; ``unix_time``: the story's clock, which the events'
    timestamps follow (seconds); ``commit_clock``: the server's own clock, which commit timestamps
    follow (microseconds); ``tables`` by ``db.table``; ``prepared``: XA RECOVER's identifiers;
    ``gtid_retrieved``: of relay logs, the GTIDs that the replica says it has received.
    """

    name: str
    file: str
    pos: int
    gtid_executed: str
    unix_time: int
    commit_clock: int
    prepared: tuple[str, ...]
    tables: Mapping[str, Table]
    gtid_retrieved: str | None = None


@dataclass(frozen=True, slots=True)
class ErrorLine:
    """An error that the story expected and the server gave; ``step``: number in the scenario."""

    step: int
    session: str
    sql: str
    code: int
    message: str


@dataclass(frozen=True, slots=True)
class WarningLine:
    """A warning or note of a statement that succeeded."""

    step: int
    level: str
    code: int
    message: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """All that is known of the binlogs of one scenario in one cell.

    ``clock``: ``story`` where the server's own clock followed the story's, ``real`` where only the
    events' timestamps did; ``ending``: how the last log ends: ``rotate``, ``stop`` (its STOP came
    too late to be listed in ``events``) or ``kill``; ``settings``: the server's variables that
    bear on the log; ``mysqlbinlog``: version of the program that made ``texts``, null when there
    was none; ``not_run``: numbers of the steps that this cell leaves out; ``server``: whose logs
    these are, in a story of several servers, else empty; ``relay``: they are its relay logs.
    """

    format_version: int
    scenario: str
    story: str
    cell: str
    server_version: str
    runner: str
    clock: str
    ending: str
    settings: Mapping[str, str]
    binlogs: tuple[BinlogFile, ...]
    mysqlbinlog: str | None
    texts: tuple[OracleText, ...]
    not_run: tuple[int, ...]
    errors: tuple[ErrorLine, ...]
    warnings: tuple[WarningLine, ...]
    marks: tuple[MarkPoint, ...]
    events: tuple[EventLine, ...]
    server: str = ""
    relay: bool = False

    def __post_init__(self) -> None:
        if self.format_version != FORMAT_VERSION:
            raise ValueError(f"format version {self.format_version} is not {FORMAT_VERSION}")
        file_name(self.scenario)
        file_name(self.cell)
        names = [f.name for f in self.binlogs] + [text.name for text in self.texts]
        if len({name.lower() for name in names}) != len(names):
            raise ValueError("two files have names that differ in case at most")

    def mark(self, name: str) -> MarkPoint:
        """The mark of that name. UsageError: there is none."""
        for mark in self.marks:
            if mark.name == name:
                return mark
        known = ", ".join(mark.name for mark in self.marks)
        raise UsageError(f"{self.cell}/{self.scenario} has no mark '{name}'; it has {known}")


def schema() -> dict[str, Any]:
    """The JSON Schema of the manifest."""
    return json_schema(Manifest, "binlogkit fixture manifest")


def write_schema() -> Path:
    """Write the schema to ``manifest.schema.json`` beside this module, where it is shipped."""
    path = Path(__file__).with_name("manifest.schema.json")
    text = json.dumps(schema(), indent=2, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8", newline="\n")
    return path


def sha256(data: bytes) -> str:
    """SHA-256 in lower-case hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def write(manifest: Manifest, folder: Path, *, compress: bool = False) -> Path:
    """Write the manifest into ``folder``, one line per top-level item of its long lists.

    ``compress``: as ``manifest.json.xz``; the same manifest gives the same bytes.
    """
    text = layout(to_json(manifest))
    if compress:
        return write_packed(folder / f"{MANIFEST}.xz", text.encode("utf-8"))
    path = folder / MANIFEST
    path.write_text(text, encoding="utf-8", newline="\n")
    return path


def packed(data: bytes) -> bytes:
    """``data`` as an xz file, which holds neither a time nor a name.

    xz rather than gzip: its window is greater than what repeats from mark to mark, and a manifest
    of the ``types`` scenario is a third of the size.
    """
    return lzma.compress(data, preset=9 | lzma.PRESET_EXTREME)


def write_packed(path: Path, data: bytes) -> Path:
    """Write ``data`` as ``packed`` has it."""
    path.write_bytes(packed(data))
    return path


def layout(record: dict[str, Any]) -> str:
    """JSON with one line for each entry of a top-level list: readable, and small to diff."""
    lines = []
    for key, value in record.items():
        if isinstance(value, list) and value:
            items = ",\n  ".join(json.dumps(v, ensure_ascii=False) for v in value)
            lines.append(f"{json.dumps(key)}: [\n  {items}\n ]")
        else:
            lines.append(f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}")
    return "{\n " + ",\n ".join(lines) + "\n}\n"


def find(folder: Path) -> Path | None:
    """The manifest's file in ``folder``, packed or not, or None."""
    for path in (folder / name for name in NAMES):
        if path.is_file():
            return path
    return None


def read_packed(path: Path) -> bytes:
    """The bytes of a file, unpacked when its name ends in ``.xz``.

    InputError: not readable, not xz, or more than MAX_TEXT bytes.
    """
    try:
        with lzma.open(path) if path.suffix == ".xz" else path.open("rb") as stream:
            data = stream.read(MAX_TEXT + 1)
    except (OSError, EOFError, lzma.LZMAError) as exc:
        raise InputError(str(path), f"unreadable: {exc}") from exc
    if len(data) > MAX_TEXT:
        raise InputError(str(path), f"more than {MAX_TEXT} bytes of text")
    return data


def find_text(folder: Path, name: str) -> Path:
    """Where a file that the manifest calls ``NAME.xz`` lies: packed, or unpacked as in an archive
    (``expected/archive.py``)."""
    plain = folder / name.removesuffix(".xz")
    return plain if plain.is_file() else folder / name


def read_record(kind: type[T], path: Path, what: str) -> T:
    """The record in a JSON file, as :func:`read_packed`. InputError: it is not ``what``."""
    try:
        return from_json(kind, json.loads(read_packed(path)))
    except (ValueError, RecursionError) as exc:
        raise InputError(str(path), f"not {what}: {exc}") from exc


def read(path: Path) -> Manifest:
    """The manifest in a file or folder.

    InputError: none there, or not a manifest; the message names the place in it.
    """
    found = find(path) if path.is_dir() else path
    if found is None:
        raise InputError(str(path), "no manifest.json in this folder")
    return read_record(Manifest, found, "a fixture manifest")
