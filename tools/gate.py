"""Run the tests of the gate, and those that may be unsteady once more: ``python -m tools.gate``.

The gate is what ``make test`` runs: all quick tests, and of each kind that needs servers, Spark,
mysqlbinlog or a notebook those with the marker ``gate``. The rest is left to ``make prove``.

A test with the marker ``server``, ``spark``, ``oracle``, ``notebook`` or ``process`` depends on
processes beside it. At most three of those that failed run again, first with their whole module,
then alone. One that passes both is unsteady: the gate passes, lists it last, and keeps what it
printed in ``out/gate``. Everything else that fails makes the gate fail: a quick test, a worker, a
test whose two further runs differ.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "out" / "gate"
#: Tests that are run again.
UNSTEADY = ("server", "oracle", "spark", "notebook", "process")
#: Files with tests that start Spark.
SPARK = ("tests/spark/", "tests/docs/test_documents.py")
MOST = 3
SLOWEST = 30
SECONDS = 900  # of a further run
_LEFT = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(slots=True)
class Report:
    """What a run of pytest did, as its plugin.

    ``seconds``: of each test, with its fixtures. ``failed``: what each test that failed said.
    ``broken``: what failed and is no test. ``left``: how many tests each part of ``make prove``
    has beside the gate. ``servers``: how many servers each worker started for all its tests.
    """

    seconds: dict[str, float] = field(default_factory=dict)
    markers: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)
    left: Mapping[str, int] = field(default_factory=dict)
    servers: dict[str, int] = field(default_factory=dict)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0) + report.duration
        kinds = [name for name in UNSTEADY if name in report.keywords]
        self.markers[report.nodeid] = kinds[0] if kinds else "quick"
        if report.failed:
            text = "\n".join([report.longreprtext, *(f"{a}\n{b}" for a, b in report.sections)])
            self.failed[report.nodeid] = self.failed.get(report.nodeid, "") + text
            if report.when not in ("setup", "call", "teardown"):
                self.broken.append(f"a worker ended in {report.nodeid}")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.broken.append(f"{report.nodeid} cannot be collected")

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        if error:
            self.broken.append(f"worker {node.gateway.id}: {error}")
        output = getattr(node, "workeroutput", {})
        self.left = output.get("left", self.left)
        self.servers[node.gateway.id] = output.get("servers", 0)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> object:
        """A file's tests go to one worker, and all of Spark's: a session costs twenty seconds."""
        from xdist.scheduler import LoadFileScheduling

        class OneSpark(LoadFileScheduling):  # type: ignore[misc]
            def _split_scope(self, nodeid: str) -> str:
                file: str = super()._split_scope(nodeid)
                return "spark" if file.startswith(SPARK) else file

        return OneSpark(config, log)

    @property
    def again(self) -> list[str]:
        """The tests that may run again, if all that failed are such and few enough."""
        fit = all(self.markers.get(test) in UNSTEADY for test in self.failed)
        return [*self.failed] if fit and not self.broken and len(self.failed) <= MOST else []

    def lines(self) -> Iterator[str]:
        """Where the seconds went, and what is not in the gate."""
        yield f"the slowest {SLOWEST} tests, with their fixtures:"
        slowest = sorted(self.seconds.items(), key=itemgetter(1), reverse=True)
        for test, seconds in slowest[:SLOWEST]:
            yield f"{seconds:7.1f} s  {test}"
        spent = dict.fromkeys(["quick", *UNSTEADY], 0.0)
        for test, seconds in slowest:
            spent[self.markers[test]] += seconds
        by_marker = (f"{name} {seconds:.0f} s" for name, seconds in spent.items() if seconds)
        yield f"seconds of tests by marker: {', '.join(by_marker)}"
        if self.servers:
            yield f"servers shared by a worker's tests: {self.servers}"
        if self.left:
            left = ", ".join(f"{name} {count}" for name, count in sorted(self.left.items()))
            yield f"left to `make prove`: {sum(self.left.values())} tests ({left})"


def run_again(test: str) -> tuple[bool, bool, str]:
    """Whether ``test`` passes with its module, and alone, and what both runs printed."""
    with_module, first = _pytest(test.split("::")[0], test)
    alone, second = _pytest(test, test)
    return with_module, alone, f"with its module:\n{first}\nalone:\n{second}"


def _pytest(chosen: str, test: str) -> tuple[bool, str]:
    """Run ``chosen`` in order in one process: whether all passes, ``test`` among it."""
    command = [sys.executable, "-m", "pytest", "--part", "gate", "-v", chosen]
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=SECONDS
        )
    except subprocess.TimeoutExpired as late:
        return False, f"{' '.join(command)}: no end within {late.timeout:.0f} s"
    text = done.stdout + done.stderr
    return done.returncode == 0 and f"{test} PASSED" in text, text


def settle(
    report: Report, out: Path = OUT, again: Callable[[str], tuple[bool, bool, str]] = run_again
) -> tuple[int, list[str]]:
    """The exit status after the further runs, and what is to be said last."""
    if not report.again:
        return 1, [f"FAILED: {text}" for text in report.broken]
    out.mkdir(parents=True, exist_ok=True)
    status, lines = 0, []
    for test in report.again:
        with_module, alone, text = again(test)
        kept = out / f"{_LEFT.sub('-', test)[:120]}.txt"
        kept.write_text(f"{test}\n{report.failed[test]}\n{text}", encoding="utf-8")
        if with_module and alone:
            lines.append(f"UNSTEADY: {test} failed once and passed twice: mend it first ({kept})")
        else:
            status = 1
            passed = "passed" if alone else "failed"
            lines.append(f"FAILED: {test} with its module or alone; alone it {passed} ({kept})")
        lines.append(report.failed[test])
    return status, lines


def main(arguments: Sequence[str]) -> int:
    report = Report()
    workers = str(os.cpu_count() or 1)
    wanted = ["--part", "gate", "-n", workers, "--dist", "loadfile", "--no-loadscope-reorder"]
    OUT.mkdir(parents=True, exist_ok=True)
    for old in OUT.glob("*.txt"):
        old.unlink()
    status = int(pytest.main([*wanted, *arguments], plugins=[report]))
    print("", *report.lines(), sep="\n", flush=True)
    if status == pytest.ExitCode.TESTS_FAILED:
        status, lines = settle(report)
        print("", *lines, sep="\n", flush=True)
        if status == 0:
            (OUT / "unsteady.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
