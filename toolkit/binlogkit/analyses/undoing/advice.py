"""Reasons for refusals without their places, and what to do about each, in the options' words."""

from __future__ import annotations

import re
from collections import Counter

_FROM_CREATION = (
    "the images do not hold the whole row: read the logs from the table's creation on as well"
)
#: Patterns of reasons' beginnings, and what to do.
_ADVICE = tuple(
    (re.compile(pattern), advice)
    for pattern, advice in (
        (
            r"a later change depends on it \([\w ]+\)",
            "--mode merge undoes what later changes did not set; or skip, cascade, force",
        ),
        (
            r"a later statement that is logged as text may depend on it",
            "--mode force undoes it nevertheless",
        ),
        (
            r"the table was (dropped|emptied) later",
            "choose that statement as well; a DROP TABLE with --made-again DB.TABLE",
        ),
        (
            r"DROP TABLE logs no rows",
            "make the table again, empty, and name it with --made-again DB.TABLE",
        ),
        (
            r"it rests on what is only supposed \([^)]*\)",
            "make sure of it, then accept it with --suppose NAME",
        ),
        (
            r"the name of column .+ is not known",
            "give the definitions with --schema FILE.sql or --schema-from DSN",
        ),
        (
            r"another row has its value of .+, UNIQUE since",
            "change that row, or drop the key, before the script is made",
        ),
        (
            r"a change that belongs to it is refused",
            "see what the others are refused or skipped for",
        ),
        (r"TRUNCATE logs no rows", _FROM_CREATION),
        (r"unknown rows of .+ were deleted with it", _FROM_CREATION),
        (r"the value of .+ before the change is not in the image", _FROM_CREATION),
        (r"(the key is |no key, and )?not in the image", _FROM_CREATION),
        (r"no column changes|its transaction was not committed", "there is nothing to do"),
    )
)
_PLACE = re.compile(r"(:( |$)| \().*", re.DOTALL)


def detail_of(reason: str) -> str | None:
    """What a reason says beyond its kind: places and names; None for nothing."""
    return reason.removeprefix(kind_of(reason)[0]).strip(": ()") or None


def kind_of(reason: str) -> tuple[str, str | None]:
    """A reason without its places, and what to do about it, None if nothing helps."""
    for pattern, advice in _ADVICE:
        if found := pattern.match(reason):
            return found[0], advice
    return _PLACE.sub("", reason), None


class Refusals:
    """Counts refusals by the kind of their reasons."""

    def __init__(self) -> None:
        self._found = Counter[tuple[str, str | None]]()

    def add(self, reason: str, count: int = 1) -> None:
        """Count changes that were refused for a reason."""
        self._found[kind_of(reason)] += count

    def lines(self) -> list[str]:
        """A sentence for each kind, the most frequent first."""
        found = sorted(self._found.items(), key=lambda one: (-one[1], one[0][0]))
        return [
            f"{count} refused: {kind}{'' if advice is None else f'; {advice}'}"
            for (kind, advice), count in found
        ]
