"""Real decoders over golden logs: what is known to be wrong with them comes out, and has a name.

Each defect is shown twice: by the judge, and by what the decoder's own program prints of that row.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from binlogkit_fixtures import golden
from tests.decoders.suite import DECODERS, PAGE, Program, judge

pytestmark = pytest.mark.slow

TYPES = golden.case("8.0-row-full", "types")
SAMPLE = [
    TYPES,
    golden.case("8.0-row-compressed", "json"),
    golden.case("8.0-row-partial-json", "json"),
    golden.case("5.7-row-minimal", "transactions"),
]


@pytest.fixture(scope="module", params=list(DECODERS))
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Program:
    return DECODERS[request.param](tmp_path_factory.mktemp("decoder"))


#: What the judge must find in the sample, by the decoder.
DEFECTS = {
    "go-mysql": {
        "unsigned-shown-negative", "binary-unpadded", "charset-not-converted", "json-rewritten",
        "json-decimal-as-text", "json-opaque-otherwise", "go-mysql lacks this row",
    },
    "python-mysql-replication": {
        "unsigned-shown-negative", "negative-time-fraction", "value-as-null", "absent-as-null",
        "zero-date-as-null", "json-diff-not-applied", "python-mysql-replication lacks this row",
    },
}  # fmt: skip


def test_known_defects_come_out_and_nothing_is_without_a_name(program: Program) -> None:
    verdicts = judge(program, SAMPLE)
    assert verdicts.rows > 200
    found = {what for kind, what in verdicts.found if kind in ("ours", "unexplained")}
    assert found >= DEFECTS[program.name]
    unnamed = {what for kind, what in verdicts.found if kind == "unexplained"}
    assert unnamed == {f"{program.name} lacks this row"}


def _printed(program: Program, case: golden.GoldenCase) -> list[dict[str, Any]]:
    done = program.run(case.binlogs[0])
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_unsigned_integers_are_printed_negative(program: Program) -> None:
    """types.integers, row 1: TINYINT UNSIGNED 255 is the third column."""
    rows = [row for row in _printed(program, TYPES) if row["table"] == "integers"]
    assert rows[1]["after"]["@3"] == -1


def test_compressed_transactions(program: Program) -> None:
    """python-mysql-replication prints nothing of them, and says nothing of it."""
    done = program.run(golden.case("8.0-row-compressed", "keys").binlogs[0])
    printed = done.stdout.splitlines()
    if program.name == "python-mysql-replication":
        assert (done.returncode, printed) == (0, [])
    else:
        assert len(printed) == len(golden.case("8.0-row-compressed", "keys").rows)


def test_text_of_other_character_sets(program: Program) -> None:
    """go-mysql prints the stored bytes; the other decodes all as UTF-8, and ends at latin1's."""
    done = program.run(TYPES.binlogs[0])
    if program.name == "go-mysql":
        assert '"\\u0000A\\u0000z' in done.stdout
    else:
        assert done.returncode == 1
        assert "UnicodeDecodeError" in done.stderr


def test_partial_json(program: Program) -> None:
    done = program.run(golden.case("8.0-row-partial-json", "json").binlogs[0])
    if program.name == "go-mysql":
        assert "panic: runtime error: index out of range" in done.stderr
    else:
        assert "JsonDiffOperation.Replace" in done.stdout
        assert "AttributeError" in done.stderr


def test_the_page_is_of_these_versions(program: Program) -> None:
    """docs/decoders.md; made by ``python -m tests.decoders.suite``."""
    text = Path(PAGE).read_text("utf-8")
    assert f"## {program.name} {program.version.removeprefix('v')}\n" in text
    section = text.partition(f"## {program.name} ")[2].partition("\n## ")[0]
    for what in DEFECTS[program.name]:
        assert what in section
