"""What allocators keep of freed memory, given back to the system."""

from __future__ import annotations

import ctypes
import sys

import pyarrow as pa


def give_back() -> None:
    """Give back what was freed: as much again as the rows after they were read, and several times
    as much after large steps."""
    pa.default_memory_pool().release_unused()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:  # glibc's
            trim(0)
