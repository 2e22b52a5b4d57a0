"""Whether a worker's Python has binlogkit.

A worker's Python without binlogkit cannot load anything of this package, not even an error. So the
error is raised by local functions, which cloudpickle ships by value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Needed:
    """Shipped ahead of what needs binlogkit; raises ModuleNotFoundError with a message if it is
    missing."""

    def __reduce__(self) -> tuple[Callable[[], None], tuple[()]]:
        return installed_check(), ()


def shipped(kind: Callable[..., Any], *args: Any) -> tuple[Any, ...]:
    """What ``__reduce__`` gives for an object of ``kind`` that a worker makes of ``args``."""

    def made(_: None, kind: Callable[..., Any], *args: Any) -> Any:
        return kind(*args)

    return made, (Needed(), kind, *args)


def installed_check() -> Callable[[], None]:
    """A function that raises ModuleNotFoundError, with a message, if binlogkit is not installed."""

    def check() -> None:
        import importlib.util
        import platform
        import sys

        if importlib.util.find_spec("binlogkit") is None:
            raise ModuleNotFoundError(
                f"binlogkit is not installed for {sys.executable}, the Python of Spark's workers "
                f"on {platform.node()}: install it there, or name the Python that has it in the "
                "environment variable PYSPARK_PYTHON before the Spark session begins",
                name="binlogkit",
            )

    return check
