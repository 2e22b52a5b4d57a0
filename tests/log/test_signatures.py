"""``help()`` and tooltips name every keyword of the public functions."""

from __future__ import annotations

from inspect import Parameter, signature
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.log.states.point import PointArgs
from binlogkit.rows.filter_args import FilterArgs, RowFilterArgs
from binlogkit_fixtures import golden

METHODS = [name for name in dir(bk.Log) if not name.startswith("_")]
PUBLIC: dict[str, Any] = {
    **{f"Log.{n}": getattr(bk.Log, n) for n in METHODS if callable(getattr(bk.Log, n))},
    **{name: getattr(bk, name) for name in ("audit", "explain", "follow", "suspects", "verify")},
}
OPENING = {
    name for name, one in signature(bk.open).parameters.items() if one.kind is one.KEYWORD_ONLY
}


@pytest.mark.parametrize("name", PUBLIC)
def test_no_keywords_are_hidden(name: str) -> None:
    kinds = {one.kind for one in signature(PUBLIC[name]).parameters.values()}
    assert Parameter.VAR_KEYWORD not in kinds


@pytest.mark.parametrize(
    ("name", "keywords"),
    [
        ("Log.audit", FilterArgs.__annotations__.keys()),
        ("Log.rows", RowFilterArgs.__annotations__.keys()),
        ("Log.state", PointArgs.__annotations__.keys()),
        ("Log.undo", FilterArgs.__annotations__.keys()),
        ("audit", OPENING),
        ("explain", OPENING),
        ("follow", {"schema", "charset", "on_damage"}),
    ],
)
def test_the_keywords_are_named(name: str, keywords: set[str]) -> None:
    shown = signature(PUBLIC[name]).parameters
    assert keywords <= shown.keys()
    assert all(shown[one].default is not Parameter.empty for one in keywords)


def test_named_keywords_are_taken() -> None:
    """None is as good as nothing: what tooltips show can be given."""
    log = bk.open(golden.case("8.0-row-full", "json").binlogs[0])
    for name in ("rows", "events", "transactions", "statements", "audit", "undo"):
        shown = signature(getattr(bk.Log, name)).parameters.values()
        filters = {one.name: None for one in shown if one.name in FilterArgs.__annotations__}
        assert len(filters) > 10
        getattr(log, name)(**filters)
