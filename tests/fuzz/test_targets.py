"""A slice of the fuzzing: every target, a fixed seed, a bounded number of inputs.

The long form is ``make fuzz`` (docs/hostile-input.md).
"""

from __future__ import annotations

import zlib
from functools import cache
from random import Random

import pytest

from tests.fuzz.binlogkit_fuzz import seeds
from tests.fuzz.binlogkit_fuzz.framing import Part
from tests.fuzz.binlogkit_fuzz.mutate import mutate_bytes, mutate_log
from tests.fuzz.binlogkit_fuzz.targets import TARGETS

SEED = 20261121


@cache
def pool() -> list[Part]:
    return [part for code in range(43) for part in seeds.events_of(code)]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", TARGETS)
def test_no_input_breaks_a_promise(name: str) -> None:
    target = TARGETS[name]
    random = Random(SEED ^ zlib.crc32(name.encode()))
    found = [data[: target.longest] for data in target.seeds()]
    assert found, "no seeds"

    def changed(data: bytes, longest: int) -> bytes:
        return mutate_bytes(data, random, longest)

    for number in range(target.slice):
        as_it_is = number < min(len(found), target.slice // 2)
        data = found[number] if as_it_is else random.choice(found)
        if not as_it_is:
            for _ in range(random.choice((1, 1, 2, 5))):
                if target.framed:
                    data = mutate_log(data, random, target.longest, pool(), changed)
                else:
                    data = changed(data, target.longest)
        try:
            target.run(data)
        except BaseException as error:
            error.add_note(f"target {name}, input {data.hex()}")
            raise
