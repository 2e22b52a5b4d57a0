"""Puts small faults into the code, one at a time, and asks the tests beside it whether they notice.

    python tools/mutate.py [--sample N] [--seed N] [--modules GLOB …]

The faults are those of cosmic-ray: an operator, a number, a
condition exchanged. Changed is a copy of ``toolkit/``; the tests are those that mirror a module
(:data:`TESTS` where that is not plain), the quick ones, one process, in a child for each fault.
With ``--wide`` those of the rooms above it (:data:`WIDE`) are asked of what these did not notice.
Left out are faults that change nothing: in annotations, and in what a dataclass promises.

Prints each fault that was not noticed; status 1 if these are more than ``--allow`` of all, those
not counted that ``tools/survivors.toml`` explains. docs/mutation.md has figures.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import tomllib
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path("binlogkit")
#: What is sampled: patterns below toolkit/binlogkit.
AREAS = (
    "analyses/*.py", "analyses/audit/*.py", "analyses/conformance/*.py",
    "analyses/point_in_time/*.py", "rows/*.py", "rows/soundness/*.py", "sources/*.py",
    "sources/server/*.py",
)  # fmt: skip
#: A module, or a folder, and the tests that are beside it under another name.
TESTS = {
    "analyses/_cells": ("analyses/test_planner.py", "analyses/test_plans.py"),
    "analyses/_frames": ("analyses/audit",),
    "analyses/_later_ddl": ("analyses/test_undo.py", "analyses/test_plans.py"),
    "analyses/_savepoints": ("analyses/test_savepoints.py", "analyses/point_in_time"),
    "analyses/audit": ("analyses/audit",),
    "analyses/audit/rhythm": ("analyses/audit/test_ledger.py",),
    "analyses/conformance": ("analyses/conformance",),
    "analyses/point_in_time": ("analyses/point_in_time",),
    "rows": ("rows/test_reading.py",),
    "rows/gtid_ledger": ("rows/test_series.py", "analyses/verify"),
    "rows/schema": ("rows/test_schema.py", "rows/test_resolve.py"),
    "rows/soundness": ("analyses/verify",),
    "rows/table_history": ("rows/test_resolve.py", "rows/ddl/test_catalog.py"),
    "rows/type_text": ("rows/test_schema.py", "rows/test_resolve.py"),
    "sources": ("sources/test_log_reader.py",),
    "sources/connection": ("sources/server/test_connection.py",),
    "sources/framing": ("sources/test_loose_events.py",),
    "sources/layers": ("sources/test_chunks.py", "sources/test_unpacking.py"),
    "sources/plausible": ("sources/test_resync.py",),
    "sources/recovery": ("sources/test_resync.py",),
    "sources/server": ("sources/server",),
}
#: By room: whatever uses it.
WIDE = {
    "analyses": ("analyses", "log", "cli"),
    "rows": ("rows", "frames", "analyses/verify", "log", "cli"),
    "sources": ("sources", "rows/test_reading.py", "log", "cli"),
}
#: What may survive: module, line as it is, what it becomes (any change where it is left out), why.
EXPLAINED = Path(__file__).with_name("survivors.toml")
OUTPUT = "output.txt"
QUICK = "not slow and not spark and not server and not oracle and not notebook"
_OPERATORS = (
    "core/AddNot", "core/NumberReplacer", "core/ReplaceAndWithOr", "core/ReplaceOrWithAnd",
    "core/ReplaceBreakWithContinue", "core/ReplaceContinueWithBreak", "core/ReplaceTrueWithFalse",
    "core/ReplaceFalseWithTrue", "core/ZeroIterationForLoop", "core/ReplaceBinaryOperator_",
    "core/ReplaceComparisonOperator_", "core/ReplaceUnaryOperator_",
)  # fmt: skip
_LONGEST = 3600.0
_LEAST = 60.0  # seconds before a fault that makes the tests run on counts as noticed


@dataclass(frozen=True)
class Fault:
    """``line``: 1-based; ``code``: the whole module with the fault in it."""

    module: Path
    line: int
    operator: str
    code: str


def faults(source: str, module: Path, chance: random.Random, count: int) -> Iterator[Fault]:
    """``count`` faults of a module, each at another place, every place as likely."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator, operator_names

    places: dict[Any, list[tuple[str, int]]] = {}
    for name in operator_names():
        if not name.startswith(_OPERATORS):
            continue
        operator, number = get_operator(name)(), 0
        for node in ast_nodes(get_ast(source)):
            for start, _ in operator.mutation_positions(node):
                places.setdefault(start, []).append((name, number))
                number += 1
    meaning = _meaning(source)
    order = sorted(places)
    chance.shuffle(order)
    for start in order:
        if count == 0:
            return
        name, number = chance.choice(places[start])
        code = mutate_code(source, get_operator(name)(), number)
        if code is not None and _meaning(code) not in (meaning, None):
            count -= 1
            yield Fault(module, start[0], name.removeprefix("core/"), code)


