"""Work that commands skip at their start although they use Arrow."""

from __future__ import annotations

import os
import sys

_POOL = "ARROW_DEFAULT_MEMORY_POOL"

_alone = False  # whether nothing but one command runs in this process


def process_is_ours() -> None:
    """Say that this process runs one command and ends with it."""
    global _alone
    _alone = True


class _NoPandas:
    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        if name == "pandas":
            raise ImportError(name)


def arrow_without_pandas() -> None:
    """Load pyarrow, and let it find no pandas (pyarrow 26.0, ``pandas-shim.pxi``).

    It loads pandas, which takes longer than a log of some size, when it first makes an array of
    Python's values, only to see whether they are pandas'. A command's never are. ``to_pandas``
    and reading pandas frames do not depend on it. A process that continues after the command is
    left as it is: pyarrow asks only once, and would never again know what is pandas'.
    """
    if not _alone or "pandas" in sys.modules:
        return
    sys.meta_path.insert(0, _NoPandas)
    try:
        import pyarrow as pa

        pa.array([0])
    finally:
        sys.meta_path.remove(_NoPandas)


def spark_without_pandas(master: str) -> None:
    """Let PySpark (4.1) find no pandas either: it loads it wherever a list may be one of pandas'
    frames. Its functions over Arrow and its Connect client need pandas, tasks of a data source do
    not, and workers are processes of their own."""
    if _alone and "pandas" not in sys.modules and not master.startswith("sc:"):
        sys.meta_path.insert(0, _NoPandas)


def arrow_of_a_driver() -> None:
    """Load pyarrow with the system's allocator: its own keeps what it freed for threads that may
    never ask again. pyarrow reads the name once; Spark's workers do not inherit it."""
    if not _alone or "pyarrow" in sys.modules or _POOL in os.environ:
        return
    os.environ[_POOL] = "system"
    try:
        import pyarrow as pa

        pa.default_memory_pool()
    finally:
        del os.environ[_POOL]
