"""GTID events whose number no transaction can have."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import binlogkit as bk
from binlogkit.errors import MalformedEventError
from tests.frames.readings import assert_same

DATA = Path(__file__).parents[1] / "_data"
PLAIN = (DATA / "8.0-row-no-checksum" / "keys" / "binlog.000001").read_bytes()
GNO_AT = 17


def with_number(number: int) -> bytes:
    """The log, its third transaction having that number."""
    events = bk.open(PLAIN).events()
    start = int(events[events["type"] == "GTID_LOG_EVENT"]["pos"].iloc[2]) + 19 + GNO_AT
    return PLAIN[:start] + number.to_bytes(8, "little", signed=True) + PLAIN[start + 8 :]


@pytest.mark.parametrize("number", [0, -1, -(1 << 63), (1 << 63) - 1])
def test_is_damage(number: int) -> None:
    """Nothing counts it among GTIDs that were executed, and both ways of reading say the same."""
    data = with_number(number)
    assert_same(data, "report")
    log = bk.open(data, on_damage="report")
    reasons = [
        found for text in log.events()["fields"] if (found := json.loads(text).get("reason"))
    ]
    assert reasons == [f"{number} is no transaction's number"]
    assert log.transactions()["gtid"].isna().sum() == 1
    with pytest.raises(MalformedEventError) as caught:
        bk.open(data).rows()
    assert caught.value.field == "gno"


def test_the_last_one_is_none() -> None:
    last = (1 << 63) - 2
    data = with_number(last)
    assert_same(data, "report")
    assert bk.open(data).transactions()["gtid"].iloc[2].endswith(f":{last}")
