"""Compressed carriers: gzip, zstd, bzip2 and xz, recognised by their first bytes, read as streams.

A stream is unpacked piece by piece: what it expands to is never held, and what is whole of a cut
one is given before its damage is reported, unlike the libraries' own readers.
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, cast

from binlogkit.errors import DamageError
from binlogkit.limits import limit, limit_error
from binlogkit.sources.layers import Pieces

_GZIP_WINDOW = 31  # zlib's number for a gzip header and the largest window
_CHUNK = 1 << 14
_ZSTD_CHUNK = 1 << 10  # expands to 32 MB at most: a block of 4 bytes can stand for 128 KiB
_PIECE = 1 << 20


def _zstd() -> Any:
    from zstandard import ZstdDecompressor

    return ZstdDecompressor(max_window_size=limit("WINDOW")).decompressobj()


#: By the first bytes of a stream: what unpacks one frame of it, and how many bytes it is given.
_PACKINGS: dict[bytes, tuple[Callable[[], Any], int]] = {
    b"\x1f\x8b": (lambda: zlib.decompressobj(wbits=_GZIP_WINDOW), _CHUNK),
    b"\x28\xb5\x2f\xfd": (_zstd, _ZSTD_CHUNK),
    b"BZh": (bz2.BZ2Decompressor, _CHUNK),
    b"\xfd7zXZ\0": (lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, limit("WINDOW")), _CHUNK),
}
MAGIC_LENGTH = max(map(len, _PACKINGS))


def is_packed(head: bytes) -> bool:
    """Whether a stream that begins so (6 bytes) is a compressed one."""
    return any(head.startswith(magic) for magic in _PACKINGS)


def unpack(file: BinaryIO, name: str, head: bytes) -> BinaryIO:
    """The bytes of a compressed stream that begins with ``head``; closing it closes ``file``."""
    frame, chunk = next(p for magic, p in _PACKINGS.items() if head.startswith(magic))
    return cast(BinaryIO, Pieces(file, _plain(file, name, frame, chunk)))


def _plain(file: BinaryIO, name: str, new_frame: Callable[[], Any], chunk: int) -> Iterator[bytes]:
    """A compressed stream's bytes, frame after frame; damage says how many came before it."""
    from zstandard import ZstdError

    frame, begun, given = new_frame(), False, 0
    most = () if chunk == _ZSTD_CHUNK else (_PIECE,)
    try:
        while True:
            packed = b""
            if frame.eof:
                packed, frame, begun = frame.unused_data, new_frame(), False
            tail = getattr(frame, "unconsumed_tail", b"")  # zlib's
            wants = getattr(frame, "needs_input", not tail)
            if not packed and (wants or not begun):
                packed = file.read(chunk)
                if not packed and begun:
                    raise EOFError("the compressed stream ends inside a frame")
                if not packed:
                    return
            begun = True
            plain = frame.decompress(tail + packed, *most)
            yield plain
            given += len(plain)
    except (zlib.error, ZstdError, lzma.LZMAError, OSError, EOFError) as exc:
        reason = str(exc)
        if "too much memory" in reason or "Memory usage limit" in reason:
            raise limit_error(name, "WINDOW", "its compression wants more memory") from exc
        raise DamageError(name, given, f"its compression is damaged: {reason}") from exc
