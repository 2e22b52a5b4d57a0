"""No test waits for a time or asserts one, and no seed is another one in each run.

``tests/waiting.py`` waits for what is to happen. What is read here is the tests' own code, and not
the programs in texts that some of them run.
"""

from __future__ import annotations

import ast
import threading
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

from tests import waiting
from tests.waiting import joined, set_in_time, until

ROOT = Path(__file__).parents[2]
#: What measures.
MEASURES = ROOT / "tests" / "benchmarks"
#: Files in which something sleeps or shows the time, and why.
REASONS = {
    "tests/waiting.py": "the pause between two questions, up to a deadline",
    "tests/servers.py": "waits for sessions that end, up to a deadline; a server is given up then",
}
SOURCES = [
    path
    for folder in ("tests", "examples")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if MEASURES not in path.parents
]
_CLOCKS = {"time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns"}
#: What has a seed of its own, or asks for none.
_SEEDED = {"Random", "seed", "getstate", "setstate"}


def faults(tree: ast.Module) -> Iterator[str]:
    """What a module does that depends on the time, or on a seed that nobody is given."""
    modules = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    scopes: list[ast.Module | ast.FunctionDef] = [tree]
    scopes += [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    yield from sorted({fault for scope in scopes for fault in _by_clock(scope)})
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (why := _fault(node, modules)):
            yield f"{node.lineno}: {why}"


def _by_clock(scope: ast.Module | ast.FunctionDef) -> Iterator[str]:
    """What rests on what a clock shows, or on a variable that was calculated from it."""
    inner = (ast.FunctionDef, ast.ClassDef) if isinstance(scope, ast.Module) else ()
    parts = [part for part in scope.body if not isinstance(part, inner)]
    nodes = [node for part in parts for node in ast.walk(part)]
    times = {
        target.id
        for node in nodes
        if isinstance(node, ast.Assign) and _shows_time(node.value)
        for target in ast.walk(ast.Tuple(node.targets))
        if isinstance(target, ast.Name)
    }
    for node in nodes:
        if isinstance(node, ast.Assert) and _shows_time(node.test, times):
            yield f"{node.lineno}: asserts a time"
        elif (
            isinstance(node, ast.Call)
            and _name(node.func)[1] in ("Random", "seed")
            and any(_shows_time(argument, times) for argument in node.args)
        ):
            yield f"{node.lineno}: is another seed in each run"


def _shows_time(node: ast.expr, times: Collection[str] = ()) -> bool:
    """Whether a clock is read in it, or one of the variables that hold ``times``."""
    return any(
        (isinstance(one, ast.Call) and _name(one.func)[1] in _CLOCKS and _is_clock(one.func))
        or (isinstance(one, ast.Name) and one.id in times)
        for one in ast.walk(node)
    )


def _is_clock(function: ast.expr) -> bool:
    """``time.time()`` and ``monotonic()``, and not ``row.time()``."""
    return _name(function)[0] in ("time", "")


def _name(function: ast.expr) -> tuple[str, str]:
    """What a function belongs to, and its name."""
    if isinstance(function, ast.Attribute):
        return ast.unparse(function.value), function.attr
    return "", function.id if isinstance(function, ast.Name) else ""


def _fault(call: ast.Call, modules: set[str]) -> str:
    owner, name = _name(call.func)
    if name == "sleep" and owner in ("time", ""):
        return "sleeps"
    if name == "Timer" and owner in ("threading", ""):
        return "waits for a time"
    if name == "wait" and owner.endswith("Event()"):
        return "sleeps: nobody sets this event"
    if owner == "random" and owner in modules and name not in _SEEDED:
        return "is chosen with a seed that nobody is given"
    if name == "Random" and owner in ("random", "") and not call.args:
        return "is another seed in each run"
    return ""


@pytest.mark.parametrize(
    "code",
    [
        "import time\ntime.sleep(1)",
        "from time import sleep\nsleep(1)",
        "import threading\nthreading.Timer(1, stop).start()",
        "import threading\nthreading.Event().wait(2)",
        "import time\nassert time.monotonic() < end",
        "import time\nbegun = time.monotonic()\nassert ask() < begun",
        "def test():\n    took = perf_counter() - begun\n    assert took < 5",
        "import random\nrandom.choice(names)",
        "import random\nrandom.Random()",
        "from random import Random\nRandom()",
        "import random, time\nrandom.Random(time.time_ns())",
        "def test():\n    seed = time.time_ns()\n    chance = random.Random(seed)",
    ],
)
def test_they_are_found(code: str) -> None:
    assert len(list(faults(ast.parse(code)))) == 1


@pytest.mark.parametrize(
    "code",
    [
        "import time\nend = time.monotonic() + 5\nwhile not ask() and time.monotonic() < end: pass",
        "import threading\nover = threading.Event()\nover.wait(0.1)",
        "import random\nrandom.Random(7).choice(names)",
        "def change(random): random.choice('abc')",
        "assert row.time() < 3",
        "stop.sleep(3)",
    ],
)
def test_others_are_not(code: str) -> None:
    assert not list(faults(ast.parse(code)))


def test_no_test_does() -> None:
    found = [
        f"{name}:{fault}"
        for path in SOURCES
        if (name := str(path.relative_to(ROOT))) not in REASONS
        for fault in faults(ast.parse(path.read_bytes()))
    ]
    assert len(SOURCES) > 400
    assert found == []


def test_until_it_is_true() -> None:
    answers = iter([0, "", "yes", "no"])
    assert until(lambda: next(answers), "somebody says yes") == "yes"
    assert next(answers) == "no"


def test_in_vain(monkeypatch: pytest.MonkeyPatch) -> None:
    """It names what was waited for, as it is then."""
    asked = []
    with pytest.raises(AssertionError, match=r"waited 0 seconds in vain: the end$"):
        until(lambda: asked.append(1), "the end", seconds=0)
    with pytest.raises(AssertionError, match=f"in vain: {len(asked) + 1} answers"):
        until(lambda: asked.append(1), lambda: f"{len(asked)} answers", seconds=0)
    monkeypatch.setattr(waiting, "LONG", 0)
    with pytest.raises(AssertionError, match="in vain: a word"):
        set_in_time(threading.Event(), "a word")
    go = threading.Event()
    thread = threading.Thread(target=go.wait, name="busy")
    thread.start()
    with pytest.raises(AssertionError, match="busy does not end"):
        joined(thread)
    go.set()
    monkeypatch.undo()
    joined(thread)
