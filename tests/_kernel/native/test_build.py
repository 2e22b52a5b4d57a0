"""What was built: one file per module for every later Python, quick to import, as its stubs say."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import binlogkit._kernel.native as native

ROOM = Path(native.__file__).parent
MODULES = sorted(path.stem for path in ROOM.glob("*.py") if path.stem != "__init__")
STUBS = sorted(path.stem for path in ROOM.glob("*.pyi"))


@pytest.mark.parametrize("name", MODULES)
def test_compiled_for_the_stable_abi(name: str) -> None:
    module = importlib.import_module(f"binlogkit._kernel.native.{name}")
    assert module.__file__ is not None
    assert module.__file__.endswith((".abi3.so", ".pyd"))


def test_without_a_build_the_message_says_what_to_do(tmp_path: Path) -> None:
    room = tmp_path / "native"
    room.mkdir()
    for name in ("__init__.py", "scan.py"):
        (room / name).write_bytes((ROOM / name).read_bytes())
    done = subprocess.run(
        [sys.executable, "-c", "import native"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "a C compiler" in done.stderr and "ImportError" in done.stderr


@pytest.mark.slow
def test_stubs_are_what_is_there(tmp_path: Path) -> None:
    """Names and arguments; whether what they import is there, `make check` says."""
    names = [f"binlogkit._kernel.native.{name}" for name in STUBS]
    alone = tmp_path / "mypy.ini"
    alone.write_text("[mypy]\nfollow_imports = skip\nignore_missing_imports = True\n")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy.stubtest",
            *names,
            "--ignore-missing-stub",
            "--mypy-config-file",
            str(alone),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
