"""The parts of the proof: no test is in none, and a part holds until one of its inputs changes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tools import prove
from tools.prove import PARTS, Part, part_of

ROOT = Path(__file__).parents[2]


def test_every_test_is_in_a_part() -> None:
    """conftest.py asks the same for each test that pytest collects, and pytest ends if one has
    no part. So each test is in the part, and in the gate where its markers say so."""
    parts = {part_of(str(path.relative_to(ROOT))) for path in ROOT.glob("tests/**/test_*.py")}
    assert parts == {name for name, part in PARTS.items() if part.tests}


def test_what_belongs_to_a_part_exists() -> None:
    for part in PARTS.values():
        for test in part.tests:
            assert (ROOT / "tests" / test).exists(), test


def test_the_longest_name_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = {"a": Part("", ("log", "log/x/test_one.py")), "b": Part("", ("log/x", "lo"))}
    monkeypatch.setattr(prove, "PARTS", parts)
    prove.part_of_file.cache_clear()
    try:
        tests = ("log/test_a.py::test", "log/x/test_b.py::T::test[p]", "log/x/test_one.py::test")
        assert [part_of(f"tests/{test}") for test in tests] == ["a", "b", "a"]
        with pytest.raises(LookupError, match=r"tests/other/test_c\.py"):
            part_of("tests/other/test_c.py::test")
    finally:
        prove.part_of_file.cache_clear()


class TestRecord:
    @pytest.fixture
    def project(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """A repository with a part of one command that reads ``outcome``."""
        for name in ("toolkit", "docs"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "file").write_text("first")
        (tmp_path / "outcome").write_text("exit 0")
        (tmp_path / ".gitignore").write_text("/out/\n/outcome\n")
        monkeypatch.setattr(prove, "ROOT", tmp_path)
        monkeypatch.setattr(prove, "RECORD", tmp_path / "out" / "prove.jsonl")
        monkeypatch.setattr(prove, "LOGS", tmp_path / "out" / "prove")
        monkeypatch.setattr(prove, "PARTS", {"only": Part("it", command=("sh", "outcome"))})
        self.git(tmp_path, "init", "--quiet")
        self.commit(tmp_path)
        return tmp_path

    @staticmethod
    def git(folder: Path, *words: str) -> str:
        identity = ["-c", "user.name=t", "-c", "user.email=t@t"]
        done = subprocess.run(
            ["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def commit(self, folder: Path) -> str:
        self.git(folder, "add", "--all")
        self.git(folder, "commit", "--quiet", "--message", "step")
        return self.git(folder, "rev-parse", "HEAD")

    def recorded(self, project: Path) -> list[tuple[str, str]]:
        lines = (project / "out" / "prove.jsonl").read_text().splitlines()
        return [(run["commit"], run["outcome"]) for run in map(json.loads, lines)]

    def test_it_holds_until_an_input_changes(self, project: Path) -> None:
        first = self.git(project, "rev-parse", "HEAD")
        assert prove.main([]) == 0
        (project / "docs" / "file").write_text("second")  # no input of this part
        self.commit(project)
        assert (prove.main([]), self.recorded(project)) == (0, [(first, "passed")])
        (project / "toolkit" / "file").write_text("second")
        assert prove.proved_at("only") is None
        second = self.commit(project)
        assert (prove.main([]), len(self.recorded(project))) == (0, 2)
        assert self.recorded(project)[-1] == (second, "passed")
        assert (prove.main(["--again", "only"]), len(self.recorded(project))) == (0, 3)

    def test_a_run_with_uncommitted_changes_proves_no_commit(self, project: Path) -> None:
        (project / "toolkit" / "new").write_text("new")
        assert prove.main([]) == 0
        assert (self.recorded(project), prove.proved_at("only")) == ([("", "passed")], None)

    def test_what_failed_runs_again(self, project: Path, capfd: pytest.CaptureFixture[str]) -> None:
        head = self.git(project, "rev-parse", "HEAD")
        (project / "outcome").write_text("echo wrong; exit 3")
        assert prove.main([]) == 1
        assert "wrong" in capfd.readouterr().out
        assert (project / "out" / "prove" / "only.log").read_text() == "wrong\n"
        (project / "outcome").write_text("exit 0")
        assert prove.main([]) == 0
        assert self.recorded(project) == [(head, "failed (3)"), (head, "passed")]

    def test_an_unknown_part(self, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit, match="2"):
            prove.main(["onyl"])
        assert "no part is called onyl; there are only" in capsys.readouterr().err
