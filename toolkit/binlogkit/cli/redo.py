"""``binlogkit redo``: see undo.py, which has both."""

from __future__ import annotations

from binlogkit.cli.undo import redo as command

__all__ = ["command"]
