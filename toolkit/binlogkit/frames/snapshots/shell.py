r"""A folder of MySQL Shell's dump utilities (dumpInstance, dumpSchemas, dumpTables), read without a
server.

``@.json``: where the dump belongs, its schemas; ``@.done.json``: it was finished; ``SCHEMA.json``:
tables; ``SCHEMA@TABLE.sql``: a table's definition, ``SCHEMA@TABLE.json``: how its rows are written;
``SCHEMA@TABLE[@PARTITION]@N.tsv.zst`` and, the last chunk, ``…@@N.tsv.zst``: the rows, as LOAD DATA
takes them. Beside each ``.idx``, whose last 8 bytes are the size of what is packed. In names
``%XX`` stands for signs; the files of JSON say which is whose (``basenames``).

Sources: ``modules/util/dump`` and ``modules/util/common/dump`` of 8.0.21 to 9.4.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from binlogkit._kernel.charsets import canonical
from binlogkit.constants import TableId
from binlogkit.errors import InputError
from binlogkit.frames.snapshots.coordinates import Coordinates
from binlogkit.frames.snapshots.dump import DumpReader
from binlogkit.frames.snapshots.folder import DumpFolder
from binlogkit.frames.snapshots.inserts import NULL, STRING, Literal
from binlogkit.frames.snapshots.literals import Dialect
from binlogkit.frames.snapshots.snapshot import Snapshot
from binlogkit.frames.snapshots.table_rows import TableRows
from binlogkit.frames.snapshots.values import Misread
from binlogkit.limits import limit, limit_error
from binlogkit.sources.layers import Lookahead

BEGUN, DONE = "@.json", "@.done.json"

_CHUNK = 1 << 20
_ESCAPED = re.compile(rb"\\(.)", re.DOTALL)
_SIGNS = {b"0": b"\0", b"b": b"\b", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"Z": b"\x1a"}


_DECODERS: dict[str, Callable[[bytes], bytes]] = {
    "FROM_BASE64": lambda v: binascii.a2b_base64(v.replace(b"\n", b""), strict_mode=True),
    "UNHEX": lambda v: binascii.unhexlify(v if len(v) % 2 == 0 else b"0" + v),  # HEX of a BIT
}


def read_shell_dump(folder: DumpFolder, wanted: Callable[[TableId], bool]) -> Snapshot:
    """The snapshot of the ``wanted`` tables. Errors: InputError, LimitError, SchemaError."""
    if DONE not in folder.names:
        raise InputError(folder.source, f"the dump was not finished: {DONE} is missing")
    try:
        return _read(folder, wanted)
    except (LookupError, TypeError, ValueError, AttributeError) as exc:
        if isinstance(exc, Misread):
            raise InputError(folder.source, str(exc)) from exc
        why = "its metadata are not as MySQL Shell writes them"
        raise InputError(folder.source, f"{why} ({type(exc).__name__})") from exc


def _read(folder: DumpFolder, wanted: Callable[[TableId], bool]) -> Snapshot:
    begun, done = folder.json(BEGUN), folder.json(DONE)
    if begun.get("consistent") is False or begun.get("gtidExecutedInconsistent") is True:
        raise Misread("it says itself that its tables are not of one moment")
    if begun.get("options", {}).get("partitions"):
        raise Misread("partitions were left out of it")
    reader = DumpReader(wanted)
    offset = 0 if begun.get("tzUtc", True) else None
    for db in begun["schemas"]:
        schema = folder.json(f"{begun['basenames'][db]}.json")
        for table in schema["tables"]:
            base, name = schema["basenames"][table], (str(db), str(table))
            with folder.open(f"{base}.sql") as file:
                head = file.peek(_CHUNK)
                made = reader.script(f"{folder.source}/{base}.sql", file.read, head, name[0])
            if made != [name]:
                raise Misread(f"{base}.sql does not make the table {'.'.join(name)}")
            if name in reader.tables:
                _Rows(folder, base, done, offset).read(reader.tables[name])
    binlog = (begun.get("source") or {}).get("binlog") or {
        "file": begun.get("binlogFile"),
        "position": begun.get("binlogPosition"),
        "gtidExecuted": begun.get("gtidExecuted"),
    }
    coordinates = Coordinates()
    coordinates.add(binlog.get("file"), binlog.get("position"), binlog.get("gtidExecuted"))
    return reader.snapshot(folder.source, coordinates)


@dataclass(frozen=True, slots=True)
class _Format:
    """How rows are written: FIELDS TERMINATED BY, ENCLOSED BY, LINES TERMINATED BY; what decodes
    the columns' values."""

    separator: bytes
    quote: bytes
    end: bytes
    decoders: tuple[Callable[[bytes], bytes] | None, ...]

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> _Format:
        """As a table's ``options`` say; :class:`Misread`: one that the utilities do not write."""
        separator, quote, escape, end = (
            str(options[key]).encode()
            for key in ("fieldsTerminatedBy", "fieldsEnclosedBy", "fieldsEscapedBy",
                        "linesTerminatedBy")
        )  # fmt: skip
        known = separator in (b"\t", b",") and quote in (b"", b'"', b"'") and escape == b"\\"
        if not known or end not in (b"\n", b"\r\n"):
            raise Misread("its rows are written in a dialect that is not read")
        decode = options.get("decodeColumns", {})
        names = options["columns"]
        decoders = tuple(_DECODERS[decode[name]] if name in decode else None for name in names)
        return cls(separator, quote, end, decoders)

    def row(self, line: bytes) -> list[Literal]:
        """The values of a line without its LF."""
        if self.end != b"\n":
            if not line.endswith(b"\r"):
                raise Misread("a line has another end than the others")
            line = line[:-1]
        fields = list(self._fields(line))
        if len(fields) != len(self.decoders):
            raise Misread("a row has another number of values than columns")
        return [self._value(*pair) for pair in zip(fields, self.decoders, strict=True)]

    def _fields(self, line: bytes) -> Iterator[bytes]:
        held: list[bytes] = []  # what ends in a backslash that escapes the separator
        for part in line.split(self.separator):
            held.append(part)
            if (len(part) - len(part.rstrip(b"\\"))) % 2 == 0:
                yield self.separator.join(held)
                held = []
        if held:
            raise Misread("a line ends with a backslash")

    def _value(self, field: bytes, decode: Callable[[bytes], bytes] | None) -> Literal:
        if field == b"\\N":
            return NULL, None
        if self.quote and len(field) > 1 and field[:1] == field[-1:] == self.quote:
            field = field[1:-1]
        if b"\\" in field:
            field = _ESCAPED.sub(lambda found: _SIGNS.get(found[1], found[1]), field)
        try:
            return STRING, field if decode is None else decode(field)
        except ValueError as exc:
            raise Misread("a value is not encoded as its column's are") from exc


