"""The limits, as the carriers use them; see :mod:`binlogkit.limits`."""

from __future__ import annotations

from binlogkit.limits import DEFAULTS, limit, limit_error

__all__ = ["DEFAULTS", "limit", "limit_error"]