class _Meaning(ast.NodeTransformer):
    """Without annotations, docstrings, and the promises of dataclasses."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.decorator_list = []
        return self.generic_visit(node)


def _meaning(source: str) -> str | None:
    """What a module does, as text to compare; None where it is no Python."""
    try:
        return ast.dump(_Meaning().visit(ast.parse(source)))
    except SyntaxError:
        return None


def tests_of(module: Path) -> list[str]:
    """The test file of a module's name, else those of :data:`TESTS` for it or its folder."""
    inside = module.relative_to(PACKAGE).with_suffix("")
    own = ROOT / "tests" / inside.parent / f"test_{inside.name.strip('_')}.py"
    places = [inside, *inside.parents]
    listed = next((TESTS[str(place)] for place in places if str(place) in TESTS), ())
    named = TESTS.get(str(inside)) or ((own.relative_to(ROOT / "tests"),) if own.exists() else ())
    return [str(ROOT / "tests" / path) for path in named or listed]


def noticed(folder: Path, tests: list[str], limit: float) -> bool:
    """Whether the tests fail, or do not end in ``limit`` seconds, with the code in ``folder``."""
    child = os.fork()
    if not child:
        _run(folder, tests)
    until = time.monotonic() + limit
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status) != 0
        time.sleep(0.1)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return True


def _run(folder: Path, tests: list[str]) -> None:
    """Run the tests in this child process and end it. That a busy machine is slow is no fault."""
    import pytest

    os.setsid()
    os.chdir(ROOT)
    output = os.open(folder / OUTPUT, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    for stream in (0, 1, 2):
        os.dup2(output, stream)
    sys.path.insert(0, str(folder))
    known = os.environ.get("PYTHONPATH", "")
    os.environ.update(
        PYTHONPATH=f"{folder}:{ROOT / 'fixtures_gen'}:{known}", PYTHONDONTWRITEBYTECODE="1",
        HYPOTHESIS_STORAGE_DIRECTORY=str(folder / ".hypothesis"),
    )  # fmt: skip
    sys.dont_write_bytecode = True
    options = ["-x", "-q", "-m", QUICK, "-p", "no:cacheprovider", "-p", "no:xdist"]
    options.append("--hypothesis-profile=ci")  # always the same examples, as slow as they may be
    code = 2
    try:
        code = pytest.main([*options, *tests])
    except BaseException:  # noqa: BLE001  # the child must not run on in its parent's place
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if code != 5 else 0)  # 5: no test was chosen


def modules(patterns: list[str]) -> list[Path]:
    """The modules that match, sorted."""
    base = ROOT / "toolkit" / PACKAGE
    found = {path for pattern in patterns for path in base.glob(pattern)}
    return sorted(path.relative_to(base.parent) for path in found if path.name != "__init__.py")


