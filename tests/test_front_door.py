"""What ``import binlogkit`` offers, and that it stays light."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import binlogkit as bk

DATA = Path(__file__).parent / "_data"
LOG = DATA / "8.0-row-full" / "keys" / "binlog.000001"


def test_all_is_sorted_and_there() -> None:
    assert bk.__all__ == sorted(bk.__all__)
    for name in bk.__all__:
        assert getattr(bk, name) is not None
    assert set(bk.__all__) <= set(dir(bk))
    with pytest.raises(AttributeError):
        _ = bk.nothing


def test_importing_does_no_work() -> None:
    heavy = ("pandas", "pyarrow", "numpy", "pyspark", "docker", "matplotlib", "sqlglot", "narwhals")
    code = f"import binlogkit, sys; print([m for m in {heavy!r} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_logs_can_be_audited_by_their_name() -> None:
    """The name is that of the analyses, too."""
    audit = bk.audit(str(LOG))
    assert dict(audit) == dict(bk.open(LOG).audit())
    changes = bk.open(LOG).changes("keyed.pk")
    assert 0 < bk.audit.by_minute(changes).num_rows <= audit["by_minute"].num_rows
    assert "by_minute" in dir(bk.audit)
    with pytest.raises(AttributeError):
        _ = bk.audit.nothing


@pytest.mark.parametrize("function", [bk.audit, bk.explain, bk.suspects, bk.verify])
def test_help_names_what_opens_a_log(function: Callable[..., Any]) -> None:
    told = inspect.signature(function).parameters
    opens = inspect.signature(bk.open).parameters
    assert opens.keys() <= told.keys()
    assert all(one.kind is not inspect.Parameter.VAR_KEYWORD for one in told.values())


def test_frames_and_engines_agree() -> None:
    log = bk.open(LOG)
    frame = log.rows()
    table = log.rows(engine="pyarrow")
    assert isinstance(frame, pd.DataFrame) and isinstance(table, pa.Table)
    assert frame.to_dict("list").keys() == table.to_pydict().keys()
    records = list(log.row_records())
    assert [json.loads(a) if a else None for a in table.column("after").to_pylist()] == [
        r["after"] for r in records
    ]
    assert len(frame) == table.num_rows == len(records)
    assert len(log.events()) == len(list(log.event_records()))
    with pytest.raises(bk.errors.UsageError):
        log.rows(engine="polars")  # type: ignore[call-overload]


def test_typed_rows_have_a_column_per_image_column() -> None:
    log = bk.open(LOG)
    frame = log.rows("keyed.pk")
    assert {"before.id", "after.id", "op", "gtid", "pos"} <= set(frame.columns)
    inserted = frame[frame["op"] == "insert"]
    assert inserted["before.id"].isna().all()
    assert inserted["after.id"].notna().all()
    assert log["keyed.pk"].equals(frame)
    assert "keyed.pk" in log._ipython_key_completions_()


@pytest.mark.parametrize("cell", ["8.0-row-full", "8.0-row-minimal"])
def test_typed_rows_say_what_an_update_changed(cell: str) -> None:
    log = bk.open(DATA / cell / "keys" / "binlog.000001")
    frame = log.rows("keyed.pk")
    assert list(frame.columns[:5]) == ["timestamp", "thread_id", "op", "changed", "before.id"]
    updates = frame[frame["op"] == "update"]
    assert len(updates) and updates["changed"].map(len).any()
    assert not frame[frame["op"] != "update"]["changed"].map(len).any()
    for column in (name[7:] for name in frame.columns if name.startswith("before.")):
        found = log.rows("keyed.pk", where=f"changed({column})")
        assert updates[updates["changed"].map(lambda names, c=column: c in names)].equals(
            found.set_index(updates.index[updates["seq"].isin(found["seq"])])
        )


def test_rows_of_several_tables() -> None:
    log = bk.open(LOG)
    found, all_rows = log.rows(["keyed.pk", "keyed.pk_auto"]), log.rows()
    assert len(found) == (all_rows["table"].isin(["pk", "pk_auto"])).sum()
    assert set(found["table"]) == {"pk", "pk_auto"} and list(found) == list(all_rows)
    with pytest.raises(bk.errors.UsageError, match="no table is named"):
        log.rows([])


def test_batches_hold_every_row_once() -> None:
    log = bk.open(LOG)
    seen: dict[tuple[str, str], int] = {}
    for batch in log.batches():
        seen[batch.table] = seen.get(batch.table, 0) + batch.batch.num_rows
        batch.batch.validate(full=True)
    counted: dict[tuple[object, object], int] = {}
    for row in log.row_records():
        key = (row["db"], row["table"])
        counted[key] = counted.get(key, 0) + 1
    assert seen == counted


@pytest.mark.slow
def test_versions_of_a_schema_are_united_by_name() -> None:
    log = bk.open(DATA / "8.0-row-full" / "ddl" / "binlog.000001")
    tables = log.tables()
    versions = tables.groupby(["db", "table"])["schema_version"].nunique()
    assert (versions > 1).any()
    united = 0
    for db, table in versions[versions > 1].index:
        name = ".".join("`" + part.replace("`", "``") + "`" for part in (db, table))
        try:
            changes = log.changes(name)
        except bk.errors.SchemaError as error:
            assert "schema version" in str(error)
            continue
        united += 1
        assert changes.num_rows == sum(b.batch.num_rows for b in log.batches(name))
        changes.validate(full=True)
    assert united
