"""What holds for every input: only documented errors, and nothing that a terminal would obey."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from binlogkit.errors import _BIDI, BinlogKitError

__all__ = ["check_record", "documented", "is_safe"]


def is_safe(text: str) -> bool:
    """Whether a text is one line without control characters and bidirectional marks."""
    return text.isprintable() and not any(c in _BIDI for c in text)


def documented(call: Callable[[], Any]) -> Any:
    """What ``call`` gives, or the documented error it ended with; anything else is raised on."""
    try:
        return call()
    except BinlogKitError as error:
        assert is_safe(str(error)), f"{type(error).__name__} with control characters: {error!r}"
        return error


def check_record(record: dict[str, Any]) -> None:
    """A record is JSON, and its text is UTF-8 on one line."""
    line = json.dumps(record, ensure_ascii=False, allow_nan=False)
    line.encode("utf-8")
    assert "\n" not in line
