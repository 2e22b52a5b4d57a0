"""What a capture's manifest tells of the logs beside it."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from pathlib import Path

__all__ = ["MANIFEST", "captured_from"]

#: Beside a capture's logs (sources/server/folder.py).
MANIFEST = "capture.json"
_MOST = 64 << 20
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)


def captured_from(folder: Path) -> str | None:
    """The ``@@server_uuid`` of the server that a capture filled the folder from, if one did."""
    path = folder / MANIFEST
    try:
        found = path.stat()
        return _uuid(path, found.st_mtime_ns) if found.st_size <= _MOST else None
    except OSError:
        return None


@lru_cache(maxsize=16)
def _uuid(path: Path, _: int) -> str | None:
    try:
        uuid = json.loads(path.read_text("utf-8"))["server"]["uuid"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    return uuid.lower() if isinstance(uuid, str) and _UUID.fullmatch(uuid) else None
