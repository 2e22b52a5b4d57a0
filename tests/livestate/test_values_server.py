"""Values that a frame has no place for, held against the server's own text of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pandas as pd
import pytest

from binlogkit.errors import BinlogKitError
from binlogkit.livestate.live import Live, live
from tests.livestate.shop import reached
from tests.sources.server.conftest_server import settings_of, shared_series

pytestmark = pytest.mark.server

#: Columns with values, each with whether it is no plain value.
VALUES: Mapping[str, tuple[tuple[str, bool], ...]] = {
    "DATE": (("'0000-00-00'", True), ("'2020-00-15'", True), ("'2020-02-29'", False)),
    "DATETIME(2)": (("'0000-00-00'", True), ("'2020-01-00 01:02:03.25'", True)),
    "TIMESTAMP(3) NULL": (("'0000-00-00'", True), ("'2020-01-01 01:02:03.004'", False)),
    "TIME(1)": (("'-838:59:59.0'", False), ("'25:00:00.5'", False)),
    "DECIMAL(65,2)": ((f"{'9' * 63}.99", False), (f"-{'1' * 60}.05", False)),
    "YEAR": (("0", False), ("2155", False)),
    "INT": (("0", False), ("-1", False)),
}


def text_of(value: Any, cells: list[dict[str, Any]], column: str) -> str | None:
    """What a row of a frame says of a column."""
    found = [cell for cell in cells if cell["column"] == column]
    if found:
        assert found[0]["state"] == "no_arrow_value" and pd.isna(value)
        return str(found[0]["text"])
    return None if pd.isna(value) else str(value)


def shown(kept: Live) -> list[dict[str, str | None]]:
    """The rows of ``u.t``, values as texts."""
    frame = kept["u.t"]
    names = [str(name) for name in frame if name != "_cells"]
    cells = frame["_cells"].tolist() if "_cells" in frame else [pd.NA] * len(frame)
    rows = zip(frame[names].itertuples(index=False), cells, strict=True)
    return [
        {
            n: text_of(v, [] if pd.isna(odd) else json.loads(odd), n)
            for n, v in zip(names, row, strict=True)
        }
        for row, odd in rows
    ]


@pytest.mark.parametrize("series", ["5.7", "8.0"])
def test_none_becomes_null(series: str) -> None:
    """From a base, and from the log; a query over such a column stops and names the value."""
    with shared_series(series, {}) as server:
        columns = {f"c{i}": kind for i, kind in enumerate(VALUES)}
        told = ", ".join(f"{name} {kind}" for name, kind in columns.items())
        server.query("CREATE DATABASE u")
        server.query(f"CREATE TABLE u.t (id INT PRIMARY KEY, {told})")
        session = server.connect(autocommit=True)
        with session, session.cursor() as cursor:
            cursor.execute("SET sql_mode = '', time_zone = '+00:00'")

            def add(start: int) -> None:
                number = start
                for name, kind in columns.items():
                    for value, _ in VALUES[kind]:
                        cursor.execute(f"INSERT INTO u.t (id, {name}) VALUES ({number}, {value})")
                        number += 1

            def said() -> list[dict[str, str | None]]:
                texts = ", ".join(f"CAST({name} AS CHAR) AS {name}" for name in columns)
                cursor.execute(f"SELECT CAST(id AS CHAR) AS id, {texts} FROM u.t ORDER BY t.id")
                return [dict(zip(["id", *columns], row, strict=True)) for row in cursor.fetchall()]

            add(0)
            with live(settings_of(server), ["u.t"]) as kept:
                for start in (0, 100):
                    ours, theirs = shown(kept), said()
                    assert len(ours) == len(theirs) >= 14
                    for mine, truth in zip(ours, theirs, strict=True):
                        assert_same(mine, truth)
                    odd = kept["u.t"]["_cells"].dropna()
                    wanted = sum(is_odd for values in VALUES.values() for _, is_odd in values)
                    assert len(odd) == wanted * (1 if start == 0 else 2)
                    if start == 0:
                        add(100)
                        reached(server, kept)
                for name in ("c0", "c1", "c2"):
                    with pytest.raises(
                        BinlogKitError,
                        match=f"u.t.{name}: its value is one that",
                    ):
                        kept.sql(f"SELECT id, {name} FROM u.t")
                assert len(kept.sql("SELECT id, c6 FROM u.t").rows) == len(said())
                cursor.execute("DELETE FROM u.t WHERE id < 200")
                cursor.execute("INSERT INTO u.t (id, c0) VALUES (1, '2020-01-01')")
                reached(server, kept)
                assert "_cells" not in kept["u.t"]


def assert_same(mine: dict[str, str | None], truth: dict[str, str | None]) -> None:
    """NULL is NULL; of what has no place, and of numbers, the texts are equal."""
    for name, text in truth.items():
        ours = mine[name]
        assert (ours is None) == (text is None), (name, mine, truth)
        if text is not None and (name in ("id", "c4", "c6") or "-00" in text):
            assert ours == text, (name, mine, truth)
