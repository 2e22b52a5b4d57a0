"""Prove everything there is, in parts: ``python -m tools.prove [PART …]``, or ``make prove``.

Each part ends within nine minutes on two cores that do nothing else. What a part did (commit,
outcome, seconds, load) is a line of ``out/prove.jsonl``, what it printed ``out/prove/PART.log``.
Without names, the parts run that are not proved yet: those whose last green run was at another
commit and one of whose inputs has changed since. So an interrupted proof resumes where it was.
``--list`` shows all parts, ``--again`` runs parts that are proved, too.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "out" / "prove.jsonl"
LOGS = ROOT / "out" / "prove"
#: What every part depends on, beside its own tests.
CODE = (
    "toolkit", "fixtures_gen", "tools", "pyproject.toml", "setup.py", "Makefile", ".ci",
    "tests/_data", "tests/conftest.py", "tests/servers.py", "tests/waiting.py",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the proof.

    ``tests``: folders and files of tests/ that it takes, except what a longer name gives to
    another part. ``command``: what it runs where it is no run of pytest; ``environment`` beside
    the variables that there are. ``inputs``: what it depends on beside CODE and its tests.
    """

    proves: str
    tests: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    environment: Mapping[str, str] | None = None
    inputs: tuple[str, ...] = ()


#: Where tests die, or kill others, at every moment and not at a few.
_KILLS = (
    "tests/spark/landing/test_faults.py", "tests/spark/landing/test_land_logs.py",
    "tests/spark/stream/test_faults.py", "tests/cli/test_capture.py",
)  # fmt: skip
_WORKERS = str((os.cpu_count() or 1) + 1)
_PYTEST = (
    sys.executable, "-m", "pytest", "-n", _WORKERS, "--dist", "loadfile", "--no-loadscope-reorder",
)  # fmt: skip
#: Test by test, for a few that take minutes each.
_EACH = (sys.executable, "-m", "pytest", "-n", _WORKERS, "--dist", "load", "--maxschedchunk", "1")
_DOCKER = {"BINLOGKIT_RUNNER": "docker"}

PARTS: Mapping[str, Part] = {
    "kernel": Part(
        "every value as servers wrote it; the kernel with sanitizers; wheels",
        ("_kernel", "truth"),
    ),
    "reading": Part(
        "bytes, events, rows and frames, against mysqlbinlog and SHOW BINLOG EVENTS",
        ("events", "conformity", "sources", "rows", "frames"),
    ),
    "analyses": Part(
        "audit, points in time, conformance, logging rules, reports, recorded answers, fuzzing",
        (
            "analyses",
            "reports",
            "schemas",
            "answers",
            "fuzz",
            "tools",
            "test_extras.py",
            "test_front_door.py",
            "test_import_circles.py",
            "test_limits.py",
            "test_overview.py",
            "test_patterns.py",
        ),
    ),
    "pages": Part(
        "every page in a real Chromium: axe, a phone, dark and printed (pictures in out/pages)",
        ("reports/test_pages_browser.py",),
        command=(
            "sh",
            "-c",
            'command -v chromium >/dev/null || .ci/install-tools chromium; exec "$0" "$@"',
            *_PYTEST,
            "--part",
            "pages",
        ),
        inputs=("tests/browser.py", "tests/reports"),
    ),
    "doors": Part(
        "commands, documents and their site, notebooks, the pytest plugin",
        ("cli", "docs", "tools/test_site.py", "notebooks", "binlogkit_pytest"),
        inputs=("docs", "README.md", "CHANGELOG.md", "notebooks"),
    ),
    "decoders": Part(
        "other decoders and pipelines over golden logs and beside servers; the example projects",
        ("decoders", "examples"),
        inputs=("examples", "packaging"),
    ),
    "fixtures": Part("the generator, its servers and its golden logs", ("fixtures_gen",)),
    "states": Part(
        "states at points in time against SELECT on servers, through an index, too", ("log",)
    ),
    "undo": Part(
        "undo against SELECT on servers, and what it refuses",
        (
            "log/undoing",
            "log/states/test_cascades_server.py",
            "log/states/images/test_images_server.py",
            "log/states/test_backwards_server.py",
        ),
    ),
    "live": Part("live tables and queries against servers", ("livestate",)),
    "landing": Part("tables that land, on Spark and without", ("spark/landing",)),
    "spark": Part("format, index, stream and clusters on Spark", ("spark",)),
    "kills": Part(
        "landings, streams and captures that are killed, at each step",
        command=(*_EACH, "-m", "campaign", *_KILLS),
        environment={"BINLOGKIT_CAMPAIGNS": "1"},
        inputs=("tests/spark", "tests/cli"),
    ),
    "containers": Part(
        "servers in containers: their start and end, their files, their connections",
        command=(
            "sh",
            "-c",
            '.ci/start-docker && exec "$0" "$@"',
            *_PYTEST,
            "-m",
            "server",
            "tests/fixtures_gen",
            "tests/sources",
            "tests/cli",
            "tests/log/states/test_state_server.py",
        ),
        environment=_DOCKER,
        inputs=("docker", "tests/fixtures_gen", "tests/sources", "tests/cli", "tests/log"),
    ),
    "demo": Part(
        "the demo, with its pipeline on Spark, on servers in containers",
        command=("sh", "-c", ".ci/start-docker && make demo"),
        environment=_DOCKER,
        inputs=("docker",),
    ),
    "lowest": Part(
        "quick tests on the distribution's Python with the lowest versions of libraries",
        command=(".ci/lowest-versions",),
        inputs=("tests",),
    ),
    "lab": Part(
        "the lab's image: the command, a notebook, JupyterLab",
        command=("sh", "-c", ".ci/start-docker && .ci/lab"),
        inputs=("docker", "notebooks"),
    ),
}


