"""How servers run in tests of what runs them."""

from __future__ import annotations

import os


def runners() -> list[str]:
    """Each way, or the one that BINLOGKIT_RUNNER names."""
    named = os.environ.get("BINLOGKIT_RUNNER") or "auto"
    return ["local", "docker"] if named == "auto" else [named]
