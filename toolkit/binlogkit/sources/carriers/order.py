"""The order in which several logs are read: that of their names, numbers compared as numbers."""

from __future__ import annotations

import re
from pathlib import PurePath

__all__ = ["GLOB", "natural_key"]

GLOB = re.compile(r"[*?\[]")


def natural_key(path: PurePath) -> tuple[object, ...]:
    """Sorts ``binlog.999999`` before ``binlog.1000000``."""
    parts = re.split(r"(\d+)", path.name)
    return (str(path.parent), *(int(p) if i % 2 else p for i, p in enumerate(parts)))
