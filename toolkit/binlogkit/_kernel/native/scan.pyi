from typing import Final, Self, final

from typing_extensions import Buffer

from binlogkit._kernel.native.index import Index, Transactions
from binlogkit._kernel.native.table_maps import TableMaps

STOPS: Final[dict[int, str]]

@final
class Scanner:
    header_length: int
    checksums: bool
    format_checksum: bool
    verify: bool
    positions: bool
    most_events: int
    variables: bool
    in_statement: bool
    table_id_width: int
    outer_pos: int
    outer_end: int
    def __new__(cls, number: int = 0) -> Self: ...
    @property
    def maps(self) -> TableMaps: ...
    @property
    def transactions(self) -> Transactions: ...
    @property
    def offset(self) -> int: ...
    @property
    def computed(self) -> int: ...
    @property
    def stored(self) -> int: ...
    @property
    def open_transaction(self) -> tuple[bool, bool] | None: ...
    def scan(
        self,
        index: Index,
        data: Buffer,
        start: int,
        end: int,
        origin: int,
        take_format: bool = False,
        spots: Buffer | None = None,
    ) -> str: ...
    def know_status(self, block: bytes) -> None: ...
    def settle(
        self,
        index: Index,
        origin: int,
        start: bool = False,
        join: bool = True,
        explicit: bool = False,
        thread_id: int = -1,
        tagged: bool = False,
        ends: bool = False,
        outcome: int = 0,
        spots: Buffer | None = None,
        length: int = -1,
        xid: int | None = None,
        compressed: bool = False,
    ) -> int: ...
    def lost(self) -> None: ...
    def finish(self) -> None: ...
