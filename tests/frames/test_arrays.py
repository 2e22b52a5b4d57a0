"""Arrow arrays that are made without ``pyarrow.array``: what they hold, what they do not load."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binlogkit._kernel.columns import MAX_ROWS
from binlogkit.frames.arrays import (
    constant,
    integers,
    nothing,
    one_number,
    places_of,
    text_array,
)

DATA = Path(__file__).parent.parent / "_data"
LOG = DATA / "8.0-row-full" / "keys" / "binlog.000001"


@settings(deadline=None)
@given(st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"]))))
def test_text(values: list[str | None]) -> None:
    array = text_array(values)
    array.validate(full=True)
    assert array.equals(pa.array(values, pa.string()))


@settings(deadline=None)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=2)))
def test_places_in_a_dictionary(values: list[str]) -> None:
    coded = text_array(values).dictionary_encode()
    assert [coded.dictionary[i].as_py() for i in places_of(coded).tolist()] == values


def test_integers() -> None:
    assert integers(np.array([3, -1, 0], np.int64)).equals(pa.array([3, -1, 0], pa.int32()))


def test_constants_and_nulls_of_any_length() -> None:
    kind = pa.dictionary(pa.int32(), pa.string())
    for rows in (0, 1, MAX_ROWS, MAX_ROWS + 1, 7):
        for text in ("source", None):
            array = constant(text, rows)
            array.validate(full=True)
            assert array.type == kind and array.to_pylist() == [text] * rows
        nulls = nothing("int64", pa.int64(), rows)
        assert len(nulls) == nulls.null_count == rows


def test_batches_of_common_tables_load_no_pandas() -> None:
    program = (
        "import sys, binlogkit\n"
        f"batches = list(binlogkit.open({str(LOG)!r}).batches())\n"
        "assert batches\n"
        "print([name for name in ('pandas', 'pyarrow.compute') if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("rows", [1, 5, MAX_ROWS, MAX_ROWS + 3])
def test_one_number_for_all_rows(rows: int) -> None:
    made = one_number(-7, rows)
    made.validate(full=True)
    assert made.to_pylist() == [-7] * rows
