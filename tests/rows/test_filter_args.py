"""A wrong argument is reported in one sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from binlogkit.errors import UsageError
from binlogkit.rows.filter_args import FilterArgs, meant
from binlogkit.rows.filters import Filters

SOME: dict[str, Any] = {
    "table": "shop.orders", "exclude_table": ["a.b", "c"], "op": "insert", "gtid": None,
    "at": "b:4", "thread": 5, "server_id": [1, 2], "where": {"id": 150}, "start_position": 4,
    "stop_position": 1 << 40, "start_time": "2024-05-14", "stop_time": 1.5e9, "timezone": "UTC",
    "source": "db1",
}  # fmt: skip


def test_each_filter_is_taken() -> None:
    assert SOME.keys() == FilterArgs.__annotations__.keys()
    assert Filters.build(**SOME) != Filters.build() == Filters.build(**dict.fromkeys(SOME))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"foo": 1}, "there is no filter foo"),
        ({"tabel": "a.b"}, "there is no filter tabel; did you mean table?"),
        ({"start": 4}, "there is no filter start; did you mean start_time"),
        ({"table": 5}, "table is a text or a list of texts, not 5"),
        ({"table": {"a": "b"}}, "table is a text or a list of texts"),
        ({"exclude_table": ["a", None]}, "exclude_table is a text or a list of texts, not None"),
        ({"op": "upsert"}, "op is one of insert, update, delete, not upsert"),
        ({"gtid": 5}, "gtid is a set of GTIDs, not 5"),
        ({"gtid": "x"}, "x"),
        ({"at": "binlog.000001"}, "not a position: 'binlog.000001' (write FILE:POS"),
        ({"at": ("b", -1)}, "not a position: ('b', -1)"),
        ({"thread": "80"}, "thread is a number or a list of numbers, not '80'"),
        ({"thread": 8.5}, "thread is a number or a list of numbers, not 8.5"),
        ({"server_id": [1, "2"]}, "server_id is a number or a list of numbers, not '2'"),
        ({"server_id": True}, "server_id is a number"),
        ({"start_position": "157"}, "start_position is a number, not '157'"),
        ({"stop_position": -1}, "stop_position is not negative, as -1 is"),
        ({"start_time": "yesterday"}, "not an ISO 8601 time: 'yesterday'"),
        ({"start_time": pd.NaT}, "not a time: NaT"),
        ({"stop_time": float("nan")}, "not a time: nan"),
        ({"stop_time": True}, "not a time: True"),
        ({"stop_time": [1]}, "not a time: [1]"),
        ({"start_time": "2024-05-14", "timezone": "Mars"}, "unknown time zone 'Mars'"),
        ({"where": 5}, "not a condition: 5"),
    ],
    ids=str,
)
def test_a_wrong_one(given: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError) as raised:
        Filters.build(**given)
    assert told in str(raised.value)


@pytest.mark.parametrize(
    ("name", "value", "same"),
    [
        ("thread", np.int64(5), 5),
        ("op", "UPDATE", "update"),
        ("server_id", pd.Series([1, 2]), [1, 2]),
        ("start_position", np.uint32(157), 157),
        ("start_time", pd.Timestamp("2024-05-14T12:00:00Z").as_unit("s"), "2024-05-14T12:00:00"),
        ("start_time", pd.Timestamp("2024-05-14T12:00:00.000001"), "2024-05-14T12:00:00.000001"),
        ("stop_time", np.int64(1_700_000_000), 1_700_000_000),
    ],
    ids=str,
)
def test_what_frames_hold(name: str, value: Any, same: Any) -> None:
    assert Filters.build(**{name: value}) == Filters.build(**{name: same})


def test_names_that_may_be_meant() -> None:
    assert meant("Totl", ["id", "total", "subtotal"]).startswith("; did you mean total")
    assert meant("nothing", ["id", "total"]) == ""
    assert "\x1b" not in meant("tota\x1bl", ["total\x1b"])
