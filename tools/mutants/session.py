"""One pytest session: tests are collected once, and some run in a child for each ask."""

from __future__ import annotations

import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from tools.mutants import swap
from tools.mutants.beside import ROOT, TOOLKIT
from tools.mutants.faults import Fault

QUICK = "not slow and not spark and not server and not oracle and not notebook"
OPTIONS = ("-q", "-m", QUICK, "-p", "no:cacheprovider", "-p", "no:xdist", "--capture=no",
           "-W", "ignore::SyntaxWarning", "-W", "ignore::pytest.PytestAssertRewriteWarning",
           "--hypothesis-profile=ci")  # fmt: skip  # ci: always the same examples
_MEMORY = 6 << 30  # bytes; a fault may ask for any number
_PATIENCE = 900.0  # seconds that a child may wait where it is not at work


class Session:
    """Collected tests, by node id, in order. :meth:`ask` runs some of them in a child."""

    def __init__(self, session: pytest.Session) -> None:
        self._session = session
        self.tests: dict[str, pytest.Item] = {item.nodeid: item for item in session.items}

    def beside(self, paths: Iterable[str]) -> list[str]:
        """The tests in files and folders."""
        places = [Path(path) for path in paths]
        return [
            name
            for name, item in self.tests.items()
            if any(item.path == place or place in item.path.parents for place in places)
        ]

    def ask(self, tests: Iterable[str], limit: float, before: Callable[[], bool]) -> str | None:
        """The first test that fails after ``before`` was called in the child; None: none does.

        ``limit``: seconds of processor time after which the tests count as failing. Raises
        RuntimeError if ``before`` says that it could do nothing.
        """
        chosen = [self.tests[name] for name in tests if name in self.tests]
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            os.close(reading)
            self._child(chosen, limit, before, writing)
        os.close(writing)
        code = _ended(child)
        with open(reading, encoding="utf-8") as file:
            name = file.read()
        if code == _NOTHING:
            raise RuntimeError(name)
        return None if code == 0 else name or "(does not end)"

    def register(self, plugin: object) -> None:
        """In a child: let a plugin see what its tests report."""
        self._session.config.pluginmanager.register(plugin)

    def _child(
        self, items: list[pytest.Item], limit: float, before: Callable[[], bool], out: int
    ) -> None:
        """Run tests and end this process."""
        try:
            os.setsid()
            nothing = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(nothing, stream)
            used = int(time.process_time() + limit) + 1
            resource.setrlimit(resource.RLIMIT_CPU, (used, used + 5))
            resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
            if not before():
                os._exit(_NOTHING)
            self.register(_Stop(out))
            for item, following in zip(items, [*items[1:], None], strict=False):
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            os._exit(0)
        except BaseException as error:  # noqa: BLE001  # the child must not run on as its parent
            os.write(out, f"({error!r})"[:200].encode("utf-8", "replace"))
            os._exit(1)


class _Stop:
    """Ends the process at the first failure."""

    def __init__(self, out: int) -> None:
        self._out = out

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            os.write(self._out, report.nodeid.encode())
            os._exit(1)


_NOTHING = 77


def spent() -> float:
    """Seconds of processor time that this process and its children took."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def _ended(child: int) -> int:
    until = time.monotonic() + _PATIENCE
    wait = 0.005
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(wait)
        wait = min(0.1, wait * 1.3)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return 1


def loaded(fault: Fault) -> Callable[[], bool] | None:
    """What puts a fault into the loaded code; None if it must be loaded with it."""
    path = TOOLKIT / fault.module
    source = path.read_text("utf-8")
    code = fault.put(source)
    bodies = None if code is None else swap.changed(str(path), source, code)
    return None if bodies is None else lambda: swap.put(str(path), bodies)


def collected(paths: Iterable[str], use: Callable[[Session], None], *, code: Path = TOOLKIT) -> int:
    """Collect the quick tests of files and folders, and hand them over; pytest's exit status."""

    class Plugin:
        @pytest.hookimpl(tryfirst=True)
        def pytest_runtestloop(self, session: pytest.Session) -> bool:
            if session.testsfailed:
                raise session.Interrupted(f"{session.testsfailed} errors while collecting")
            use(Session(session))
            return True

    sys.path.insert(0, str(code))
    sys.dont_write_bytecode = True
    os.environ["PYTHONPATH"] = f"{code}:{ROOT / 'fixtures_gen'}"
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    os.chdir(ROOT)
    plugins: list[Any] = [Plugin()]
    return int(pytest.main([*OPTIONS, *paths], plugins))