def part_of(nodeid: str) -> str:
    """The part that a test belongs to: that of the longest name which its path begins with."""
    return part_of_file(nodeid.partition("::")[0].removeprefix("tests/"))


@cache
def part_of_file(path: str) -> str:
    named = {test: name for name, part in PARTS.items() for test in part.tests}
    fitting = [test for test in named if path == test or path.startswith(f"{test}/")]
    if not fitting:
        raise LookupError(f"tests/{path} belongs to no part of `make prove` (tools/prove.py)")
    return named[max(fitting, key=len)]


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a part: a line of the record. ``load``: the machine's, when it began."""

    part: str
    commit: str
    outcome: str
    seconds: int
    load: float


def runs() -> list[Run]:
    """All runs that are on record, oldest first."""
    if not RECORD.exists():
        return []
    return [Run(**json.loads(line)) for line in RECORD.read_text(encoding="utf-8").splitlines()]


def proved_at(name: str) -> str | None:
    """The commit of the part's last run, if it passed and nothing that it depends on changed."""
    done = [run for run in runs() if run.part == name]
    if not done or done[-1].outcome != "passed" or changed_since(done[-1].commit, name):
        return None
    return done[-1].commit


def changed_since(commit: str, name: str) -> bool:
    """Whether the part's inputs differ from those of ``commit``, in the work tree or by new files.

    A run in a tree with uncommitted changes of them stands for no commit (``Run.commit`` is
    empty).
    """
    inputs = inputs_of(name)
    if not commit or _git("status", "--porcelain", "--untracked-files=all", "--", *inputs):
        return True
    return bool(_git("diff", "--name-only", commit, "--", *inputs))


def inputs_of(name: str) -> list[str]:
    """Paths, from the project's root, that the part's outcome depends on."""
    part = PARTS[name]
    found = {*CODE, *part.inputs, *(f"tests/{test}" for test in part.tests)}
    return sorted(path for path in found if (ROOT / path).exists())


def command_of(name: str) -> list[str]:
    """What the part runs."""
    return [*(PARTS[name].command or (*_PYTEST, "--part", name))]


def run(name: str) -> Run:
    """Run a part, show and keep what it prints, and put the run on record."""
    LOGS.mkdir(parents=True, exist_ok=True)
    commit, began, load = _git("rev-parse", "HEAD"), time.monotonic(), os.getloadavg()[0]
    clean = not _git("status", "--porcelain", "--untracked-files=all", "--", *inputs_of(name))
    usual = {"BINLOGKIT_RUNNER": "local", "BINLOGKIT_FAIL_ON_SKIP": "1"}
    environment = {**os.environ, **usual, **(PARTS[name].environment or {})}
    with (
        (LOGS / f"{name}.log").open("w", encoding="utf-8") as log,
        subprocess.Popen(
            command_of(name), cwd=ROOT, env=environment, text=True, errors="replace",
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        ) as process,
    ):  # fmt: skip
        assert process.stdout is not None
        for line in process.stdout:
            log.write(line)
            print(line, end="", flush=True)
    outcome = "passed" if process.returncode == 0 else f"failed ({process.returncode})"
    done = Run(name, commit if clean else "", outcome, round(time.monotonic() - began), load)
    with RECORD.open("a", encoding="utf-8") as record:
        record.write(json.dumps(asdict(done)) + "\n")
    return done


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def table() -> Iterator[str]:
    """A line for each part: its name, its last run, what it proves."""
    last = {run.part: run for run in runs()}
    for name, part in PARTS.items():
        done = last.get(name)
        result = "never run" if done is None else f"{done.outcome}, {done.seconds} s"
        proved = "proved" if proved_at(name) else "to run"
        yield f"{name:12} {proved:7} {result:18} {part.proves}"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="make prove", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help="all that are not proved")
    parser.add_argument("--list", action="store_true", help="show the parts")
    parser.add_argument("--again", action="store_true", help="run what is proved, too")
    asked = parser.parse_args(arguments)
    unknown = [name for name in asked.parts if name not in PARTS]
    if unknown:
        parser.error(f"no part is called {unknown[0]}; there are {', '.join(PARTS)}")
    if asked.list:
        print(*table(), sep="\n")
        return 0
    wanted = [*(asked.parts or PARTS)]
    if not asked.again:
        wanted = [name for name in wanted if not proved_at(name)]
    done = []
    for name in wanted:
        print(f"\n== {name}: {PARTS[name].proves}", flush=True)
        done.append(run(name))
    print("", *table(), sep="\n")
    return int(any(run.outcome != "passed" for run in done))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
