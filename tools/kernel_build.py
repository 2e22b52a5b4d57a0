"""How the compiled kernel is built: setuptools, with a C compiler from PyPI where there is none.

pyproject.toml names this as its build backend. ``ziglang`` (Zig's C compiler as a wheel) becomes a
requirement of the build where no other compiler is found; setup.py then compiles with it.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import (
    build_editable,
    build_sdist,
    build_wheel,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "check_headers",
    "choose_compiler",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
    "system_compiler",
]

ZIG = "ziglang>=0.13"
# Zig compiles for the very CPU that it runs on by default, and adds its own sanitizer.
ZIG_FLAGS = ["-mcpu=baseline", "-fno-sanitize=all"]
NO_COMPILER = """\
binlogkit's kernel is written in Python that is compiled through C, and no C compiler is here.
Install one (Debian and Ubuntu: sudo apt-get install gcc), or `pip install ziglang`, which is one
as a Python package."""
NO_HEADERS = """\
binlogkit's kernel is compiled, and Python's C headers are not here: no {path}
Install them: python{version}-dev or python3-dev on Debian and Ubuntu, python3-devel on Fedora and
Red Hat, python3-dev on Alpine; a Python of pyenv, uv, conda or python.org has them already."""


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    """What a build needs besides ``build-system.requires``; SystemExit: Python's headers."""
    check_headers()
    compiler = [] if system_compiler() else [ZIG]
    return [*build_meta.get_requires_for_build_wheel(config_settings), *compiler]


def get_requires_for_build_editable(config_settings: Any = None) -> list[str]:
    """The same of an editable install."""
    return get_requires_for_build_wheel(config_settings)


def system_compiler() -> str | None:
    """The command of a C compiler: the one that CC names, Python's own, or whichever is there."""
    own = sysconfig.get_config_var("CC") or ""
    for command in (os.environ.get("CC", ""), own, "cc", "gcc", "clang"):
        words = shlex.split(command)
        if words and shutil.which(words[0]):
            return command
    return None


def choose_compiler() -> list[str]:
    """Name the compiler to setuptools, through the environment; flags that it needs.

    SystemExit: there is none.
    """
    found = system_compiler()
    if found is not None:
        if found not in (os.environ.get("CC"), sysconfig.get_config_var("CC")):
            os.environ["CC"] = found
        return []
    if find_spec("ziglang") is None:
        raise SystemExit(NO_COMPILER)
    os.environ["CC"] = f"{shlex.quote(sys.executable)} -m ziglang cc"
    os.environ["LDSHARED"] = os.environ["CC"] + " -shared"
    return ZIG_FLAGS


def check_headers(folder: str | None = None) -> None:
    """SystemExit, with what to install: ``folder`` (Python's own) has no Python.h."""
    place = Path(folder or sysconfig.get_config_var("INCLUDEPY") or sysconfig.get_path("include"))
    if not (place / "Python.h").is_file():
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise SystemExit(NO_HEADERS.format(path=place / "Python.h", version=version))
