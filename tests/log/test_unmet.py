"""A table that nothing was read of is told, with the ones that may have been meant."""

from __future__ import annotations

from pathlib import Path

import pytest

import binlogkit as bk
from binlogkit.log.unmet import tables_not_met

LOG = Path(__file__).parents[1] / "_data" / "8.0-row-full" / "keys" / "binlog.000001"


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("keyed.pk", None),
        ("pk", None),
        ("Keyed.PK", "keyed.pk"),
        ("PK", "keyed.pk"),
        ("keyed.pk_tex", "keyed.pk_text"),
        ("shop.pk", "keyed.pk"),
        ("nosuch.table", ""),
        ("`a.b`.`c``d`", ""),
    ],
)
@pytest.mark.parametrize("read", ["row_records", "event_records", "transaction_records", "batches"])
def test_what_is_told(read: str, asked: str, meant: str | None) -> None:
    log = bk.open(LOG)
    for _ in getattr(log, read)(**({} if read == "batches" else {"table": asked})):
        pass
    told = tables_not_met(log, {"table": [asked]})
    if meant is None:
        assert told == []
        return
    (text,) = told
    assert text.startswith(f"no rows of {asked} were read")
    others = text.partition("; there are rows of ")[2].split(", ")
    assert others[0] == meant


def test_of_several_each() -> None:
    log = bk.open(LOG)
    list(log.row_records(table=["keyed.pk", "x.y"]))
    assert len(tables_not_met(log, {"table": ["keyed.pk", "x.y"], "op": "insert"})) == 1
    assert tables_not_met(log, {"op": "insert"}) == []


def test_before_anything_is_read() -> None:
    assert len(tables_not_met(bk.open(LOG), {"table": "keyed.pk"})) == 1
