"""The front door: logs as frames, and what is made from several readings of them."""

from __future__ import annotations

from binlogkit.log.log import Log
from binlogkit.log.opening import open_log
from binlogkit.log.streams import Batch

__all__ = ["Batch", "Log", "open_log"]
