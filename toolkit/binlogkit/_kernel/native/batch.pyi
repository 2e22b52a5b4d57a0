from typing import Self, final

from typing_extensions import Buffer

from binlogkit._kernel.native.builder import TableBuilder
from binlogkit._kernel.native.index import Index
from binlogkit._kernel.native.scan import Scanner

@final
class RowsPass:
    inner: int
    def __new__(
        cls,
        scanner: Scanner,
        index: Index,
        data: Buffer,
        origin: int,
        seq: int = 0,
        spots: Buffer | None = None,
        wanted: bytes = b"",
    ) -> Self: ...
    @property
    def scanner(self) -> Scanner: ...
    @property
    def index(self) -> Index: ...
    @property
    def origin(self) -> int: ...
    @property
    def seq(self) -> int: ...
    @property
    def entry(self) -> int: ...
    def run(
        self, builders: list[TableBuilder | None], last: int = -1
    ) -> tuple[int] | tuple[int, int, int, int, int, int] | None: ...
