"""What other events say for a statement: its variables, and the file that LOAD DATA read.

INTVAR, RAND and USER_VAR stand before the statement that they are for. LOAD DATA's file stands in
blocks before it: BEGIN_LOAD_QUERY and APPEND_BLOCK before EXECUTE_LOAD_QUERY (5.0.3+), CREATE_FILE
and APPEND_BLOCK before EXEC_LOAD or DELETE_FILE (4.0 to 5.0.2); the file's id joins them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

from binlogkit.constants import EventType
from binlogkit.events.load import CreateFile, DeleteFile, ExecLoad, Load
from binlogkit.events.query import ExecuteLoadQuery, LoadBlock, Query
from binlogkit.events.variables import Intvar, Rand, UserVar

__all__ = ["Joiner", "LoadedFile", "Variable"]

Variable: TypeAlias = Intvar | Rand | UserVar

_STATEMENTS = (Query, ExecuteLoadQuery, Load, CreateFile)
_ENDS = (ExecuteLoadQuery, ExecLoad, DeleteFile)


@dataclass(frozen=True, slots=True)
class LoadedFile:
    """The file of a LOAD DATA, as its log has it.

    ``pos``: of the event with its first block; ``size``: in bytes; ``whole``: False where the
    first block is not in this log.
    """

    file_id: int
    pos: int
    blocks: int
    size: int
    whole: bool


class Joiner:
    """Takes a log's events in order and says what belongs to each."""

    def __init__(self) -> None:
        self._variables: list[Variable] = []
        self._files: dict[int, LoadedFile] = {}

    def take(self, body: object, type_code: int, pos: int) -> tuple[Variable, ...]:
        """The variables of a statement, in their order; () for every other event."""
        if isinstance(body, Variable):
            self._variables.append(body)
        elif isinstance(body, CreateFile):
            self._block(body.file_id, len(body.data), pos, first=True)
        elif isinstance(body, LoadBlock):
            first = type_code == EventType.BEGIN_LOAD_QUERY_EVENT
            self._block(body.file_id, len(body.data), pos, first)
        if not isinstance(body, _STATEMENTS):
            return ()
        found = tuple(self._variables)
        self._variables.clear()
        return found

    def forget_variables(self) -> None:
        """The statement that the variables are for does not come."""
        self._variables.clear()

    def file(self, body: object) -> LoadedFile | None:
        """The file that ends with ``body``: the statement, or the note that it failed."""
        return self._files.pop(body.file_id, None) if isinstance(body, _ENDS) else None

    def _block(self, file_id: int, size: int, pos: int, first: bool) -> None:
        known = None if first else self._files.get(file_id)
        if known is None:
            self._files[file_id] = LoadedFile(file_id, pos, 1, size, first)
        else:
            self._files[file_id] = replace(known, blocks=known.blocks + 1, size=known.size + size)
