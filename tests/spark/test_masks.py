"""Masks on the values of records, as pages show them."""

from __future__ import annotations

import pytest

from binlogkit.spark.masks import parse_masks

ROW = {"id": 7, "Mail": "ann@example.org", "note": None}


@pytest.mark.parametrize(
    ("how", "shown"),
    [
        ("Mail=drop", {"id": 7, "note": None}),
        ("mail=truncate:3", {"id": 7, "Mail": "ann", "note": None}),
        ("id=truncate:3", {"id": "7", "Mail": "ann@example.org", "note": None}),
        ("note=truncate:3", ROW),
        ("note=drop", {"id": 7, "Mail": "ann@example.org"}),
    ],
)
def test_values(how: str, shown: dict[str, object]) -> None:
    masks = parse_masks([f"shop.users.{how}"])
    assert masks.shown("Shop", "USERS", ROW) == shown
    assert masks.shown("shop", "others", ROW) == ROW


def test_nothing_is_shown_where_names_are_not_known() -> None:
    masks = parse_masks(["users.mail=truncate:1"])
    assert masks.shown("shop", "users", {"@1": 7, "@2": "ann@example.org"}) == {}
    assert masks.shown("shop", "others", {"@1": 7}) == {"@1": 7}
