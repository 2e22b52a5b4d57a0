"""How an analysis declares what comes out of it.

A declaration stands above the function as a constant with the function's name in capitals; a test
holds every frame to it.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Output", "Outputs", "outputs"]


@dataclass(frozen=True, slots=True)
class Output:
    """A column of a result.

    ``type``: ``string``, ``int64``, ``float64``, ``boolean``, ``list<string>``, ``list<uint8>``,
    or ``as given`` for a column (an image, a key) that keeps the input's type.
    """

    name: str
    type: str
    meaning: str


Outputs = tuple[Output, ...]


def outputs(*rows: tuple[str, str, str]) -> Outputs:
    """A declaration from rows of name, type and meaning."""
    return tuple(Output(*row) for row in rows)
