"""What the bytes of a column of texts hold, seen all at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["bytes_of", "holds_controls", "holds_quotes", "is_plain"]


def bytes_of(texts: pa.StringArray) -> npt.NDArray[np.uint8]:
    """The UTF-8 of all texts, one behind the other, with what stands under a null."""
    _, offsets, data = texts.buffers()
    whole = np.frombuffer(b"" if data is None else data, np.uint8)
    if not len(texts):
        return whole[:0]
    ends = np.frombuffer(offsets, np.int32)
    return whole[ends[texts.offset] : ends[texts.offset + len(texts)]]


def is_plain(texts: pa.StringArray) -> bool:
    """Whether there is nothing but printable ASCII."""
    first, last = np.uint8(ord(" ")), np.uint8(ord("~"))
    return not ((bytes_of(texts) - first) > last - first).any()


def holds_controls(texts: pa.StringArray) -> bool:
    """Whether there are characters that JSON must escape by number (RFC 8259, section 7)."""
    return bool((bytes_of(texts) < ord(" ")).any())


def holds_quotes(texts: pa.StringArray) -> bool:
    """Whether there are quotation marks or backslashes."""
    data = bytes_of(texts)
    return bool((data == ord('"')).any() or (data == ord("\\")).any())
