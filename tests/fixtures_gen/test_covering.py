"""Every allowed pair of values stands in a chosen combination, found by trying them all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binlogkit_fixtures.covering import Chosen, cover, every

Terms = Mapping[str, str]


def forbids(excluded: list[Terms]) -> Callable[[Mapping[str, str | None]], bool]:
    return lambda chosen: any(terms.items() <= chosen.items() for terms in excluded)


def groups(rows: list[Chosen], strength: int) -> set[tuple[tuple[str, str | None], ...]]:
    return {group for row in rows for group in combinations(row.items(), strength)}


@st.composite
def matrices(draw: st.DrawFn) -> tuple[dict[str, list[str]], list[Terms]]:
    """Two to five parameters of one to four values, and what is excluded of them."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=2, max_size=5))
    parameters = {f"p{n}": [f"{v}" for v in range(size)] for n, size in enumerate(sizes)}
    term = st.fixed_dictionaries(
        {}, optional={name: st.sampled_from(values) for name, values in parameters.items()}
    ).filter(bool)
    return parameters, draw(st.lists(term, max_size=6))


@settings(deadline=None)
@given(matrices(), st.sampled_from([1, 2, 3]))
@pytest.mark.slow
def test_all_that_is_allowed_is_covered(
    matrix: tuple[dict[str, list[str]], list[Terms]], strength: int
) -> None:
    parameters, excluded = matrix
    refused = forbids(excluded)
    whole = [dict(zip(parameters, values, strict=True)) for values in product(*parameters.values())]
    allowed: list[Chosen] = [{**row} for row in whole if not refused(row)]
    chosen = cover(parameters, strength, refused)
    strength = min(strength, len(parameters))
    assert groups(chosen, strength) == groups(allowed, strength)
    assert all(row in allowed for row in chosen)
    assert len({tuple(row.items()) for row in chosen}) == len(chosen)
    assert chosen == cover(parameters, strength, refused)
    assert list(every(parameters, refused)) == allowed


@pytest.mark.parametrize(
    ("names", "values", "strength", "most"), [(4, 3, 2, 9), (13, 3, 2, 27), (5, 4, 1, 4)]
)
def test_few_combinations_do(names: int, values: int, strength: int, most: int) -> None:
    parameters = {f"p{n}": [str(v) for v in range(values)] for n in range(names)}
    assert len(cover(parameters, strength, lambda _: False)) <= most
