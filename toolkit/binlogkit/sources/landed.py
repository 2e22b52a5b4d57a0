"""Folders of landings (spark/landing), which are no logs and hold their own index."""

from __future__ import annotations

from pathlib import Path


def is_landing(folder: Path) -> bool:
    """Whether a folder is that of a landing."""
    return (folder / "landings" / "_delta_log").is_dir()
