"""The front door: logs as frames, and what is made from several readings of them."""

from __future__ import annotations

from binlogkit.log.log import Batch, Log, open_log

__all__ = ["Batch", "Log", "open_log"]
