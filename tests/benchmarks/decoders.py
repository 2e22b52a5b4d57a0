"""The other decoders of the benchmark: where they come from, how each is built and run.

Each program (in peers/, python-mysql-replication's in examples/) decodes every value of one log
and prints ``{"changes": n, "values": n}``; ``values`` counts the cells of all images, NULLs as
the library tells them. What cannot be built on a machine is told and left out of the table.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

SOURCES = Path(__file__).parent / "peers"
EXAMPLE = Path(__file__).parents[2] / "examples" / "python_mysql_replication"
_CHANGES = ("### INSERT INTO ", "### UPDATE ", "### DELETE FROM ")


@dataclass(frozen=True)
class Peer:
    """``command``: what decodes a log, without its path; ``counts``: of its output, if not JSON."""

    name: str
    version: str
    command: tuple[str, ...]
    counts: Callable[[IO[str]], dict[str, float]] | None = None


class NotBuilt(Exception):
    """A peer that this machine cannot build, with the reason."""


def _run(*command: str | Path, cwd: Path | None = None, **env: str) -> str:
    if shutil.which(str(command[0])) is None:
        raise NotBuilt(f"{command[0]} is not installed")
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env={**os.environ, **env},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise NotBuilt((done.stderr or done.stdout).strip().splitlines()[-1])
    return done.stdout


def mysqlbinlog(_: Path) -> list[Peer]:
    from binlogkit_fixtures.servers.mysqlbinlog import ensure

    program = ensure()
    flags = ("--verify-binlog-checksum", "-v", "--base64-output=decode-rows")
    return [Peer("mysqlbinlog -v", program.version, (*program.argv, *flags), _printed_counts)]


def _printed_counts(text: IO[str]) -> dict[str, float]:
    changes = values = 0
    for line in text:
        if line.startswith("###   @"):
            values += 1
        elif line.startswith(_CHANGES):
            changes += 1
    return {"changes": changes, "values": values}


def _rust(out: Path) -> list[Peer]:
    manifest = SOURCES / "rust" / "Cargo.toml"
    _run("cargo", "build", "--release", "--locked", "--manifest-path", manifest,
         "--target-dir", out / "rust")  # fmt: skip
    binaries = out / "rust" / "release"
    versions = dict(re.findall(r'^(mysql\S+) = .*?"=([\d.]+)"', manifest.read_text(), re.M))
    return [
        Peer("mysql-binlog-connector-rust", versions["mysql-binlog-connector-rust"],
             (str(binaries / "apecloud"),)),
        Peer("rust mysql_common", versions["mysql_common"], (str(binaries / "mysql_common"),)),
    ]  # fmt: skip


def _go(out: Path) -> list[Peer]:
    program = out / "go-mysql"
    _run("go", "build", "-o", program, ".", cwd=SOURCES / "go")
    version = re.search(r"go-mysql v(\S+)", (SOURCES / "go" / "go.mod").read_text())
    return [Peer("go-mysql", version[1] if version else "", (str(program),))]


def _java(out: Path) -> list[Peer]:
    build = out / "java"
    shutil.copytree(SOURCES / "java", build, dirs_exist_ok=True)
    _run("mvn", "--quiet", "--batch-mode", "package", cwd=build)
    classes = f"{build / 'target' / 'classes'}{os.pathsep}{build / 'target' / 'lib' / '*'}"
    version = re.search(r"connector-java</artifactId>\s*<version>(.*?)<",
                        (build / "pom.xml").read_text())  # fmt: skip
    command = ("java", "-cp", classes, "Peer")
    return [Peer("mysql-binlog-connector-java", version[1] if version else "", command)]


def _python(out: Path) -> list[Peer]:
    home = out / "python"
    python = home / "bin" / "python"
    wanted = EXAMPLE / "requirements.txt"
    if not python.exists():
        venv.create(home, with_pip=True)
    _run(python, "-m", "pip", "install", "--quiet", "--requirement", wanted)
    version = wanted.read_text().strip().split("==")[1]
    command = (str(python), str(EXAMPLE / "decode.py"), "--count")
    return [Peer("python-mysql-replication", version, command)]


def build(out: Path) -> list[Peer]:
    """Every peer that can be built here, below ``out``; the others are reported on stderr."""
    out = out.resolve()  # compilers run in their sources' folders
    out.mkdir(parents=True, exist_ok=True)
    peers: list[Peer] = []
    for make in (mysqlbinlog, _rust, _go, _java, _python):
        try:
            peers += make(out)
        except NotBuilt as reason:
            print(f"left out: {make.__name__[1:]}: {reason}", file=sys.stderr)
    return peers
