from typing import Final

from typing_extensions import Buffer

CHANGED: Final[int]
APPEARED: Final[int]
MADE_AGAIN: Final[int]
LACKING: Final[int]

def take_changes(
    memory: Buffer,
    tally: Buffer,
    before: Buffer,
    after: Buffer,
    start: int,
    complete: bool,
    equal: bool,
) -> tuple[int, list[tuple[int, int, int]]]: ...
def doubt(memory: Buffer, tally: Buffer, digests: Buffer, start: int) -> int: ...
def move(memory: Buffer, into: Buffer, tally: Buffer, keep_gone: bool) -> None: ...
