"""Builds the compiled kernel; everything else about the package is in pyproject.toml.

``BINLOGKIT_SANITIZE=1`` builds it with AddressSanitizer and UndefinedBehaviorSanitizer.
"""

from __future__ import annotations

import os
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

ROOM = Path("toolkit/binlogkit/_kernel/native")
# The stable ABI of Python 3.11: one build serves every later version.
MACROS = [("Py_LIMITED_API", "0x030B0000"), ("CYTHON_LIMITED_API", "1")]
WARNINGS = ["-Wall", "-Wextra", "-Wno-unused-parameter"]
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-O1", "-g"]
DIRECTIVES = {
    "language_level": 3,
    "boundscheck": False,
    "wraparound": False,
    "cdivision": True,
    "initializedcheck": False,
    "embedsignature": False,
}

sanitize = SANITIZE if os.environ.get("BINLOGKIT_SANITIZE") else []
extensions = [
    Extension(
        f"binlogkit._kernel.native.{path.stem}",
        [str(path)],
        include_dirs=[str(ROOM)],
        define_macros=MACROS,
        depends=[str(header) for header in ROOM.glob("*.h")],
        py_limited_api=True,
        extra_compile_args=["-O3", *WARNINGS, *sanitize],
        extra_link_args=sanitize,
    )
    for path in sorted(ROOM.glob("*.py"))
    if path.stem != "__init__"
]

setup(
    ext_modules=cythonize(
        extensions, include_path=["toolkit"], compiler_directives=DIRECTIVES, build_dir="build"
    ),
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
