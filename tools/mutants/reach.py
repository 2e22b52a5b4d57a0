"""Which tests reach which lines: measured once for each test file, and kept."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tools.mutants.beside import PACKAGE, ROOT, TOOLKIT
from tools.mutants.session import Session, spent

_LONGEST = 3600.0


def digest(path: Path) -> str:
    """Of a file's bytes, 16 hexadecimal digits."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


class _Failed:
    """The tests that failed."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.names.add(report.nodeid)


@dataclass
class Reach:
    """``folder``: for each test file a file of coverage with its tests as contexts, and one of
    its digest, those of the modules as they were, and its tests' processor seconds."""

    folder: Path
    _facts: dict[str, dict[str, dict[str, object]]] = field(default_factory=dict)
    _lines: dict[tuple[str, str], dict[int, list[str]]] = field(default_factory=dict)

    def measure(self, session: Session, names: Iterable[str]) -> None:
        """Run the test files of these tests under coverage, if they are new or changed."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for path in dict.fromkeys(session.tests[name].path for name in names):
            if str(path) in self._facts:
                continue
            if self._known(path) is None:
                self._begin(session, path)
            facts = self._known(path)
            if facts is not None:
                self._facts[str(path)] = facts

    def _begin(self, session: Session, path: Path) -> None:
        tests = [name for name, item in session.tests.items() if item.path == path]
        begun = spent()
        failed = session.ask([], _LONGEST, lambda: self._run(path, tests, session))
        result = failed or f"reach in {spent() - begun:.0f} s"
        print(f"{path.relative_to(ROOT)}: {result}", flush=True)

    def tests(self, module: str, lines: range) -> list[str]:
        """Tests that reach one of the lines, the quickest first; those that reach the module
        where it is not as it was when they ran."""
        found: dict[str, float] = {}
        now = digest(TOOLKIT / module)
        for file, facts in self._facts.items():
            seconds: dict[str, float] = facts["seconds"]  # type: ignore[assignment]
            reached = self._reached(file, module)
            same = facts["modules"].get(module) == now
            for line, names in reached.items():
                if line in lines or not same:
                    found.update((x, seconds[x]) for x in names if x in seconds)
        return sorted(found, key=lambda x: found[x])

    def passed(self, test: str) -> bool:
        """Whether a test passed when it was measured, with the code as it is."""
        return any(test in facts["seconds"] for facts in self._facts.values())

    def seconds(self, test: str) -> float:
        """What a test took under coverage, seconds of processor time; 1 if not known."""
        for facts in self._facts.values():
            if test in facts["seconds"]:
                return float(facts["seconds"][test])  # type: ignore[arg-type]
        return 1.0

    def _reached(self, file: str, module: str) -> dict[int, list[str]]:
        from coverage import CoverageData

        key = file, module
        if key not in self._lines:
            data = CoverageData(str(self._place(Path(file)).with_suffix(".coverage")))
            data.read()
            of_module = data.contexts_by_lineno(str(TOOLKIT / module))
            self._lines[key] = {line: [x for x in names if x] for line, names in of_module.items()}
        return self._lines[key]

    def _place(self, path: Path) -> Path:
        name = path.relative_to(ROOT / "tests").with_suffix("").as_posix().replace("/", "-")
        return self.folder / f"{name}.json"

    def _known(self, path: Path) -> dict[str, dict[str, object]] | None:
        place = self._place(path)
        if not place.exists():
            return None
        facts: dict[str, dict[str, object]] = json.loads(place.read_text("utf-8"))
        return facts if facts["file"]["digest"] == digest(path) else None

    def _run(self, path: Path, tests: list[str], session: Session) -> bool:
        """In the child: run a file's tests, whatever they say, and write down what they reach."""
        from coverage import Coverage

        place = self._place(path)
        data = place.with_suffix(".coverage")
        data.unlink(missing_ok=True)
        tracing = Coverage(str(data), include=[f"{TOOLKIT / PACKAGE}/*"], config_file=False)
        seconds, items = {}, [session.tests[name] for name in tests]
        failed = _Failed()
        session.register(failed)
        for item, following in zip(items, [*items[1:], None], strict=False):
            begun = time.process_time()
            tracing.start()
            tracing.switch_context(item.nodeid)
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            tracing.stop()
            if item.nodeid not in failed.names:
                seconds[item.nodeid] = round(time.process_time() - begun, 4)
        tracing.save()
        base = TOOLKIT / PACKAGE
        modules = {x.relative_to(TOOLKIT).as_posix(): digest(x) for x in base.rglob("*.py")}
        facts = {"file": {"digest": digest(path)}, "modules": modules, "seconds": seconds}
        place.write_text(json.dumps(facts), "utf-8")
        return True
