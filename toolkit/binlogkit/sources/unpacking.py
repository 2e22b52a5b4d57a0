"""Compressed carriers: gzip, zstd, bzip2 and xz, told by their first bytes, read as streams.

A stream is unpacked piece by piece: what it expands to is never held, and what is whole of a cut
one is given before its damage is told, unlike the libraries' own readers.
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable
from typing import Any, BinaryIO, cast

from binlogkit.errors import DamageError
from binlogkit.limits import limit, limit_error
from binlogkit.sources.layers import Layer

__all__ = ["is_packed", "unpack"]

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
    return cast(BinaryIO, _Unpacked(file, name, frame, chunk))


class _Unpacked(Layer):
    """A compressed stream's bytes, frame after frame.

    Damage in it is raised once, with the number of bytes that were given; behind it is the end.
    """

    def __init__(self, file: BinaryIO, name: str, frame: Callable[[], Any], chunk: int) -> None:
        super().__init__(file)
        self._name = name
        self._new_frame = frame
        self._chunk = chunk
        self._frame = frame()
        self._begun = False
        self._ended = False
        self._plain = b""
        self._offset = 0

    def seekable(self) -> bool:
        return False

    def some(self, size: int) -> bytes:
        while not self._plain and not self._ended:
            self._advance()
        out, self._plain = self._plain[:size], self._plain[size:]
        self._offset += len(out)
        return out

    def _advance(self) -> None:
        from zstandard import ZstdError

        try:
            packed, frame = b"", self._frame
            if frame.eof:
                packed = frame.unused_data
                self._frame, self._begun = self._new_frame(), False
                frame = self._frame
            tail = getattr(frame, "unconsumed_tail", b"")  # zlib's
            wants = getattr(frame, "needs_input", not tail)
            if not packed and (wants or not self._begun):
                packed = self._inner.read(self._chunk)
                if not packed:
                    self._end()
                    return
            self._begun = True
            most = () if self._chunk == _ZSTD_CHUNK else (_PIECE,)
            self._plain = frame.decompress(tail + packed, *most)
        except (zlib.error, ZstdError, lzma.LZMAError, OSError, EOFError) as exc:
            self._ended = True
            raise self._translated(exc) from exc

    def _end(self) -> None:
        self._ended = True
        if self._begun:
            raise EOFError("the compressed stream ends inside a frame")

    def _translated(self, exc: Exception) -> Exception:
        reason = str(exc)
        if "too much memory" in reason or "Memory usage limit" in reason:
            return limit_error(self._name, "WINDOW", "its compression wants more memory")
        return DamageError(self._name, self._offset, f"its compression is damaged: {reason}")
