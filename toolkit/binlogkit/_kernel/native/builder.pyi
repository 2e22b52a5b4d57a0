from collections.abc import Sequence
from typing import Any, Self, TypeAlias, final

from binlogkit._kernel.native.runs import Runs
from binlogkit._kernel.native.values import Block

# nulls, validity, offsets, data
_Taken: TypeAlias = tuple[int, Block | None, Block | None, Block]

@final
class TableBuilder:
    def __new__(
        cls, plan: Any, columns: Sequence[tuple[object, ...]], max_rows: int, max_bytes: int
    ) -> Self: ...
    @property
    def plan(self) -> Any: ...
    @property
    def rows(self) -> int: ...
    @property
    def first_tx(self) -> int: ...
    def take(
        self,
    ) -> tuple[
        int,
        Runs,
        tuple[list[_Taken | None], list[_Taken | None]],
        list[_Taken | None],
        list[_Taken | None],
        list[tuple[int, int, int, int, int, int]],
        bytes,
    ]: ...
