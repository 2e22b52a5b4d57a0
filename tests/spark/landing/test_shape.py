"""The folders of landed tables."""

from __future__ import annotations

import pytest

from binlogkit.constants import TableId
from binlogkit.spark.landing.shape import current_folder, name_of


@pytest.mark.parametrize(
    "name",
    [("shop", "orders"), ("a b", "_a@b"), ("ü", "x/y.z"), ("漢", "@0020"), ("a", "")],
    ids=str,
)
def test_a_folder_says_of_which_table_it_is(name: TableId) -> None:
    assert name_of(current_folder(name)) == name
