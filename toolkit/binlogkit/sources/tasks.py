"""Calls made by another thread, or by the caller that needs the result, whichever is first."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Executor

T = TypeVar("T")
Submit: TypeAlias = "Callable[[Callable[[], Any]], Task[Any]]"


class Task(Generic[T]):
    """``call``, which ``pool`` is asked to make; ``sooner``: what who needs the result does before
    that, if nobody has begun the call."""

    def __init__(
        self, pool: Executor, call: Callable[[], T], sooner: Callable[[], None] | None = None
    ) -> None:
        self._call = call
        self._sooner = sooner
        self._future = pool.submit(call)
        self._own: list[T] = []  # the result, where it was made by ``claim``

    @property
    def done(self) -> bool:
        return self._future.done()

    def claim(self) -> bool:
        """Make the call here, if nobody has begun it; whether it was made here."""
        if self._own:
            return True
        if not self._future.cancel():
            return False
        self._own.append(self._call())
        return True

    def result(self) -> T:
        """What the call gives: it is made here, or waited for."""
        begun = self._own or self._future.running() or self._future.done()
        if not begun and self._sooner is not None:
            self._sooner()
        return self._own[0] if self.claim() else self._future.result()

    def give_up(self) -> None:
        """Nobody needs the result: the call is not made, or has ended."""
        if not self._future.cancel():
            self._future.exception()
