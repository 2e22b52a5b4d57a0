"""The answers are those of digests.txt, but for the differences that were decided.

For one that is not listed: ``python tests/answers/digest.py compare tests/answers/digests.txt
--only NAME --full DIR --show`` shows it, where ``DIR`` holds the full answers of the code before
(``digest.py make … --full DIR`` with its checkout in PYTHONPATH). Then mend it, or decide it by the
bytes and list it in differences.toml.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from binlogkit_answers.asking import answers_of
from binlogkit_answers.differences import Difference, differences, listed, undecided
from binlogkit_answers.inputs import committed
from binlogkit_answers.store import Digests, read

HERE = Path(__file__).parent
DECIDED = listed(HERE / "differences.toml")
INPUTS = committed()
DIGESTS = read(HERE / "digests.txt")
SAMPLE = [
    "golden/8.0-row-full/transactions/binlog.000001",
    "golden/5.7-mixed-full/json",
    "golden/8.0-row-compressed/transactions",
    "rows/5.6.24-relay",
    "encrypted/transactions",
    "truth/part-of-a-key-updated",
    "damaged/relay/hole/0",
    "damaged/8.0-row-full/crash/inserted/0",
]


def _asked(name: str) -> list[Difference]:
    answers = answers_of(INPUTS[name])
    return differences(name, DIGESTS[name], Digests(answers.key, answers.digests()))


def test_every_input_has_digests() -> None:
    """The corpus may not be beside the project: its digests are then left alone."""
    assert set(INPUTS) == {name for name in DIGESTS if "corpus/" not in name or name in INPUTS}


@pytest.mark.parametrize("name", SAMPLE)
def test_a_sample_answers_as_before(name: str) -> None:
    assert undecided(_asked(name), DECIDED, whole=False) == []


@pytest.mark.slow
def test_all_answer_as_before() -> None:
    found = [difference for name in INPUTS for difference in _asked(name)]
    assert undecided(found, DECIDED, whole=set(INPUTS) == set(DIGESTS)) == []
