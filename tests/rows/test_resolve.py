"""Facts of columns from optional metadata: whose bit and whose character set is whose."""

from __future__ import annotations

import pytest

import binlogkit as bk
from binlogkit_fixtures.golden import case


def columns(cell: str, scenario: str) -> dict[tuple[str, str], dict[str, object]]:
    golden = case(cell, scenario)
    tables = bk.open([str(path) for path in golden.binlogs]).tables(engine="pyarrow")
    return {(r["table"], r["column"]): r for r in tables.to_pylist()}


def test_a_vector_has_a_place_among_the_character_sets() -> None:
    """9.7.4 counts VECTOR, so that a text column behind one has the second character set."""
    found = columns("9-row-full", "modern")
    vectors = [key for key, column in found.items() if column["kind"] == "vector"]
    assert vectors
    truth = {
        (name.partition(".")[2], column.name): column.charset
        for name, table in case("9-row-full", "modern").manifest.marks[-1].tables.items()
        for column in table.columns
        if column.charset is not None
    }
    checked = {key: found[key]["charset"] for key in truth if key in found}
    assert checked and checked == {key: truth[key] for key in checked}


@pytest.mark.parametrize("cell", ["8.0-row-full", "8.0-row-full-metadata", "5.7-row-full"])
def test_types_are_those_of_information_schema(cell: str) -> None:
    """Signs, lengths, scales, labels: as COLUMN_TYPE says, display widths of 5.7 aside."""
    import re

    golden = case(cell, "types")
    found = columns(cell, "types")
    checked = 0
    for name, table in golden.manifest.marks[-1].tables.items():
        for column in table.columns:
            ours = found.get((name.partition(".")[2], column.name))
            if ours is None or ours["kind"] in ("geometry", "set", "enum"):
                continue
            theirs = re.sub(r"\b(tiny|small|medium|big)?int\(\d+\)", r"\1int", column.type)
            theirs = re.sub(r"year\(\d\)| zerofill|\(\d+,\d+\)(?= unsigned$|$)", _kept, theirs)
            assert ours["unsigned"] == ("unsigned" in column.type)
            assert str(ours["mysql_type"]).split("(")[0] == theirs.split("(")[0], column
            checked += 1
    assert checked > 50


def _kept(match: object) -> str:
    text = match.group(0)  # type: ignore[attr-defined]
    return "year" if text.startswith("year") else "" if "zerofill" in text else text
