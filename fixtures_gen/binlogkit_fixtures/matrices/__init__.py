"""The matrices of this package, one after another: which cells there are, and what they play.

``standard.toml`` is what ``fixtures generate`` takes when no matrix is given. The golden set is
what all of them say: each cell with its scenarios. They are files as users write them
(docs/fixtures.md); to change the golden set, edit them and make what is missing:
``binlogkit fixtures regenerate-golden --missing``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from binlogkit.errors import UsageError
from binlogkit_fixtures.matrix import Cell
from binlogkit_fixtures.matrix_file import read_matrix

__all__ = ["EXAMPLE", "cell", "cells", "matrix_path", "select"]

NAMES = ("standard", "single", "pairs")
#: A wide matrix for users to begin with.
EXAMPLE = "pairs"


def matrix_path(name: str) -> Path:
    """The file of that matrix."""
    return Path(__file__).with_name(f"{name}.toml")


@cache
def _read(name: str) -> tuple[Cell, ...]:
    return tuple(read_matrix(matrix_path(name)).cells())


@cache
def cells() -> Mapping[str, Cell]:
    """All cells by their names, in the order of the files. UsageError: two have one name."""
    every = [cell for name in NAMES for cell in _read(name)]
    found = {cell.name: cell for cell in every}
    if len(found) != len(every):
        raise UsageError("two matrices of the package name one cell")
    return found


def cell(name: str) -> Cell:
    """The cell of that name. UsageError: there is none."""
    found = cells().get(name)
    if found is None:
        raise UsageError(f"there is no cell '{name}'; there are {', '.join(cells())}")
    return found


def select(
    *,
    names: Sequence[str] = (),
    versions: Sequence[str] = (),
    formats: Sequence[str] = (),
    images: Sequence[str] = (),
) -> list[Cell]:
    """The cells that match: those named, or the standard matrix, narrowed by the rest.

    UsageError: an unknown name, or nothing matches.
    """
    chosen = [cell(name) for name in names] or _read("standard")
    wanted = [form.upper() for form in formats]
    found = [
        c
        for c in chosen
        if (not versions or c.series in versions)
        and (not wanted or c.format in wanted)
        and (not images or c.image in images)
    ]
    if not found:
        raise UsageError("no cell of the matrix matches")
    return found
