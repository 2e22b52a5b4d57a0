"""assert_same_rows: what it lets pass, what it finds, and what it then says."""

from __future__ import annotations

import copy
import datetime
import decimal
import subprocess
import sys
from typing import Any

import pytest

from binlogkit.errors import UsageError
from binlogkit_fixtures import golden
from binlogkit_pytest import RowsDiffer, assert_same_rows

TYPES = golden.case("8.0-row-full", "types")
KEYS = golden.case("8.0-row-full", "keys")
LEAST = ("pos", "inner", "row", "db", "table", "op", "before", "after")


def rows_of(case: golden.GoldenCase) -> list[dict[str, Any]]:
    """The golden rows with no more than a decoder must tell."""
    return [{key: copy.deepcopy(row[key]) for key in LEAST} for row in case.rows]


def find(rows: list[dict[str, Any]], table: str, number: int = 0) -> dict[str, Any]:
    return [row for row in rows if row["table"] == table][number]


@pytest.mark.parametrize("case", [TYPES, KEYS, golden.case("8.0-row-compressed", "json")], ids=str)
def test_golden_rows_pass(case: golden.GoldenCase) -> None:
    assert len(case.binlogs) == 1
    assert_same_rows(rows_of(case), case)
    assert_same_rows(case.rows, case)


def test_every_changed_cell_of_a_table_is_found() -> None:
    """One at a time: none is let pass, and each message names its column and its bytes."""
    rows = rows_of(TYPES)
    row = find(rows, "integers", 1)
    stored = find(TYPES.rows, "integers", 1)["raw"]["after"]
    for column, value in list(row["after"].items()):
        row["after"][column] = 77 if value != 77 else 78
        with pytest.raises(RowsDiffer) as told:
            assert_same_rows(rows, TYPES)
        row["after"][column] = value
        assert len(told.value.differences) == 1
        assert f"\n  column  {column}\n" in str(told.value)
        assert f"\n  bytes   after: {stored[column]}\n" in str(told.value)


def test_the_message_says_where_and_by_which_bytes() -> None:
    rows = rows_of(TYPES)
    find(rows, "integers", 1)["after"]["u8"] = -1
    with pytest.raises(RowsDiffer) as told:
        assert_same_rows(rows, TYPES, decoder="mine")
    assert (
        str(told.value)
        == f"""\
a difference of mine with 8.0-row-full/types:
  log     {TYPES.binlogs[0]}
  event   WRITE_ROWS_EVENT at 17466
  row     1: insert in types.integers
  column  u8
  decoded -1
  golden  255
  why     unsigned-shown-negative: the value is unsigned, mine is the signed reading of its bytes: \
BIT(64) or SET as -1
  bytes   after: 0xFF
  which read (offsets are the event's):
    offset  size  bytes  field  value  meaning
        83    51         after         the row as it is since
        90     1  ff       u8   255    tinyint unsigned: little-endian"""
    )
    assert TYPES.binlogs[0].read_bytes()[17466 + 90] == 0xFF


def test_in_an_update_the_bytes_of_both_images_are_shown() -> None:
    case = golden.case("8.0-row-full", "transactions")
    rows = [row | {"raw": None} for row in copy.deepcopy(case.rows)]
    row = next(row for row in rows if row["op"] == "update" and "balance" in row["after"])
    row["after"]["balance"] = "0.00\x1b[31m"
    with pytest.raises(RowsDiffer) as told:
        assert_same_rows(rows, case)
    text = str(told.value)
    assert "bytes   before: 0x" in text
    assert "bytes   after: 0x" in text
    assert "\x1b" not in text


def test_rows_that_lack_and_rows_that_are_too_many() -> None:
    rows = rows_of(KEYS)
    with pytest.raises(RowsDiffer, match="lacks this row"):
        assert_same_rows(rows[:3] + rows[4:], KEYS)
    with pytest.raises(RowsDiffer, match="has no such row"):
        assert_same_rows([*rows, rows[-1] | {"row": 99}], KEYS)
    with pytest.raises(RowsDiffer, match=f"golden +{len(rows)} rows, the first: insert in"):
        assert_same_rows([], KEYS)


def test_known_defects_are_let_pass_and_no_others() -> None:
    rows = rows_of(TYPES)
    row = find(rows, "integers", 1)
    row["after"]["u8"] = -1
    assert_same_rows(rows, TYPES, known=["unsigned-shown-negative"])
    assert_same_rows(rows, TYPES, known=[{"column": "u8", "ours": "-1"}])
    row["after"]["s8"] = 5
    with pytest.raises(RowsDiffer, match="a difference of the decoder") as told:
        assert_same_rows(rows, TYPES, known=["unsigned-shown-negative"])
    assert [each["column"] for each in told.value.differences] == ["s8"]


def test_python_values_are_their_texts() -> None:
    rows = rows_of(TYPES)
    of_python: dict[str, Any] = {"decimals": decimal.Decimal, "dates": datetime.date.fromisoformat}
    changed = 0
    for row in rows:
        make = of_python.get(row["table"])
        for column, value in (row["after"] or {}).items():
            if (
                make
                and isinstance(value, str)
                and not value.startswith(("0000", "2024-00", "2023"))
            ):
                row["after"][column] = make(value)
                changed += 1
    assert changed > 20
    assert_same_rows(rows, TYPES)


def test_rows_of_several_logs() -> None:
    case = golden.case("8.0-row-full", "transactions")
    assert len(case.binlogs) == 2
    for path in case.binlogs:
        own = [row for row in case.rows if row["file"] == path.name]
        assert_same_rows(own, case, log=path)
    with pytest.raises(UsageError, match="which log"):
        assert_same_rows(rows_of(case), case)
    with pytest.raises(UsageError, match=r"no log binlog\.9"):
        assert_same_rows([], case, log="binlog.9")


@pytest.mark.parametrize(
    "row", [{}, {"db": "a", "table": "b", "op": "insert"}, {"db": object()}, 5]
)
def test_what_is_no_row(row: Any) -> None:
    with pytest.raises(UsageError):
        assert_same_rows([row], KEYS)


def test_it_needs_no_library_that_the_light_install_has_not() -> None:
    absent = ["pyarrow", "pandas", "click", "fsspec", "jinja2", "narwhals"]
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({absent!r})); "
        "from binlogkit_fixtures import golden; from binlogkit_pytest import assert_same_rows; "
        f"case = golden.case({TYPES.path.parent.name!r}, {TYPES.path.name!r}); "
        "assert_same_rows(case.rows, case)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
