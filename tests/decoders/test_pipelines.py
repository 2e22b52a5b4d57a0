"""Debezium, Maxwell and canal for real: what they say of a running server is read, and judged.

Their formats are read by what they print, not by what documents say of them; what is wrong in it
has a name.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from binlogkit_fixtures import golden
from tests.decoders.pipelines import PIPELINES, Pipeline
from tests.decoders.suite import judge_pipeline

pytestmark = [pytest.mark.slow, pytest.mark.server]


@pytest.fixture(
    scope="module",
    params=[
        "debezium",
        *(pytest.param(n, marks=pytest.mark.campaign) for n in ("maxwell", "canal")),
    ],
)
def pipeline(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    return PIPELINES[request.param](tmp_path_factory.mktemp("pipeline"))


#: What the judge must find wrong with each, and what it has no name for.
DEFECTS = {
    "debezium": {
        "charset-mistaken", "charset-not-converted", "value-as-null", "zero-date-as-null",
        "zero-date-as-1970", "year-below-100-moved", "year-zero", "label-escaped",
        "unsigned-shown-negative", "json-rewritten", "json-opaque-otherwise",
    },
    "maxwell": {"binary-unpadded"},
    "canal": {
        "charset-damage", "binary-unpadded", "decimal-scale", "charset-not-converted",
        "json-rewritten", "json-opaque-otherwise", "json-text-cut",
    },
}  # fmt: skip
QUOTED = {f"the row's {name} is not the expected one" for name in ("a `key`", "a ``key``")}
UNNAMED = {"debezium": set[str](), "maxwell": QUOTED, "canal": QUOTED}


def test_what_they_print_is_read_and_what_is_wrong_has_a_name(
    pipeline: Pipeline, tmp_path: Path
) -> None:
    stories = ("keys",) if pipeline.name == "maxwell" else ("keys", "types")  # which ends Maxwell
    cases = [golden.case(f"{pipeline.series[0]}-row-full", story) for story in stories]
    verdicts = judge_pipeline(pipeline, cases, tmp_path)
    assert verdicts.ended == {}
    assert verdicts.rows == sum(len(case.rows) for case in cases)
    assert {what for kind, what in verdicts.found if kind == "ours"} >= DEFECTS[pipeline.name]
    assert {what for kind, what in verdicts.found if kind == "unexplained"} == UNNAMED[
        pipeline.name
    ]
