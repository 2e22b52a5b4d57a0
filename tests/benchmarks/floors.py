"""What any decoder of a log must do at least, in user CPU seconds of one pass over its bytes.

    python tests/benchmarks/floors.py LOG

Prints ``{"memcpy": s, "CRC32": s, "header hop": s}``, of a compressed log ``zstd`` as well: its
payloads unpacked and thrown away. ``header hop`` goes from event to event by their headers and
notes each in an index, without checksums.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import zstandard

from binlogkit._kernel.native.index import ENTRY, Index, crc
from binlogkit._kernel.native.scan import Scanner

_TURNS = 10  # of one the kernel's ticks say little
_HEADER, _QUERY, _PAYLOAD = 19, 2, 40
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


def _events(data: memoryview) -> list[tuple[int, int, int]]:
    """(type, start, end) of each."""
    found, at = [], 4
    while at < len(data):
        size = int.from_bytes(data[at + 9 : at + 13], "little")
        found.append((data[at + 4], at, at + size))
        at += size
    return found


def _copy(data: memoryview) -> Callable[[], None]:
    target = memoryview(bytearray(len(data)))

    def run() -> None:
        target[:] = data

    return run


def _hop(data: memoryview) -> Callable[[], None]:
    def run() -> None:
        scanner, index, at = Scanner(), Index(), 4
        scanner.checksums = scanner.format_checksum = True
        scanner.verify = False
        take, stop = False, ""
        while stop != "end":
            stop = scanner.scan(index, data, at, len(data), 0, take)
            at, take = scanner.offset, stop == "format"
            if stop == "look":
                scanner.settle(index, 0)
                _know(scanner, index, data)

    return run


def _know(scanner: Scanner, index: Index, data: memoryview) -> None:
    """A statement's variables, so that the next BEGIN with them is hopped over."""
    entry = np.frombuffer(index.copied(len(index) - 1), np.dtype(list(ENTRY)))[0]
    if entry["type"] == _QUERY:
        start = int(entry["offset"]) + _HEADER
        length = int.from_bytes(data[start + 11 : start + 13], "little")
        scanner.know_status(bytes(data[start + 13 : start + 13 + length]))


def _unpack(data: memoryview) -> Callable[[], None]:
    payloads = []
    for code, start, end in _events(data):
        if code == _PAYLOAD:
            body = bytes(data[start + _HEADER : end])
            payloads.append(body[body.index(_ZSTD_MAGIC) :])

    def run() -> None:
        for payload in payloads:
            unpacking = zstandard.ZstdDecompressor().decompressobj()
            for at in range(0, len(payload), 1 << 16):
                unpacking.decompress(payload[at : at + (1 << 16)])

    return run


def _taken(run: Callable[[], object]) -> float:
    run()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    for _ in range(_TURNS):
        run()
    return (resource.getrusage(resource.RUSAGE_SELF).ru_utime - before) / _TURNS


def main() -> None:
    """Measure the log that the command line names."""
    data = memoryview(Path(sys.argv[1]).read_bytes())
    floors = {
        "memcpy": _taken(_copy(data)),
        "CRC32": _taken(lambda: crc(data)),
        "header hop": _taken(_hop(data)),
    }
    if any(code == _PAYLOAD for code, _, _ in _events(data)):
        floors["zstd"] = _taken(_unpack(data))
    print(json.dumps(floors))


if __name__ == "__main__":
    main()
