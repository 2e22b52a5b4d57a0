"""Few combinations of settings in which every value, or every pair of values, occurs.

A pair is *allowed* when a whole combination that is not refused holds it. Each round takes some of
the pairs that are missing still, completes each, values first that bring most of the other missing
pairs, and keeps the best. Where a completion is refused the next is tried, so a pair is left out
only when all have been: what is chosen covers every allowed pair, by construction. There is no
chance in it: the same matrix gives the same combinations in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, product

__all__ = ["Chosen", "Parameters", "Refused", "cover", "every"]

Chosen = dict[str, str | None]  # a value for each parameter; None: this server has no such setting
Parameters = Mapping[str, Sequence[str | None]]
#: Of a combination, whole or in part; what is refused stays so with more values in it.
Refused = Callable[[Mapping[str, str | None]], bool]

_TRIES = 24  # pairs that a round begins with; more would hardly give fewer combinations
_Group = tuple[tuple[str, str | None], ...]  # values of different parameters, in their order


def cover(parameters: Parameters, strength: int, refused: Refused) -> list[Chosen]:
    """Combinations that together hold every allowed group of ``strength`` values.

    ``strength``: 2 for pairs, 1 for values by themselves.
    """
    strength = min(strength, len(parameters))
    missing = dict.fromkeys(_groups(parameters, strength))
    found = []
    while missing:
        tried: list[Chosen] = []
        for group in list(missing)[:: max(1, len(missing) // _TRIES)]:
            whole = _complete(dict(group), parameters, strength, missing, refused)
            if whole is None:
                del missing[group]
            else:
                tried.append({name: whole[name] for name in parameters})
        if tried:
            best = max(tried, key=lambda one: sum(g in missing for g in _held(one, strength)))
            found.append(best)
            for group in _held(best, strength):
                missing.pop(group, None)
    return found


def _held(chosen: Chosen, strength: int) -> Iterator[_Group]:
    yield from combinations(chosen.items(), strength)


def every(parameters: Parameters, refused: Refused) -> Iterator[Chosen]:
    """All combinations that are not refused, the last parameter's values changing fastest."""
    yield from _every({}, list(parameters), parameters, refused)


def _every(
    chosen: Chosen, names: Sequence[str], parameters: Parameters, refused: Refused
) -> Iterator[Chosen]:
    if refused(chosen):
        return
    if not names:
        yield chosen
        return
    for value in parameters[names[0]]:
        yield from _every({**chosen, names[0]: value}, names[1:], parameters, refused)


def _groups(parameters: Parameters, strength: int) -> Iterator[_Group]:
    for names in combinations(parameters, strength):
        for values in product(*(parameters[name] for name in names)):
            yield tuple(zip(names, values, strict=True))


def _complete(
    chosen: Chosen,
    parameters: Parameters,
    strength: int,
    missing: Mapping[_Group, None],
    refused: Refused,
) -> Chosen | None:
    """A whole combination that holds what is chosen, or None where all are refused."""
    if refused(chosen):
        return None
    name = next((name for name in parameters if name not in chosen), None)
    if name is None:
        return chosen
    order = {name: place for place, name in enumerate(parameters)}

    def gain(value: str | None) -> int:
        """How many missing groups this value makes with those chosen."""
        groups = (
            tuple(sorted((*others, (name, value)), key=lambda item: order[item[0]]))
            for others in combinations(chosen.items(), strength - 1)
        )
        return sum(group in missing for group in groups)

    for value in sorted(parameters[name], key=gain, reverse=True):  # equal ones in their order
        whole = _complete({**chosen, name: value}, parameters, strength, missing, refused)
        if whole is not None:
            return whole
    return None
