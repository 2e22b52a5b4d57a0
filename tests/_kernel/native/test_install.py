"""Wheels as users build them, from the sdist, installed where no source tree is.

They are built with little optimisation, which takes most of the time and is not what is tested.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[3]
# Every change of the first golden log of a kind; the file that the kernel came from stands first.
PROGRAM = """
import pathlib, binlogkit, binlogkit_fixtures, binlogkit._kernel.native.builder as builder
print(builder.__file__)
golden = pathlib.Path(binlogkit_fixtures.__file__).parent / "_golden"
for log in sorted(golden.glob("8.0-row-*/types/binlog.00000?")):
    for record in binlogkit.open(log).row_records():
        print(record["pos"], record["op"], record["before"], record["after"])
"""


def run(*command: str, cwd: Path, path: str | None = None) -> str:
    env = {k: v for k, v in os.environ.items() if k not in ("CC", "LDSHARED", "PYTHONPATH")}
    env["CFLAGS"] = "-O1"
    if path is not None:
        env["PATH"] = path
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("install")


@pytest.fixture(scope="module")
def sdist(place: Path) -> Path:
    run(
        sys.executable, "-c",
        "import sys; sys.path.insert(0, 'tools'); import kernel_build as k; "
        f"k.build_sdist({str(place)!r})",
        cwd=ROOT,
    )  # fmt: skip
    (found,) = place.glob("*.tar.gz")
    return found


@pytest.fixture(scope="module")
def clean(place: Path) -> str:
    """The Python of an environment with nothing in it."""
    run(sys.executable, "-m", "venv", "venv", cwd=place)
    return str(place / "venv" / "bin" / "python")


def wheel_of(sdist: Path, folder: str, path: str | None = None) -> Path:
    place = sdist.parent
    run(
        sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder,
        str(sdist), cwd=place, path=path,
    )  # fmt: skip
    (found,) = (place / folder).glob("*.whl")
    assert "-cp311-abi3-" in found.name
    return found


def check(clean: str, place: Path) -> None:
    kernel, *changes = run(clean, "-c", PROGRAM, cwd=place).splitlines()
    assert Path(kernel).is_relative_to(place)
    assert len(changes) > 50
    assert changes == run(sys.executable, "-c", PROGRAM, cwd=place).splitlines()[1:]


@pytest.mark.campaign
def test_the_release_serves_every_python_that_is_here(sdist: Path) -> None:
    """``make dist``, and its wheel's core in a clean environment of each."""
    place = sdist.parent
    run(sys.executable, "-m", "venv", "release", cwd=place)
    maker = str(place / "release" / "bin" / "python")
    group = f"{ROOT / 'pyproject.toml'}:release"
    run(maker, "-m", "pip", "install", "--quiet", "--upgrade", "pip>=25.1", cwd=place)
    run(maker, "-m", "pip", "install", "--quiet", "--group", group, cwd=place)
    made = f"make(Path({str(place / 'dist')!r}))"
    program = f"from pathlib import Path; from tools.make_dist import make; {made}"
    run(maker, "-c", program, cwd=ROOT)
    (wheel,) = (place / "dist").glob("binlogkit-*-cp311-abi3-manylinux*.whl")
    pythons = _pythons()
    assert pythons
    for number, python in enumerate(pythons):
        run(python, "-m", "venv", f"core{number}", cwd=place)
        own = str(place / f"core{number}" / "bin" / "python")
        run(own, "-m", "pip", "install", "--quiet", str(wheel), cwd=place)
        check(own, place)


def _pythons() -> list[str]:
    """One of each version from 3.11 on: on the PATH, or pyenv's."""
    homes = sorted(Path.home().glob(".pyenv/versions/3.*/bin"))
    homes += [Path(name) for name in os.environ.get("PATH", "").split(os.pathsep)]
    found = dict[str, str]()
    for home in homes:
        for path in home.glob("python3.*"):
            version = path.name.removeprefix("python3.")
            if home.name != "shims" and version.isdecimal() and int(version) >= 11:
                found.setdefault(version, str(path))
    return list(found.values())


@pytest.mark.slow
def test_with_the_compiler_from_the_package_index(sdist: Path, clean: str) -> None:
    """Nothing on the PATH: pip brings Zig's compiler for the build alone."""
    place = sdist.parent
    (place / "empty").mkdir()
    wheel = wheel_of(sdist, "by-zig", str(place / "empty"))
    # With what the wheel needs, if this test runs alone.
    run(clean, "-m", "pip", "install", "--quiet", str(wheel), "abi3audit", cwd=place)
    run(clean, "-m", "abi3audit", "--strict", str(wheel), cwd=place)
    run(
        clean, "-m", "pip", "install", "--quiet", "--no-deps", "--force-reinstall", str(wheel),
        cwd=place,
    )  # fmt: skip
    check(clean, place)


@pytest.fixture(scope="module")
def backend() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "binlogkit_kernel_build", ROOT / "tools" / "kernel_build.py"
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_without_headers_the_message_says_what_to_install(tmp_path: Path) -> None:
    """Building as ever, by a Python that was told a folder without its headers."""
    program = (
        "import runpy, sys, sysconfig; "
        f"sysconfig.get_config_vars()['INCLUDEPY'] = {str(tmp_path)!r}; "
        "sys.argv[:] = ['setup.py', 'build_ext']; runpy.run_path('setup.py')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert f"no {tmp_path}/Python.h" in done.stderr
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert f"python{version}-dev or python3-dev on Debian" in done.stderr


def test_without_any_compiler_the_message_says_what_to_install(
    backend: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(backend, "find_spec", lambda name: None)
    with pytest.raises(SystemExit, match="apt-get install gcc") as told:
        backend.choose_compiler()
    assert "pip install ziglang" in str(told.value)


def test_a_compiler_of_ones_own(
    backend: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "my cc"
    own.write_text("#!/bin/sh\n")
    own.chmod(0o755)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("CC", f"'{own}' -m64")
    assert backend.system_compiler() == f"'{own}' -m64"
    monkeypatch.setenv("CC", f"{tmp_path}/none")
    assert backend.system_compiler() is None
