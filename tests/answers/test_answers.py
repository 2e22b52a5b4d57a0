"""The answers are those of digests.txt, but for the differences that differences.toml lists.

Some inputs here; all of them: ``python tests/answers/digest.py compare tests/answers/digests.txt``.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.answers.binlogkit_answers.asking import answers_of
from tests.answers.binlogkit_answers.differences import differences, listed, undecided
from tests.answers.binlogkit_answers.inputs import committed
from tests.answers.binlogkit_answers.store import Digests, read

HERE = Path(__file__).parent
DECIDED = listed(HERE / "differences.toml")
INPUTS = committed()
DIGESTS = read(HERE / "digests.txt")
SAMPLE = [
    "golden/8.0-row-full/transactions/binlog.000001",
    "golden/5.7-mixed-full/json",
    "golden/8.0-row-compressed/transactions/binlog.000002",
    "rows/5.6.24-relay",
    "encrypted/transactions",
    "truth/part-of-a-key-updated",
    "damaged/relay/hole/0",
    "damaged/8.0-row-full/crash/inserted/0",
    "fuzzed/8.0-row-minimal/keys/1",
]


def test_every_input_has_digests() -> None:
    """Other projects' logs may not be beside this tree; their digests are then left alone."""
    assert set(INPUTS) == {name for name in DIGESTS if "corpus/" not in name or name in INPUTS}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", SAMPLE)
def test_a_sample_answers_as_before(name: str) -> None:
    answers = answers_of(INPUTS[name])
    found = differences(name, DIGESTS[name], Digests(answers.key, answers.digests()))
    assert undecided(found, DECIDED, set(DIGESTS) - {name}) == []
