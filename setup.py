"""Builds the compiled kernel; everything else about the package is in pyproject.toml.

``BINLOGKIT_SANITIZE=1`` builds it with AddressSanitizer and UndefinedBehaviorSanitizer. The C that
Cython makes is never kept with the sources: it belongs to the Cython that made it, which the build
requires.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from setuptools import Extension, setup

sys.path.insert(0, str(Path(__file__).parent / "tools"))
import kernel_build

ROOM = Path("toolkit/binlogkit/_kernel/native")
# The stable ABI of Python 3.11: one build serves every later version.
MACROS = [("Py_LIMITED_API", "0x030B0000"), ("CYTHON_LIMITED_API", "1")]
# A level that CFLAGS names is the builder's choice.
LEVEL = [] if "-O" in os.environ.get("CFLAGS", "") else ["-O3"]
WARNINGS = ["-Wall", "-Wextra", "-Wno-unused-parameter"]
# Python's own flags let integers wrap around, where the sanitizers should say so.
SANITIZE = [
    "-fsanitize=address,undefined,float-cast-overflow",
    "-fno-sanitize-recover=all",
    "-fno-wrapv",
    "-O1",
    "-g",
]
DIRECTIVES = {
    "language_level": 3,
    "boundscheck": False,
    "wraparound": False,
    "cdivision": True,
    "initializedcheck": False,
    "embedsignature": False,
}

# Commands that only tell what there is, which pip runs first.
TELLING = {"egg_info", "dist_info", "sdist", "--version", "--name", "clean"}


def extensions() -> list[Extension]:
    """One per Python file of the kernel."""
    kernel_build.check_headers()
    sanitize = SANITIZE if os.environ.get("BINLOGKIT_SANITIZE") else []
    chosen = kernel_build.choose_compiler()
    found = [
        Extension(
            f"binlogkit._kernel.native.{path.stem}",
            [str(path)],
            include_dirs=[str(ROOM)],
            define_macros=MACROS,
            depends=[str(header) for header in ROOM.glob("*.h")],
            py_limited_api=True,
            extra_compile_args=[*LEVEL, *WARNINGS, *chosen, *sanitize],
            extra_link_args=sanitize,
        )
        for path in sorted(ROOM.glob("*.py"))
        if path.stem != "__init__"
    ]
    from Cython.Build import cythonize

    made: list[Extension] = cythonize(
        found, include_path=["toolkit"], compiler_directives=DIRECTIVES, build_dir="build"
    )
    return made


setup(
    ext_modules=[] if TELLING & set(sys.argv[1:]) else extensions(),
    options={
        "bdist_wheel": {"py_limited_api": "cp311"},
        "build_ext": {"parallel": os.cpu_count() or 1},
    },
)
