from collections.abc import Callable
from typing import Final

from typing_extensions import Buffer

SMALL: Final[int]

def spliced(
    data: Buffer,
    start: int,
    end: int,
    origin: int,
    most_plain: int,
    most_inside: int,
    unpack: Callable[[bytes, int], bytes],
) -> tuple[memoryview, memoryview, memoryview, int, int] | None: ...
