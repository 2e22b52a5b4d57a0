"""Writes LOAD, NEW_LOAD, CREATE_FILE, EXEC_LOAD and DELETE_FILE.

Layouts: ``binlogkit.events.load``; the server's sources 3.23 and 4.0, ``log_event.cc``
(``Load_log_event::write_data``, ``sql_ex_info::write_data``). 3.23's LOAD_EVENT holds one
character per separator; a longer one needs NEW_LOAD_EVENT (4.0).
"""

from __future__ import annotations

from binlogkit.constants import EventType
from binlogkit.events.load import CreateFile, DeleteFile, ExecLoad, Load
from binlogkit_fixtures.writer.base import Target, writes
from binlogkit_fixtures.writer.packer import Packer

__all__: list[str] = []

_STRINGS = ("terminated", "enclosed", "lines_terminated", "lines_starting", "escaped")
_OPTIONS = {"dumpfile": 1, "opt_enclosed": 2, "replace": 4, "ignore": 8}


def _code(packer: Packer, options: tuple[str | int, ...]) -> int:
    code = 0
    for option in options:
        bit = option if isinstance(option, int) else _OPTIONS.get(option)
        if bit is None:
            raise packer.fail("options", f"'{option}' is not known")
        code |= bit
    return code


def _old_strings(packer: Packer, load: Load) -> None:
    empty = 0
    for i, name in enumerate(_STRINGS):
        value: bytes = getattr(load, name)
        if len(value) > 1:
            raise packer.fail(name, f"LOAD_EVENT holds one character of it, not {len(value)}")
        empty |= (not value) << i
        packer.raw(value or load.characters[i : i + 1] or b"\0")
    packer.uint(1, _code(packer, load.options), "options")
    packer.uint(1, empty, "empty")


def _new_strings(packer: Packer, load: Load) -> None:
    for name in _STRINGS:
        packer.sized(1, getattr(load, name), name)
    packer.uint(1, _code(packer, load.options), "options")


def _load(packer: Packer, load: Load, code: int, file_id: int | None = None) -> None:
    table, db = packer.text(load.table), packer.text(load.db)
    packer.uint(4, load.thread_id, "thread_id")
    packer.uint(4, load.exec_time, "exec_time")
    packer.uint(4, load.skip_lines, "skip_lines")
    packer.uint(1, len(table), "table_length")
    packer.uint(1, len(db), "db_length")
    packer.uint(4, len(load.fields), "field_count")
    if file_id is not None:
        packer.uint(4, file_id, "file_id")
    packer.end_post_header()
    (_old_strings if code == EventType.LOAD_EVENT else _new_strings)(packer, load)
    names = [packer.text(name) for name in load.fields]
    for name in names:
        packer.uint(1, len(name), "field_length")
    for name in (*names, table, db):
        packer.raw(name + b"\0")


@writes(Load, EventType.NEW_LOAD_EVENT, EventType.LOAD_EVENT)
def _load_event(packer: Packer, body: Load, target: Target) -> None:
    _load(packer, body, target.type_code)
    packer.raw(packer.text(body.file_name))


@writes(CreateFile, EventType.CREATE_FILE_EVENT)
def _create_file(packer: Packer, body: CreateFile, target: Target) -> None:
    _load(packer, body.load, target.type_code, body.file_id)
    packer.c_string(packer.text(body.load.file_name), "file_name")
    packer.raw(body.data)


@writes(ExecLoad, EventType.EXEC_LOAD_EVENT)
def _exec_load(packer: Packer, body: ExecLoad, target: Target) -> None:
    packer.uint(4, body.file_id, "file_id")
    packer.end_post_header()


@writes(DeleteFile, EventType.DELETE_FILE_EVENT)
def _delete_file(packer: Packer, body: DeleteFile, target: Target) -> None:
    packer.uint(4, body.file_id, "file_id")
    packer.end_post_header()
