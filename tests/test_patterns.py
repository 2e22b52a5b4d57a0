"""No pattern uses possessive repetition or atomic groups: Python 3.11.2 matches them wrongly.

Debian 12 has that version. ``(?:a++|b)*+`` ends too early there: python/cpython#100061, #106052.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = sorted(
    path
    for folder in ("toolkit", "fixtures_gen", "tools")
    for path in (ROOT / folder).rglob("*.py")
)
_SUSPECT = re.compile(r"[*+?}]\+|\(\?>")


def texts(tree: ast.Module) -> Iterator[str]:
    """Every text of a file; what an f-string puts in stands as one character."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = (v.value if isinstance(v, ast.Constant) else "x" for v in node.values)
            yield "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
            yield node.value if isinstance(node.value, str) else node.value.decode("latin-1")


def atomic(text: str) -> bool:
    """Whether ``text`` as a pattern has such a part."""
    if not _SUSPECT.search(text):
        return False
    try:
        # What `re` itself reads a pattern with; it has no public name.
        parsed = str(sys.modules["re._parser"].parse(text))
    except re.error:
        return False
    return "POSSESSIVE_REPEAT" in parsed or "ATOMIC_GROUP" in parsed


@pytest.mark.parametrize("pattern", ["a++", "a*+b", "(?:a|b)?+", "a{2}+", "(?>a)", "x(?:[^']++)*"])
def test_they_are_found(pattern: str) -> None:
    assert list(map(atomic, texts(ast.parse(repr(pattern))))) == [True]


@pytest.mark.parametrize("pattern", ["a+", r"\++", "[*+]+", "(?:a+)+", "c++ (not a pattern"])
def test_others_are_not(pattern: str) -> None:
    assert not atomic(pattern)


def test_no_source_has_one() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {text}"
        for path in SOURCES
        for text in texts(ast.parse(path.read_bytes()))
        if atomic(text.replace("libstdc++", ""))  # a package of Debian
    ]
    assert len(SOURCES) > 200
    assert found == []
