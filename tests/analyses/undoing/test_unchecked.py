"""Which statements the server must not check, and what the script checks instead."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from binlogkit.analyses.references import Reference
from binlogkit.analyses.undoing.plans import Plans
from binlogkit.analyses.undoing.undo import pieces
from binlogkit.reports.sql import script
from tests.analyses.undoing.plan_cases import batch_of

OWN = Reference(("db", "t"), ("Up",), ("db", "t"), ("id",))


def field(name: str, kind: str = "integer", dtype: pa.DataType | None = None) -> pa.Field:
    facts = {"binlogkit:kind": kind, "binlogkit:generated": ""}
    return pa.field(name, dtype or pa.int32(), metadata=facts)


def undone(rows: list[Any], keys: tuple[Reference, ...], *off: int) -> list[dict[str, Any]]:
    """Plans of changes in a table; ``off``: those of them with foreign_key_checks off."""
    batch = batch_of([field("id"), field("up")], rows, OWN.child)
    seqs = np.asarray(batch["seq"])[list(off)]
    made = pieces([batch], referring=keys, backwards=True, off=lambda some: np.isin(some, seqs))
    return list(Plans(made, backwards=True))


def test_a_row_that_refers_to_itself() -> None:
    """NULL and other values refer to no row of its own, and with an action the server deletes."""
    rows = [("insert", None, {"id": n, "up": up}) for n, up in ((1, 1), (2, None), (3, 1))]
    last, middle, first = undone(rows, (OWN,))
    check = {"db": "db", "table": "t", "columns": ["Up"], "parent_db": "db", "parent_table": "t"}
    assert first["unchecked"] == [
        check | {"referenced": ["id"], "written": False, "dangled": False, "orphans": 0}
    ]
    assert (last["unchecked"], middle["unchecked"]) == ([], [])
    acting = Reference(OWN.child, OWN.columns, OWN.parent, OWN.referenced, "CASCADE")
    plans = undone(rows, (acting,))
    assert not any(plan["unchecked"] for plan in plans)
    assert all(plan["unreferred"] for plan in plans)


def test_only_what_came_before_with_checks_off_counts() -> None:
    """A row that referred to nothing, then one that it refers to."""
    rows = [("insert", None, {"id": n, "up": up}) for n, up in ((7, None), (1, 7), (7, None))]
    plans = undone(rows, (OWN,), 1)
    assert [bool(plan["unchecked"]) for plan in plans] == [True, False, False]
    assert not any(plan["unchecked"] for plan in undone(rows, (OWN,)))


def test_the_script_checks_in_the_end() -> None:
    text = "".join(script(undone([("insert", None, {"id": 1, "up": 1})], (OWN,))))
    before, after = text.split("DELETE FROM `db`.`t`")
    assert "SET SESSION foreign_key_checks = 0;" in before
    assert "SET SESSION foreign_key_checks = @bk_wrong = 0;" in after
    assert text.count("WHERE `Up` = 1 AND NOT EXISTS (SELECT 1 FROM `db`.`t` WHERE `id` = 1") == 1
