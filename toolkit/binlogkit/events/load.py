"""LOAD DATA as servers before 5.0.3 logged it: LOAD, NEW_LOAD and CREATE_FILE events.

Post-header (server's sources up to 5.7, ``Load_event``): ``thread_id:4 exec_time:4 skip_lines:4
table_length:1 db_length:1 field_count:4``, in CREATE_FILE also ``file_id:4``. Then how the file is
read: LOAD_EVENT (3.23) has ``terminated:1 enclosed:1 lines_terminated:1 lines_starting:1 escaped:1
options:1 empty:1``, a bit of ``empty`` for each of the five that is no character at all; the others
(4.0+) have five strings after their length bytes and ``options:1``. Then ``field_length:1`` per
field, the fields' names, ``table``, ``db`` and the file's name, each with a NUL; what is left of
CREATE_FILE is the file's first block. EXEC_LOAD_EVENT and DELETE_FILE_EVENT say what becomes of it.
"""

from __future__ import annotations

from dataclasses import dataclass

from binlogkit._kernel.cursor import Cursor, decoded
from binlogkit.constants import EventType
from binlogkit.events.base import ParseContext, ended_text, hidden, reads
from binlogkit.sources.raw import RawEvent

_STRINGS = ("terminated", "enclosed", "lines_terminated", "lines_starting", "escaped")
_OPTIONS = {1: "dumpfile", 2: "opt_enclosed", 4: "replace", 8: "ignore"}


@dataclass(frozen=True, slots=True)
class Load:
    """LOAD DATA of a file that the log does not hold (LOAD_EVENT, NEW_LOAD_EVENT).

    ``options``: names of the set bits of ``opt_flags``, bits without a name as numbers; strings as
    stored; ``fields``: the columns that were named; ``characters``: LOAD_EVENT's five, also those
    that ``empty`` says are none.
    """

    thread_id: int
    exec_time: int
    skip_lines: int
    db: str
    table: str
    fields: tuple[str, ...]
    file_name: str
    terminated: bytes
    enclosed: bytes
    lines_terminated: bytes
    lines_starting: bytes
    escaped: bytes
    options: tuple[str | int, ...]
    characters: bytes = hidden(b"")

    @property
    def query(self) -> str:
        """The statement in short."""
        return f"LOAD DATA INFILE '{self.file_name}' INTO TABLE {self.table}"


@dataclass(frozen=True, slots=True)
class CreateFile:
    """LOAD DATA whose file is in the log: ``data`` is its first block, others follow."""

    load: Load
    file_id: int
    data: bytes


@dataclass(frozen=True, slots=True)
class ExecLoad:
    """EXEC_LOAD_EVENT: the LOAD DATA of ``file_id`` was done."""

    file_id: int


@dataclass(frozen=True, slots=True)
class DeleteFile:
    """DELETE_FILE_EVENT: the LOAD DATA of ``file_id`` failed."""

    file_id: int


def _old_strings(cursor: Cursor) -> tuple[list[bytes], int, bytes]:
    characters = [cursor.read(1, name) for name in _STRINGS]
    options = cursor.uint(1, "options")
    empty = cursor.uint(1, "empty")
    strings = [b"" if empty >> i & 1 else c for i, c in enumerate(characters)]
    return strings, options, b"".join(characters)


def _new_strings(cursor: Cursor) -> tuple[list[bytes], int, bytes]:
    strings = [cursor.read(cursor.uint(1, f"{name}_length"), name) for name in _STRINGS]
    return strings, cursor.uint(1, "options"), b""


def _load(cursor: Cursor, code: int, context: ParseContext) -> tuple[Load, int | None]:
    thread_id, exec_time = cursor.uint(4, "thread_id"), cursor.uint(4, "exec_time")
    skip_lines = cursor.uint(4, "skip_lines")
    table_length, db_length = cursor.uint(1, "table_length"), cursor.uint(1, "db_length")
    count = cursor.uint(4, "field_count")
    file_id = cursor.uint(4, "file_id") if code == EventType.CREATE_FILE_EVENT else None
    old = code == EventType.LOAD_EVENT
    context.end_post_header(cursor, code)
    strings, options, characters = _old_strings(cursor) if old else _new_strings(cursor)
    lengths = cursor.read(count, "field_lengths")
    fields = tuple(ended_text(cursor, length, "field") for length in lengths)
    table, db = ended_text(cursor, table_length, "table"), ended_text(cursor, db_length, "db")
    if file_id is None:
        stored = cursor.rest("file_name")
        name = decoded(stored, shown=stored.removesuffix(b"\0"))
    else:
        name = decoded(cursor.c_string("file_name"))
    terminated, enclosed, lines, starting, escaped = strings
    names = tuple(_OPTIONS.get(bit, bit) for bit in (1 << i for i in range(8)) if options & bit)
    load = Load(
        thread_id, exec_time, skip_lines, db, table, fields, name, terminated, enclosed, lines,
        starting, escaped, names, characters,
    )  # fmt: skip
    return load, file_id


@reads(EventType.LOAD_EVENT, EventType.NEW_LOAD_EVENT)
def _load_event(cursor: Cursor, raw: RawEvent, context: ParseContext) -> Load:
    return _load(cursor, raw.header.type_code, context)[0]


@reads(EventType.CREATE_FILE_EVENT)
def _create_file(cursor: Cursor, raw: RawEvent, context: ParseContext) -> CreateFile:
    load, file_id = _load(cursor, raw.header.type_code, context)
    assert file_id is not None
    return CreateFile(load, file_id, cursor.rest("data"))


@reads(EventType.EXEC_LOAD_EVENT)
def _exec_load(cursor: Cursor, raw: RawEvent, context: ParseContext) -> ExecLoad:
    return ExecLoad(cursor.uint(4, "file_id"))


@reads(EventType.DELETE_FILE_EVENT)
def _delete_file(cursor: Cursor, raw: RawEvent, context: ParseContext) -> DeleteFile:
    return DeleteFile(cursor.uint(4, "file_id"))
