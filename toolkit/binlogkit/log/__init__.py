"""The front door: logs as frames, and results that need several readings."""

from __future__ import annotations

from binlogkit.log.log import Log
from binlogkit.log.opening import open_log
from binlogkit.log.streams import Batch

__all__ = ["Batch", "Log", "open_log"]
