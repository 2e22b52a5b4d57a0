"""A log up to an offset at which it ended once: a live one has got more since."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, cast

from binlogkit.errors import InputError
from binlogkit.sources.carriers.carrier import Carrier
from binlogkit.sources.loose_events import LooseEvents
from binlogkit.sources.text.hex_image import HexImage

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["can_seek", "up_to"]


def can_seek(carrier: Carrier) -> bool:
    """Whether a log can be read from any offset on."""
    with carrier.open() as file:
        return not isinstance(file, (LooseEvents, HexImage)) and file.seekable()


def up_to(carrier: Carrier, stop: int) -> Carrier:
    """``carrier`` with the bytes before the offset ``stop`` only; events in a text all the same.

    Reading it ends with an InputError where it is shorter than that.
    """
    return _UpTo(
        carrier.name, carrier.opener, carrier.size, carrier.keys, carrier.location, stop=stop
    )


@dataclass(frozen=True, slots=True)
class _UpTo(Carrier):
    stop: int = 0

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """See :meth:`Carrier.open`."""
        with Carrier.open(self) as file:
            if isinstance(file, (LooseEvents, HexImage)):
                yield file
            else:
                yield cast(BinaryIO, _Part(file, self.name, self.stop))


class _Part(io.RawIOBase):
    """A file's bytes before ``stop``."""

    def __init__(self, file: BinaryIO, name: str, stop: int) -> None:
        self._inner, self._name, self._stop = file, name, stop
        self._at = 0
        # One that only has read() inherits a readinto() that does nothing but raise.
        own = getattr(type(file), "readinto", io.RawIOBase.readinto)
        self._fills = own is not io.RawIOBase.readinto

    def readable(self) -> bool:
        return True

    def readinto(self, room: Buffer) -> int:
        """Into ``room``, without a copy where the file can do that."""
        view = memoryview(room)[: self._stop - self._at]
        if self._fills:
            count = cast(io.RawIOBase, self._inner).readinto(view) or 0
        else:
            data = self._inner.read(len(view))
            count = len(data)
            view[:count] = data
        if not count and len(view):
            reason = f"it has {self._at} bytes, and had {self._stop} when it was looked at"
            raise InputError(self._name, reason)
        self._at += count
        return count

    def seekable(self) -> bool:
        return self._inner.seekable()

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if whence == io.SEEK_END:
            offset, whence = offset + self._stop, io.SEEK_SET
        self._at = self._inner.seek(offset, whence)
        return self._at
