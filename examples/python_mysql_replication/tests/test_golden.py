"""The library over every golden log: what is wrong is known, and what is known is still wrong."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import decode
import pytest
from known_defects import DEFECTS, Defect

from binlogkit_fixtures import golden
from binlogkit_pytest import RowsDiffer, assert_same_rows

NAME = "python-mysql-replication"


def decoded(log: Path) -> tuple[list[dict[str, Any]], str]:
    """The rows of a log up to the error that ended it, and that error."""
    found: list[dict[str, Any]] = []
    try:
        found.extend(decode.rows(str(log)))
    except Exception as error:  # whatever it is: only a known one excuses the rows behind it
        return found, f"{type(error).__name__}: {error}"
    return found, ""


def check(case: golden.GoldenCase, defects: Sequence[Defect]) -> None:
    """Every row of a case, but for these defects where they are expected."""
    for log in case.binlogs:
        rows, error = decoded(log)
        known = [defect.difference for defect in defects if defect.expected(case, error)]
        assert_same_rows(rows, case, log=log, known=known, decoder=NAME)
        assert not error or any(defect.ends(error) for defect in defects), error


def test_rows(golden_binlog: golden.GoldenCase) -> None:
    """Nothing is wrong but what is known: a new defect fails here."""
    check(golden_binlog, DEFECTS)


@pytest.mark.parametrize(
    "defect",
    [
        pytest.param(
            each, id=each.name, marks=pytest.mark.xfail(raises=RowsDiffer, reason=each.what)
        )
        for each in DEFECTS
    ],
)
def test_known_defect(defect: Defect) -> None:
    """What is known is still wrong: a mended defect fails here (XPASS), and its entry goes."""
    cell, scenario = defect.case.split("/")
    check(golden.case(cell, scenario), [each for each in DEFECTS if each is not defect])


@pytest.mark.golden_binlogs(column_type="bigint unsigned", setting="binlog_row_metadata=FULL")
def test_unsigned_is_told_by_metadata(golden_binlog: golden.GoldenCase) -> None:
    """With FULL metadata the log itself says what is unsigned."""
    kept = [each for each in DEFECTS if each.name != "unsigned-shown-negative"]
    check(golden_binlog, kept)
