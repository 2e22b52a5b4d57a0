"""What a failed test of the gate leads to."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import gate

CONFTEST = """
import pytest

def pytest_addoption(parser):
    parser.addoption("--part")

def pytest_configure(config):
    for name in ("server", "process"):
        config.addinivalue_line("markers", name)
"""
STEADY = "@pytest.mark.process\ndef test_{name}():\n    assert False, 'wrong'\n"
QUICK = "def test_quick():\n    assert False, 'wrong'\n"
#: It fails when it runs for the first time.
ONCE = """
@pytest.mark.server
def test_once(request):
    there = request.config.rootpath / "there"
    again = there.exists()
    there.touch()
    assert again, "too early"
"""
SPOILED = """
@pytest.mark.process
def test_spoils(request):
    request.config.rootpath.joinpath("spoiled").touch()

@pytest.mark.process
def test_is_spoiled(request):
    there = request.config.rootpath / "spoiled"
    spoiled = there.exists()
    there.unlink(missing_ok=True)
    assert not spoiled
"""


@pytest.fixture
def failed(pytester: pytest.Pytester, request: pytest.FixtureRequest) -> gate.Report:
    """What a run reports of the modules that the parameter names, each with its text."""
    pytester.makeconftest(CONFTEST)
    texts = {f"test_{name}": f"import pytest\n{text}" for name, text in request.param.items()}
    pytester.makepyfile(**texts)
    report = gate.Report()
    pytester.inline_run(plugins=[report])
    return report


FEW = {"a": "".join(STEADY.format(name=name) for name in "xyz")}
MANY = {"a": "".join(STEADY.format(name=name) for name in "wxyz")}


@pytest.mark.parametrize(
    ("failed", "again"),
    [
        (FEW, ["test_a.py::test_x", "test_a.py::test_y", "test_a.py::test_z"]),
        (MANY, []),
        ({"a": QUICK}, []),
        ({"a": QUICK, "b": STEADY.format(name="x")}, []),
        ({"a": "import nothing_of_this_name", "b": STEADY.format(name="x")}, []),
    ],
    indirect=["failed"],
)
def test_what_runs_again(failed: gate.Report, again: list[str]) -> None:
    assert failed.again == again


@pytest.mark.parametrize("failed", [FEW], indirect=True)
@pytest.mark.parametrize(
    ("outcomes", "status", "said"),
    [
        ((True, True), 0, "UNSTEADY: test_a.py::test_x failed once and passed twice"),
        ((False, True), 1, "FAILED: test_a.py::test_x with its module or alone; alone it passed"),
        ((True, False), 1, "alone it failed"),
        ((False, False), 1, "alone it failed"),
    ],
)
def test_what_follows(
    failed: gate.Report, outcomes: tuple[bool, bool], status: int, said: str, tmp_path: Path
) -> None:
    """``outcomes``: of one test with its module and alone; the two others pass both."""

    def again(test: str) -> tuple[bool, bool, str]:
        return (*(outcomes if test.endswith("x") else (True, True)), f"again: {test}")

    found, lines = gate.settle(failed, tmp_path, again)
    assert (found, said in lines[0], len(lines)) == (status, True, 6)
    assert "assert False" in lines[1]
    kept = [path.read_text(encoding="utf-8") for path in sorted(tmp_path.glob("*.txt"))]
    assert ["assert False" in text and "again: test_a.py" in text for text in kept] == [True] * 3


@pytest.mark.parametrize("failed", [{"a": "import nothing_of_this_name"}], indirect=True)
def test_what_is_no_test(failed: gate.Report, tmp_path: Path) -> None:
    assert gate.settle(failed, tmp_path) == (1, ["FAILED: test_a.py cannot be collected"])


@pytest.mark.process
@pytest.mark.parametrize(
    ("failed", "outcome"),
    [({"a": ONCE}, (True, True)), ({"a": SPOILED}, (False, True))],
    indirect=["failed"],
)
def test_the_runs_themselves(
    failed: gate.Report, outcome: tuple[bool, bool], pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Each is a pytest of its own."""
    monkeypatch.setattr(gate, "ROOT", pytester.path)
    (test,) = failed.again
    *found, text = gate.run_again(test)
    assert (*found, "with its module:" in text, "alone:" in text) == (*outcome, True, True)


def test_a_lost_worker_is_no_unsteady_test() -> None:
    """pytest-xdist reports the test in which a worker ended without any phase."""
    report = gate.Report()
    ended = pytest.TestReport("t.py::test", ("t.py", 0, "test"), {}, "failed", "gone", "???")  # type: ignore[arg-type]
    report.pytest_runtest_logreport(ended)
    assert (report.again, report.broken) == ([], ["a worker ended in t.py::test"])


def test_where_the_seconds_went() -> None:
    report = gate.Report()
    for name, seconds in (("a", 2.0), ("b", 30.0)):
        done = pytest.TestReport(
            f"t.py::{name}", ("t.py", 0, name), {"spark": 1} if name == "b" else {}, "passed",
            None, "call", duration=seconds,
        )  # fmt: skip
        report.pytest_runtest_logreport(done)
    report.left = {"states": 4, "spark": 2}
    lines = [*report.lines()]
    assert lines[1:3] == ["   30.0 s  t.py::b", "    2.0 s  t.py::a"]
    assert lines[3:] == [
        "seconds of tests by marker: quick 2 s, spark 30 s",
        "left to `make prove`: 6 tests (spark 2, states 4)",
    ]
