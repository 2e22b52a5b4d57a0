"""Tables of keywords, written as MySQL's grammar writes them."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """The words of ``text``."""
    return frozenset(text.split())
