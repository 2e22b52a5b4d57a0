"""Which reason a warning of a server names."""

from __future__ import annotations

from binlogkit.analyses.logging_rules.reasons import REASONS

__all__ = ["reason_of"]


def reason_of(text: str) -> str:
    """The name of the reason that a warning 1592 gives; the end of its text if none is known."""
    return next((reason.name for reason in REASONS if reason.says in text), text[-90:])
