"""A folder of mydumper's, read without a server.

``metadata`` says that the dump was finished, and where it belongs; ``DB-schema-create.sql`` makes
a database, ``DB.TABLE-schema.sql`` a table, ``DB.TABLE[.CHUNK[.PART]].sql`` holds its rows as
INSERTs; each may be packed. Up to 0.13 names are as they are, and how many rows a table has is said
nowhere; later ``DB`` and ``TABLE`` are ``mydumper_N`` for names that no file should have, and
``metadata``, now sections of an ini file, have the number of rows.

Sources: 0.10.1 as it runs; its ``docs/files.rst``, and ``write_snapshot_info`` and
``print_dbt_on_metadata_gstring`` of later ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from binlogkit.constants import TableId
from binlogkit.errors import InputError
from binlogkit.frames.snapshots.coordinates import Coordinates
from binlogkit.frames.snapshots.dump import DumpReader
from binlogkit.frames.snapshots.folder import DumpFolder
from binlogkit.frames.snapshots.snapshot import Snapshot

METADATA = "metadata"
PARTIAL = "metadata.partial"  # until the dump is finished

_PACKED = r"\.sql(?:\.\w+)?"
_DATABASE, _TABLE, _VIEW = (
    re.compile(rf"(.+)-schema{kind}{_PACKED}", re.DOTALL) for kind in ("-create", "", "-view")
)
_ROWS = re.compile(rf"(.+?)(\.\d+)?(\.\d+)?{_PACKED}", re.DOTALL)

_SECTION = re.compile(r"\[.*\]|SHOW .*:")
_OF_TABLE = re.compile(r"\[([`\"])(.+)\1\.\1(.+)\1\]")
_OF_SERVER = frozenset({"SHOW MASTER STATUS:", "[master]", "[source]"})
_ENTRY = re.compile(r"(?:#\s*)?(\w+)\s*[:=]\s*\"?([^\"]*?)\"?")
_FINISHED = re.compile(r"(?:#\s*)?Finished dump at:")
_MEANS = {
    "log": "file", "file": "file", "source_log_file": "file",
    "pos": "pos", "position": "pos", "source_log_pos": "pos",
    "gtid": "gtids", "executed_gtid_set": "gtids",
}  # fmt: skip

_NO_ROWS = "The dump holds no rows of the table: it was empty, or they were not dumped."
_NO_CHUNK = "A chunk of the table's rows is not there: it was empty, or it is lost."


@dataclass(slots=True)
class _Metadata:
    coordinates: Coordinates = field(default_factory=Coordinates)
    finished: bool = False
    rows: dict[str, int] = field(default_factory=dict)  # by DB.TABLE


def _metadata_in(text: str) -> _Metadata:
    found, section = _Metadata(), ""
    server: dict[str, str] = {}
    for line in map(str.strip, text.splitlines()):
        entry = _ENTRY.fullmatch(line)
        if _SECTION.fullmatch(line):
            section = line
        elif not line and section.startswith("SHOW"):
            section = ""
        elif _FINISHED.match(line):
            found.finished = True
        elif entry is not None:
            key, value = entry[1].lower(), entry[2]
            if section in _OF_SERVER and key in _MEANS:
                server[_MEANS[key]] = value
            elif key == "rows" and (table := _OF_TABLE.fullmatch(section)) and value.isdecimal():
                found.rows[f"{table[2]}.{table[3]}"] = int(value)
    found.coordinates.add(*map(server.get, ("file", "pos", "gtids")))
    return found


def read_mydumper(folder: DumpFolder, wanted: Callable[[TableId], bool]) -> Snapshot:
    """The snapshot of the ``wanted`` tables. Errors: InputError, LimitError, SchemaError."""
    metadata = _Metadata() if PARTIAL in folder.names else _metadata_in(folder.text(METADATA))
    if not metadata.finished:
        raise InputError(folder.source, "the dump was not finished: its metadata do not say so")
    reader = DumpReader(wanted)
    tables = _definitions(folder, reader)
    chunks = _rows(folder, reader, tables)
    for stem, name in tables.items():
        rows = reader.tables.get(name)
        if rows is None:
            continue
        said = metadata.rows.get(stem, metadata.rows.get(".".join(name)))
        if said is not None and said != rows.count:
            reason = f"{'.'.join(name)} has {rows.count} rows in it, and {said} by its metadata"
            raise InputError(folder.source, f"the dump is not whole: {reason}")
        numbers = chunks.get(stem, set())
        if not rows.count and not (said is not None and any(metadata.rows.values())):
            rows.doubts.append(_NO_ROWS)
        elif said is None and numbers and numbers != set(range(min(numbers), max(numbers) + 1)):
            rows.doubts.append(_NO_CHUNK)
    return reader.snapshot(folder.source, metadata.coordinates)


def _definitions(folder: DumpFolder, reader: DumpReader) -> dict[str, TableId]:
    """The tables by what their files' names begin with."""
    databases: dict[str, str] = {}
    names = sorted(folder.names)
    for name in names:
        if found := _DATABASE.fullmatch(name):
            before = set(reader.catalog.databases)
            _read(folder, reader, name, None)
            databases.update((found[1], db) for db in reader.catalog.databases if db not in before)
    views = {found[1] for name in names if (found := _VIEW.fullmatch(name))}
    tables: dict[str, TableId] = {}
    for name in names:
        found = _TABLE.fullmatch(name)
        if found is None or found[1] in views:  # a table in place of a view
            continue
        parts = found[1].split(".")
        begins = [".".join(parts[:i]) for i in range(1, len(parts))]
        dbs = {databases[part] for part in begins if part in databases} or set(begins)
        if len(dbs) != 1:
            raise InputError(folder.source, f"{name}: its name does not say which database")
        tables.update((found[1], made) for made in _read(folder, reader, name, dbs.pop()))
    return tables


def _rows(
    folder: DumpFolder, reader: DumpReader, tables: dict[str, TableId]
) -> dict[str, set[int]]:
    """Read the wanted tables' rows; the numbers of their chunks."""
    chunks: dict[str, set[int]] = {}
    for name in sorted(folder.names):
        found = _ROWS.fullmatch(name)
        if found is None or _TABLE.fullmatch(name):
            continue
        parts = found[1], found[2] or "", found[3] or ""
        # A table's name may end like a chunk's number: the INSERTs say whose rows they are.
        whole = "".join(parts)
        stems = [s for s in dict.fromkeys((whole, "".join(parts[:2]), parts[0])) if s in tables]
        if any(tables[stem] in reader.tables for stem in stems):
            if len({tables[stem][0] for stem in stems}) != 1:
                raise InputError(folder.source, f"{name}: its name does not say which database")
            _read(folder, reader, name, tables[stems[0]][0])
        if len(stems) == 1 and (number := whole[len(stems[0]) + 1 :]):
            chunks.setdefault(stems[0], set()).add(int(number.partition(".")[0]))
    return chunks


def _read(folder: DumpFolder, reader: DumpReader, name: str, db: str | None) -> list[TableId]:
    with folder.open(name) as file:
        return reader.script(f"{folder.source}/{name}", file.read, b"", db)
