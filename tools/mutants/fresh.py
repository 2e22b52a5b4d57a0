"""Tests with code that is loaded anew, without loading again what the code itself loads."""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tools.mutants.session import Session, collected

_LOADED = (
    "numpy", "pandas", "pyarrow", "pyarrow.compute", "pyarrow.dataset", "sqlglot", "narwhals",
    "cryptography.hazmat.primitives.ciphers", "fsspec", "pymysql", "click", "jinja2", "zstandard",
    "rich.console", "hypothesis",
)  # fmt: skip


class Fresh:
    """A process that forks for each question, begun before any of the toolkit is loaded."""

    def __init__(self) -> None:
        (self._questions, asked), (answered, self._answers) = os.pipe(), os.pipe()
        if not os.fork():
            os.close(asked)
            os.close(answered)
            self._serve()
        os.close(self._questions)
        os.close(self._answers)
        self._asked, self._answered = os.fdopen(asked, "w"), os.fdopen(answered)

    def ask(self, code: Path, tests: Sequence[str], limit: float) -> str | None:
        """The first test that fails with the code of a folder like ``toolkit/``; None: none.

        Raises SystemExit if the tests could not be run for another reason than that code.
        """
        asked = {"code": str(code), "tests": list(tests), "limit": limit}
        print(json.dumps(asked), file=self._asked, flush=True)
        status, name = json.loads(self._answered.readline())
        if status:
            sys.exit(f"pytest ends with {status}, asked for {tests[:3]}")
        return name or None

    def _serve(self) -> None:
        """End with the process that asks."""
        for name in _LOADED:
            importlib.import_module(name)
        with os.fdopen(self._questions) as questions:
            for question in questions:
                child = os.fork()
                if not child:
                    self._answer(json.loads(question))
                os.waitpid(child, 0)
        os._exit(0)

    def _answer(self, asked: dict[str, object]) -> None:
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        names: list[str | None] = []
        tests, limit = asked["tests"], asked["limit"]
        assert isinstance(tests, list) and isinstance(limit, float)

        def use(session: Session) -> None:
            names.append(session.ask(tests, limit, lambda: True))

        files = dict.fromkeys(name.partition("::")[0] for name in tests)
        status = 3
        try:
            status = collected(files, use, code=Path(str(asked["code"])))
        finally:
            if not names and status == pytest.ExitCode.INTERRUPTED:
                names.append("(cannot be loaded)")
            answer = [0, names[0]] if names else [status, None]
            os.write(self._answers, f"{json.dumps(answer)}\n".encode())
            os._exit(0)
