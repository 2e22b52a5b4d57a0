"""Logs that come while they are read: a list of carriers that waits for the next one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import BinaryIO, cast

from binlogkit.errors import InputError
from binlogkit.sources.carriers.carrier import Carrier
from binlogkit.sources.growing import GrowingFile


@dataclass(frozen=True, slots=True)
class GrowingCarrier(Carrier):
    """A log whose bytes come as they are written; it can be opened once.

    ``grown``: opens it.
    """

    grown: Callable[[], GrowingFile] | None = None
    _opened_before: list[bool] = field(default_factory=list, repr=False, compare=False)

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """See :meth:`Carrier.open`. InputError: it is read already, and does not come again."""
        if self._opened_before or self.grown is None:
            raise InputError(self.name, "is being followed, and is read once")
        self._opened_before.append(True)
        try:
            file = self.grown()
        except OSError as exc:
            raise InputError(self.name, f"cannot be opened: {exc.strerror or exc}") from exc
        with file:
            yield cast(BinaryIO, file)


def growing_carrier(
    name: str, grown: Callable[[], GrowingFile], source: str | None = None
) -> GrowingCarrier:
    """A carrier of a log that is being written; ``source``: the name of its server."""
    return GrowingCarrier(name, lambda: cast(BinaryIO, grown()), source=source, grown=grown)


class ComingLogs(list[Carrier]):
    """The carriers of logs that follow each other, each when the one before has ended.

    ``more``: waits for the next one, None where none comes any more; ``pending``: whether bytes of
    the one that is read are there which were not read yet.
    """

    def __init__(
        self,
        first: Iterable[Carrier],
        more: Callable[[], Carrier | None],
        pending: Callable[[], bool] = lambda: False,
    ) -> None:
        super().__init__(first)
        self._more, self.pending = more, pending

    def __iter__(self) -> Iterator[Carrier]:
        at = 0
        while True:
            if at == len(self):
                following = self._more()
                if following is None:
                    return
                self.append(following)
            yield self[at]
            at += 1
