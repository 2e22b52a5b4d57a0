"""Which answers differ from the digests, and which of these differences were decided."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from tests.answers.binlogkit_answers.asking import COLUMNS, FIRST, VARIANTS, digest, expanded
from tests.answers.binlogkit_answers.store import Digests

__all__ = ["Difference", "Listed", "differences", "listed", "undecided"]


@dataclass(frozen=True, slots=True)
class Difference:
    """An answer that is not the digest's; ``now``: its own digest."""

    name: str
    variant: str
    column: str
    now: str

    def __str__(self) -> str:
        return f"{self.name} {self.variant} {self.column}"


@dataclass(frozen=True, slots=True)
class Listed:
    """Differences that one rule explains: ``inputs`` and ``columns`` are patterns; ``reason``: the
    bytes that decide; ``answers``: a digest of what is answered now, so that nothing else hides
    behind a pattern; empty as long as nobody has asked all inputs of an entry."""

    inputs: tuple[str, ...]
    columns: tuple[str, ...]
    reason: str
    answers: str

    def concerns(self, name: str) -> bool:
        """Whether an input is one of these."""
        return any(fnmatchcase(name, pattern) for pattern in self.inputs)

    def holds(self, difference: Difference) -> bool:
        """Whether a difference is one of these."""
        return self.concerns(difference.name) and any(
            fnmatchcase(difference.column, pattern) for pattern in self.columns
        )

    def digest(self, differences: Iterable[Difference]) -> str:
        """What ``answers`` is to be for these differences."""
        told = sorted(f"{d} {d.now}" for d in differences if self.holds(d))
        return digest("\n".join(told).encode())


def listed(path: Path) -> list[Listed]:
    """The differences that were decided."""
    return [
        Listed(tuple(e["inputs"]), tuple(e["columns"]), e["reason"], e.get("answers", ""))
        for e in tomllib.loads(path.read_text("utf-8")).get("difference", [])
    ]


def differences(name: str, old: Digests, new: Digests) -> list[Difference]:
    """What differs in the answers about an input; a way of reading that only repeats what its like
    shows is left out."""
    if old.key != new.key:
        return [Difference(name, "", "the input itself", new.key)]
    found = []
    for variant in VARIANTS:
        for column in COLUMNS:
            own = variant == FIRST or any(column in d.texts.get(variant, {}) for d in (old, new))
            was, now = (expanded(d.texts, variant, column, "-") for d in (old, new))
            if own and was != now:
                found.append(Difference(name, variant, column, now))
    return found


def undecided(
    found: Iterable[Difference], decided: Iterable[Listed], missing: Iterable[str]
) -> list[str]:
    """What is wrong: differences that no entry holds; and entries that hold none any more, or whose
    answers have changed since, unless they concern an input that is ``missing``: was not asked."""
    found, missing, decided = list(found), list(missing), list(decided)
    wrong = [f"{d}: not listed" for d in found if not any(entry.holds(d) for entry in decided)]
    for entry in decided:
        if any(map(entry.concerns, missing)):
            continue
        own = [d for d in found if entry.holds(d)]
        where = f"{entry.reason[:60]} …"
        if not own:
            wrong.append(f"{where}: listed, and nothing differs")
        elif entry.answers != entry.digest(own):
            wrong.append(
                f'{where}: listed, and answered otherwise since: answers = "{entry.digest(own)}"'
            )
    return wrong


def by_column(found: Iterable[Difference]) -> Mapping[str, int]:
    """How many differences each column has."""
    counts: dict[str, int] = {}
    for difference in found:
        counts[difference.column] = counts.get(difference.column, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: -item[1]))
