"""Work that commands skip at their start although they use Arrow."""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import PurePath

_POOL = "ARROW_DEFAULT_MEMORY_POOL"

_alone = False  # whether nothing but one command runs in this process


def process_is_ours() -> None:
    """Say that this process runs one command and ends with it."""
    global _alone
    _alone = True


def is_ours() -> bool:
    """Whether that was said."""
    return _alone


class _Without:
    """Of ``sys.meta_path``: these packages are not there."""

    def __init__(self, *names: str) -> None:
        self._names = names

    def find_spec(self, name: str, *_: object) -> None:
        if name in self._names:
            raise ImportError(name)


@contextmanager
def _without(*names: str) -> Iterator[None]:
    hidden = _Without(*names)
    sys.meta_path.insert(0, hidden)
    try:
        yield
    finally:
        sys.meta_path.remove(hidden)


def arrow_without_pandas() -> None:
    """Load pyarrow, and let it find no pandas (pyarrow 26.0, ``pandas-shim.pxi``).

    It loads pandas, which takes longer than a log of some size, when it first makes an array of
    Python's values, only to see whether they are pandas'. A command's never are. ``to_pandas``
    and reading pandas frames do not depend on it. A process that continues after the command is
    left as it is: pyarrow asks only once, and would never again know what is pandas'.
    """
    if not _alone or "pandas" in sys.modules:
        return
    with _without("pandas"):
        import pyarrow as pa

        pa.array([0])


def spark_of_a_driver(master: str, *, pandas: bool) -> None:
    """Load of PySpark (4.1) what it loads itself when it first gives Java a list, its tools for
    tests, without what these load only to see whether it is there.

    ``pandas``: whether the session needs it later, as for functions over Arrow; tasks of a data
    source do not. A Connect client needs all of it, and workers are processes of their own.
    """
    if not _alone or master.startswith("sc:"):
        return
    with _without("pandas", "grpc", "google.rpc"), suppress(ImportError):  # reported by its user
        import pyspark.testing.utils  # noqa: F401
    if not pandas:
        sys.meta_path.insert(0, _Without("pandas"))


@contextmanager
def interrupts_end() -> Iterator[None]:
    """Let Ctrl-C end a command with the session that is made here as it ends others: PySpark (4.1)
    would cancel jobs first, and py4j log each call that it interrupts."""
    logging.getLogger().addFilter(lambda record: "py4j" not in PurePath(record.pathname).parts)
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    yield
    signal.signal(signal.SIGINT, signal.default_int_handler)


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