def campaign(
    patterns: list[str], sample: int, seed: int, most: int | None, *, wide: bool
) -> tuple[int, list[Fault], int]:
    """How many faults were tried, those that no test noticed, and how many of these are explained,
    which are not among them."""
    import numpy  # noqa: F401
    import pandas  # noqa: F401
    import pyarrow  # noqa: F401  # loaded once, not in each child

    chosen = modules(patterns)
    if most is not None and most < len(chosen):
        chosen = sorted(random.Random(seed).sample(chosen, most))
    tried, explained, survivors = 0, 0, []
    known = tomllib.loads(EXPLAINED.read_text("utf-8"))["survivor"]
    with tempfile.TemporaryDirectory(prefix="binlogkit-mutate-") as place:
        folder = Path(place) / "toolkit"
        shutil.copytree(ROOT / "toolkit", folder, ignore=shutil.ignore_patterns("__pycache__"))
        for module in chosen:
            path, tests = folder / module, tests_of(module)
            source, begun = path.read_text("utf-8"), time.monotonic()
            if noticed(folder, tests, _LONGEST):
                told = (folder / OUTPUT).read_text("utf-8", "replace")
                sys.exit(f"{told}\n{module}: its tests fail as it is: {' '.join(tests)}")
            limit = 3 * (time.monotonic() - begun) + _LEAST
            lived = 0
            above = [str(ROOT / "tests" / place) for place in WIDE[module.parts[1]]]
            for fault in faults(source, module, random.Random(f"{seed} {module}"), sample):
                path.write_text(fault.code, "utf-8")
                tried += 1
                if noticed(folder, tests, limit):
                    continue
                why = _why(fault, source, known)
                if why is not None:
                    explained += 1
                    print(f"{fault.module}:{fault.line}: explained: {why}", flush=True)
                    continue
                elsewhere = wide and noticed(folder, above, _LONGEST)
                print(_shown(fault, source, elsewhere=elsewhere), flush=True)
                if not elsewhere:
                    survivors.append(fault)
                    lived += 1
            path.write_text(source, "utf-8")
            print(f"{module}: {lived} not noticed; {tried} so far", flush=True)
    return tried, survivors, explained


def _why(fault: Fault, source: str, known: list[dict[str, str]]) -> str | None:
    """Why a fault may survive, as it is explained."""
    _, *lines = _changed(fault, source)
    was, becomes = ([x[1:].strip() for x in lines if x[0] == sign] for sign in "-+")
    for one in known:
        same = f"binlogkit/{one['module']}" == fault.module.as_posix() and was == [one["was"]]
        if same and becomes == [one.get("becomes", *becomes)]:
            return one["why"]
    return None


def _changed(fault: Fault, source: str) -> list[str]:
    """The place of a fault, and its lines as they were and are."""
    lines = difflib.unified_diff(source.splitlines(), fault.code.splitlines(), lineterm="", n=0)
    return [line for line in lines if line[:3] not in ("---", "+++")]


def _shown(fault: Fault, source: str, *, elsewhere: bool) -> str:
    changed = "\n".join(_changed(fault, source))
    told = "noticed elsewhere" if elsewhere else "NOT NOTICED"
    return f"{fault.module}:{fault.line}: {fault.operator}: {told}\n{changed}"


def main() -> None:
    """Run a campaign."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--modules", nargs="*", default=list(AREAS), metavar="GLOB")
    parser.add_argument("--sample", type=int, default=4, help="faults for each module")
    parser.add_argument("--most", type=int, help="of the modules, so many by chance")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--wide", action="store_true", help="ask the rooms above, too (slow)")
    parser.add_argument("--allow", type=float, default=0.05, help="part that may survive")
    args = parser.parse_args()
    tried, survivors, explained = campaign(
        args.modules, args.sample, args.seed, args.most, wide=args.wide
    )
    print(f"{tried} faults, {len(survivors)} not noticed, {explained} more explained")
    sys.exit(len(survivors) > args.allow * tried)


if __name__ == "__main__":
    main()
