"""Random histories against a slow, obvious model: a dictionary, or a list without a key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from binlogkit.analyses.point_in_time import replay

Make = Callable[..., pa.Table]
Row = dict[str, Any]

FIELDS = {"id": pa.int32(), "name": pa.string(), "note": pa.string()}
COLUMNS = tuple(FIELDS)
SETTINGS = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

CELLS = st.sampled_from(["a", "b", None])
STEP = st.tuples(
    st.sampled_from(["insert", "insert", "update", "update", "move", "delete"]),
    st.integers(0, 5),
    st.integers(0, 5),
    CELLS,
    CELLS,
)


def _image(row: Row, wanted: Sequence[str]) -> Row:
    return {name: row[name] for name in wanted}


def _history(steps: Sequence[tuple[Any, ...]], image: str) -> tuple[list[Any], dict[int, Row]]:
    """Changes as a server with that row image would log them, and the rows afterwards."""
    rows: dict[int, Row] = {}
    changes: list[Any] = []
    for op, key, other, name, note in steps:
        if op == "insert" and key not in rows:
            rows[key] = {"id": key, "name": name, "note": note}
            changes.append(("insert", None, dict(rows[key])))
        elif op == "delete" and key in rows:
            gone = rows.pop(key)
            changes.append(("delete", _image(gone, COLUMNS if image == "full" else ["id"]), None))
        elif op in ("update", "move") and key in rows and (op == "update" or other not in rows):
            old = rows.pop(key)
            new = {"id": other if op == "move" else key, "name": name, "note": old["note"]}
            rows[new["id"]] = new
            written = COLUMNS if image == "full" else ["id", "name"] if op == "move" else ["name"]
            before = COLUMNS if image == "full" else ["id"]
            changes.append(("update", _image(old, before), _image(new, written)))
    return changes, rows


@pytest.mark.parametrize("image", ["full", "minimal"])
@SETTINGS
@given(steps=st.lists(STEP, max_size=30))
def test_with_a_key(make_changes: Make, image: str, steps: list[tuple[Any, ...]]) -> None:
    changes, rows = _history(steps, image)
    table = make_changes(FIELDS, changes)
    wanted = [rows[key] for key in sorted(rows)]
    found = replay(table, key=["id"], table=("shop", "orders")).rows
    assert found["values"].to_pylist() == wanted
    assert not any(found["unknown"].to_pylist())


@SETTINGS
@given(
    steps=st.lists(st.tuples(st.sampled_from("iiud"), CELLS, CELLS, st.integers(0, 9)), max_size=30)
)
def test_without_a_key(make_changes: Make, steps: list[tuple[Any, ...]]) -> None:
    rows: list[Row] = []
    changes: list[Any] = []
    for op, name, note, at in steps:
        new = {"id": 1, "name": name, "note": note}
        if op == "i":
            rows.append(new)
            changes.append(("insert", None, new))
        elif rows:
            old = rows.pop(at % len(rows))
            changes.append(("delete", old, None) if op == "d" else ("update", old, new))
            rows.extend([new] if op == "u" else [])
    found = replay(make_changes(FIELDS, changes, key=()), key=(), table=("shop", "orders")).rows
    assert sorted(map(str, found["values"].to_pylist())) == sorted(map(str, rows))
