"""The one error of the writer."""

from __future__ import annotations

from binlogkit.errors import UsageError

__all__ = ["UnwritableError"]


class UnwritableError(UsageError):
    """A value that the format cannot say; nothing is cut or wrapped to make it fit.

    ``event``: the name of what was written; ``field``: the field; ``reason``: one clause.
    """

    def __init__(self, event: str, field: str, reason: str) -> None:
        self.event = event
        self.field = field
        self.reason = reason
        super().__init__(f"{event} cannot be written: {field}: {reason}")