class _Rows:
    """A table's files; ``base``: what their names begin with."""

    def __init__(self, folder: DumpFolder, base: str, done: Any, offset: int | None) -> None:
        self._folder, self._base, self._offset = folder, base, offset
        self._about = folder.json(f"{base}.json")
        self._sizes: Mapping[str, int] = done.get("chunkFileBytes", {})

    def read(self, table: TableRows) -> None:
        """Take all of its rows."""
        about = self._about
        if about.get("includesData") is not True or about.get("where"):
            raise Misread(f"rows of {self._base} were left out of it")
        options = about["options"]
        form = _Format.of(options)
        charset = canonical(str(options["defaultCharacterSet"]).lower())
        bases = list(about.get("basenames", {}).values()) or [self._base]
        files = [name for base in bases for name in self._files(base, str(about["extension"]))]
        listed = {name for name in self._sizes if name.startswith(f"{self._base}@")}
        for name in sorted(listed.difference(files)):
            raise Misread(f"the dump is not whole: {name} is missing")
        for name in files:
            with self._folder.open(name) as file:
                lines = _Lines(name, file)
                table.take(map(form.row, lines), options["columns"], Dialect(charset, self._offset))
            if any(size != lines.size for size in self._said(name)):
                raise Misread(f"the dump is not whole: {name} has another size than it should")

    def _files(self, base: str, extension: str) -> Iterator[str]:
        """The whole table's file, or its chunks, of which the last has a name of its own."""
        names = self._folder.names
        whole, i = f"{base}.{extension}", 0
        if whole in names:
            yield whole
            return
        while (name := f"{base}@{i}.{extension}") in names:
            yield name
            i += 1
        yield f"{base}@@{i}.{extension}"

    def _said(self, name: str) -> Iterator[int]:
        """What the dump says of the size of a file's rows."""
        if name in self._sizes:
            yield self._sizes[name]
        index = f"{name}.idx"
        if index in self._folder.names:
            last = b""
            with self._folder.open(index) as file:
                while more := file.read(_CHUNK):
                    last = (last + more)[-8:]
            yield int.from_bytes(last, "big")


class _Lines:
    """The lines of a file without their LF; ``size``: bytes so far. LimitError: a long one."""

    def __init__(self, name: str, file: Lookahead) -> None:
        self._name, self._file = name, file
        self.size = 0

    def __iter__(self) -> Iterator[bytes]:
        most, rest = limit("DUMP_STATEMENT"), b""
        # As much again as was looked at in vain: the work stays linear.
        while more := self._file.read(max(_CHUNK, len(rest))):
            self.size += len(more)
            *lines, rest = (rest + more).split(b"\n")
            yield from lines
            if len(rest) > most:
                raise limit_error(self._name, "DUMP_STATEMENT", f"a row is over {most} bytes")
        if rest:
            raise Misread("it ends inside a row")
