"""Logs of tests/answers in a folder of the test's own, and which logs an index reads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from binlogkit.log.index import kept, parts_of
from tests.answers.binlogkit_answers.inputs import Input


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Input], list[str]]:
    """Writes the files of an input into the folder that the test runs in; the logs' names."""

    def write(item: Input) -> list[str]:
        files = item.files()
        for name, data in {**files, **item.beside}.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_bytes(data)
        monkeypatch.chdir(tmp_path)
        return list(files)

    return write


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """The names of the logs that were read since the last call."""
    seen: list[str] = []

    def counted(carriers: Any, *args: Any, **keywords: Any) -> Any:
        seen.extend(carrier.name for carrier in carriers)
        return parts_of(carriers, *args, **keywords)

    monkeypatch.setattr(kept, "parts_of", counted)

    def told() -> list[str]:
        found, seen[:] = [Path(name).name for name in seen], []
        return found

    return told
