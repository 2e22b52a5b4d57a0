"""Campaigns: what breaks a promise is found, kept as the smallest input, and reported once.

The long form is ``make fuzz FUZZ_ARGS='--campaign …'`` (docs/hostile-input.md).
"""

from __future__ import annotations

import faulthandler
import json
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fuzz.binlogkit_fuzz.campaign import BROKEN, Campaign, left_over
from tests.fuzz.binlogkit_fuzz.framing import split
from tests.fuzz.binlogkit_fuzz.targets import TARGETS, Target
from tests.fuzz.test_driver import run as run_driver

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs POSIX timers")

XID, QUERY = 16, 2
Make = Callable[..., Campaign]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Builds a campaign of a target with few seeds."""

    def build(target: Target, timeout: float = 10) -> Campaign:
        return Campaign(target, tmp_path, longest=640, timeout=timeout, seed=7, begins=4)

    return build


def of(run: Callable[[bytes], None], **others: object) -> Target:
    return replace(TARGETS["framing"], run=run, together=None, **others)  # type: ignore[arg-type]


def codes(data: bytes) -> list[int]:
    return [part.code for part in split(data).parts]


def with_xid(data: bytes) -> None:
    if XID in codes(data):
        raise KeyError("planted")


@pytest.mark.parametrize("name", ["log_audit", "log_undo", "log_state", "log_explain"])
@pytest.mark.slow
def test_a_slice(name: str, make: Make) -> None:
    campaign = make(TARGETS[name])
    assert campaign.run(runs=120) == 0, campaign.record.faults
    assert campaign.record.inputs == 120 and campaign.record.edges > 1000


def test_the_watch_ends_with_the_campaign(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would end the process of whoever ran the campaign, minutes later."""
    calls: list[str] = []
    for name in ("dump_traceback_later", "cancel_dump_traceback_later"):
        monkeypatch.setattr(faulthandler, name, lambda *_, _name=name, **__: calls.append(_name))
    make(of(with_xid)).run(runs=3)
    assert calls[0] == "dump_traceback_later" and calls[-1] == "cancel_dump_traceback_later"


def test_a_broken_promise_is_kept_as_the_smallest_input(make: Make, tmp_path: Path) -> None:
    assert make(of(with_xid)).run(runs=200) == BROKEN
    record = json.loads((tmp_path / "campaign.json").read_text("utf-8"))
    (fault, name), *others = record["faults"].items()
    assert fault.startswith("KeyError at test_campaign.py") and not others
    smallest = (tmp_path / name).read_bytes()
    assert codes(smallest) == [XID] and not split(smallest).parts[0].body


def test_a_campaign_goes_on(make: Make) -> None:
    """It counts on, and makes other inputs than before."""
    seen: list[bytes] = []
    make(of(seen.append)).run(runs=60)
    first = set(seen)
    seen.clear()
    campaign = make(of(seen.append))
    campaign.run(runs=60)
    assert campaign.record.inputs == 120
    assert len(set(seen) - first) > 50


def test_an_input_over_its_time(make: Make) -> None:
    def spins(data: bytes) -> None:
        while XID in codes(data):
            time.process_time()

    campaign = make(of(spins), timeout=0.05)
    assert campaign.run(runs=8) == BROKEN
    (fault,) = campaign.record.faults
    assert fault == "TimeoutError"


def test_time_that_something_swallows_counts(make: Make) -> None:
    def spins(data: bytes) -> None:
        end = time.process_time() + 0.08
        while XID in codes(data) and time.process_time() < end:
            pass

    def swallows(data: bytes) -> None:
        for _ in range(2):
            try:
                spins(data)
            except TimeoutError:
                continue

    assert make(of(swallows), timeout=0.05).run(runs=8) == BROKEN


def test_inputs_in_one_call_that_break_a_promise_together(make: Make, tmp_path: Path) -> None:
    def alone(data: bytes) -> None:
        assert isinstance(data, bytes)

    def together(logs: Sequence[bytes]) -> None:
        found = {code for log in logs for code in codes(log) if code in (XID, QUERY)}
        several = sum(bool({XID, QUERY} & set(codes(log))) for log in logs)
        if found == {XID, QUERY} and several > 1:
            raise KeyError("planted")

    campaign = make(replace(of(alone), together=together))
    assert campaign.run(runs=64) == BROKEN
    (name,) = campaign.record.faults.values()
    few = sorted(tmp_path.glob(f"{name}.*"))[:2]
    kept = sorted(code for path in few for code in codes(path.read_bytes()))
    assert set(kept) == {QUERY, XID} and len(kept) <= 3


def test_inputs_that_break_one_alone_are_told_as_that(make: Make) -> None:
    def together(logs: Sequence[bytes]) -> None:
        for log in logs:
            with_xid(log)

    campaign = make(replace(of(with_xid), together=together))
    assert campaign.run(runs=64) == BROKEN
    (name,) = campaign.record.faults.values()
    assert "." not in name


def test_what_ran_when_the_process_was_ended(make: Make, tmp_path: Path) -> None:
    def ends(data: bytes) -> None:
        assert left_over(tmp_path) == [data]

    assert make(of(ends)).run(runs=30) == 0
    assert left_over(tmp_path) == []


@pytest.mark.slow
def test_the_driver_runs_one(tmp_path: Path) -> None:
    done = run_driver("log_undo", "--campaign", "--runs", "150", "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["inputs"] == 150 and result["edges"] > 2000


@pytest.mark.slow
def test_the_driver_keeps_what_ended_its_process(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import os, signal\n"
        "import binlogkit._kernel.metadata as m\n"
        "def broken(*_):\n    os.kill(os.getpid(), signal.SIGSEGV)\n"
        "m.resolve = broken\n",
        encoding="utf-8",
    )
    arguments = ("metadata", "--campaign", "--runs", "500", "--out", str(tmp_path))
    done = run_driver(*arguments, PYTHONPATH=str(tmp_path))
    assert done.returncode == 1
    assert json.loads(done.stdout)["status"] == -signal.SIGSEGV
    assert list((tmp_path / "metadata").glob("crash-*"))
