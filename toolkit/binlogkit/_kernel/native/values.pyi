from typing import final

@final
class Block:
    @property
    def size(self) -> int: ...
    @property
    def address(self) -> int: ...
