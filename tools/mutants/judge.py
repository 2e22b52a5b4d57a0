"""Whether tests notice a fault: which are asked, in which order, and how the fault gets there."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tools.mutants.beside import TOOLKIT, tests_of
from tools.mutants.faults import Fault, statement
from tools.mutants.fresh import Fresh
from tools.mutants.reach import Reach
from tools.mutants.session import Session, loaded

_LEAST = 20.0  # seconds of processor time before a fault that makes the tests run on is noticed
_ELSEWHERE = 40.0  # seconds of processor time, under coverage, that are spent on other tests


class Judge:
    """Asks the tests; ``fresh``: where a fault must be loaded; ``near``: only what is beside."""

    def __init__(self, session: Session, reach: Reach, fresh: Fresh, *, near: bool) -> None:
        self._session, self._reach, self._fresh, self._near = session, reach, fresh, near
        if not near:
            reach.measure(session, session.tests)

    def noticed(self, fault: Fault) -> str:
        """The test that notices a fault, "" for none, "(gone)" if its lines are."""
        path = TOOLKIT / fault.module
        source = path.read_text("utf-8")
        place = fault.place(source)
        if place is None:
            return "(gone)"
        put = loaded(fault)
        name: str | None = None
        for tests in self._rounds(fault, source, place, load=put is None):
            if put is not None:
                try:
                    name = self._session.ask(tests, self._limit(tests), put)
                except RuntimeError:
                    put = None
            if put is None:
                name = self._afresh(fault, source, tests)
            if name:
                return name
        # What was computed while tests were collected may hide a fault that is put in later.
        if put is not None:
            return self._afresh(fault, source, self._beside(fault)) or ""
        return ""

    def _rounds(self, fault: Fault, source: str, place: int, *, load: bool) -> Iterator[list[str]]:
        beside = self._beside(fault)
        lines = {place + 1}
        for i in range(len(fault.was)):
            lines.update(statement(source, place + 1 + i))
        reached = range(sys.maxsize) if load else range(min(lines), max(lines) + 1)
        reaching = self._reach.tests(fault.module, reached)
        chosen = set(beside)
        near = beside if load else [name for name in reaching if name in chosen]
        yield near
        if put_aside := [name for name in beside if name not in set(near)]:
            yield put_aside
        if self._near:
            return
        elsewhere, spent = [], 0.0
        for name in reaching:
            spent += self._reach.seconds(name)
            if name not in chosen and spent < _ELSEWHERE:
                elsewhere.append(name)
        yield elsewhere

    def _beside(self, fault: Fault) -> list[str]:
        """The tests beside a module that pass as it is."""
        tests = self._session.beside(tests_of(Path(fault.module)))
        self._reach.measure(self._session, tests)
        return [name for name in tests if self._reach.passed(name)]

    def _limit(self, tests: list[str]) -> float:
        return _LEAST + 3 * sum(map(self._reach.seconds, tests))

    def _afresh(self, fault: Fault, source: str, tests: list[str]) -> str | None:
        """Load a copy of the code with the fault in it, and the tests."""
        if not tests:
            return None
        with tempfile.TemporaryDirectory(prefix="binlogkit-mutate-") as place:
            folder = Path(place) / "toolkit"
            shutil.copytree(TOOLKIT, folder, ignore=shutil.ignore_patterns("__pycache__"))
            (folder / fault.module).write_text(fault.put(source) or "", "utf-8")
            return self._fresh.ask(folder, tests, self._limit(tests))
