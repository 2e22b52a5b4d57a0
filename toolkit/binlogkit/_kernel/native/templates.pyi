from typing import Final

from typing_extensions import Buffer

from binlogkit._kernel.native.values import Block

END: Final[int]
CONSTANT: Final[int]
UNSIGNED: Final[int]
SIGNED: Final[int]
MOMENT: Final[int]
HEX: Final[int]
TEXT: Final[int]

def filled(data: Buffer, rows: Buffer, steps: Buffer, constants: bytes) -> tuple[Block, Block]: ...
