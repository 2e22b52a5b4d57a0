"""Results that show themselves: a line in the Python prompt, a table in a notebook.

Any room may have such results. The HTML is made in the room of reports, which is imported when a
notebook asks for it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from binlogkit.errors import printable

_ROWS = 20


class Overview(NamedTuple):
    """What a result shows: ``facts``: pairs of label and value; ``rows``: its records, of which a
    notebook shows the first."""

    title: str
    facts: Sequence[tuple[str, object]]
    rows: Iterable[Mapping[str, Any]] = ()


class Overviewed:
    """A result with an overview, which is what Python and notebooks show of it."""

    __slots__ = ()

    @abstractmethod
    def overview(self) -> Overview:
        """Its overview."""

    def __repr__(self) -> str:
        found = self.overview()
        facts = "; ".join(f"{label}: {value}" for label, value in found.facts)
        return printable(f"<{found.title}{': ' * bool(facts)}{facts}>")

    def _repr_html_(self) -> str:
        from binlogkit.reports.notebook import overview

        title, facts, rows = self.overview()
        return overview(title, [(n, str(value)) for n, value in facts], [*islice(rows, _ROWS)])


def yes_or_no(flag: bool) -> str:
    """A fact that holds or does not."""
    return "yes" if flag else "no"
