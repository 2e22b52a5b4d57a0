"""Coverage-guided fuzzing of every family of parsers (atheris): see docs/hostile-input.md.

``python tools/fuzz.py --list``; ``python tools/fuzz.py TARGET --runs 1000000``;
``python tools/fuzz.py --all --seconds 60``. What it finds stays in ``out/fuzz/TARGET``: the corpus,
and ``crash-…``, ``timeout-…`` or ``oom-…`` for each input that broke a promise. Each target runs in
a process of its own, whose address space is limited. The exit status is 1 when one failed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from random import Random

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

OUT = ROOT / "out" / "fuzz"
ADDRESS_SPACE = 1 << 30  # over what the process has mapped when it begins
INSTRUMENTED = ["binlogkit"]
CARRIERS = ("framing", "texts", "compressed", "packets")
BEHIND_CARRIERS = ("analyses", "events", "frames", "log", "reports", "rows")
# What a few bytes may stand for, lowered: an input is to be quick, and to reach the limits.
LIMITS = {"BINLOGKIT_LIMIT_WINDOW": str(1 << 20), "BINLOGKIT_LIMIT_REPEATED": str(1 << 16)}
SHORT = 640  # bytes of an input in a campaign, by default
WAIT = 30  # times as long may pass on a busy machine before an input counts as hanging
BROKEN = 77  # the exit status for a broken promise
INTERRUPTED = 72  # the exit status of libFuzzer; 70 is an input that hangs, 71 one over its memory
_STATUS = re.compile(r"#(\d+)\s+\w+.*?cov: (\d+) ft: (\d+) corp: (\d+)")
_RATE = re.compile(r"exec/s: (\d+)")


def parser() -> argparse.ArgumentParser:
    form = argparse.RawTextHelpFormatter
    made = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    made.add_argument("targets", nargs="*", metavar="TARGET")
    made.add_argument("--list", action="store_true", help="name the targets")
    made.add_argument("--all", action="store_true", help="every target, one after the other")
    made.add_argument("--runs", type=int, help="inputs for each target")
    made.add_argument("--seconds", type=int, help="time for each target")
    made.add_argument("--longest", type=int, help="bytes of an input, where less than the target's")
    made.add_argument("--campaign", action="store_true", help="run untraced, but for a sample")
    made.add_argument("--seed", type=int, default=20261121)
    made.add_argument("--timeout", type=int, default=10, help="CPU seconds of one input")
    made.add_argument("--out", type=Path, default=OUT, help="where corpora and findings go")
    made.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    made.add_argument("--log", type=Path, help="append a JSON line for each target")
    return made


def _modules(rooms: Sequence[str]) -> list[str]:
    """The modules in these packages of binlogkit, each by its full name, as atheris wants them."""
    spec = find_spec("binlogkit")
    assert spec is not None and spec.origin is not None
    root = Path(spec.origin).parent
    paths = [path.with_suffix("") for room in rooms for path in (root / room).rglob("*.py")]
    names = [".".join(path.relative_to(root.parent).parts) for path in paths]
    return [name.removesuffix(".__init__") for name in names]


def fuzz(name: str, arguments: argparse.Namespace) -> None:
    """Run one target in this process; does not return."""
    import atheris

    left_out = _modules(BEHIND_CARRIERS) if name in CARRIERS else []
    with atheris.instrument_imports(include=INSTRUMENTED, exclude=left_out):
        from tests.fuzz.binlogkit_fuzz.targets import TARGETS
    from tests.fuzz.binlogkit_fuzz import mutate, seeds

    target = TARGETS[name]
    longest = min(target.longest, arguments.longest or target.longest)
    folder = arguments.out / name
    corpus = folder / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(target.seeds()):
        (corpus / f"seed-{number:05}").write_bytes(data[:longest])
    argv = [
        sys.argv[0], str(corpus), f"-artifact_prefix={folder}/", f"-seed={arguments.seed}",
        f"-timeout={WAIT * arguments.timeout}", f"-max_len={longest}", "-rss_limit_mb=0",
        "-print_final_stats=1", "-reload=0", "-len_control=0",
    ]  # fmt: skip
    if arguments.runs:
        argv.append(f"-runs={arguments.runs}")
    if arguments.seconds:
        argv.append(f"-max_total_time={arguments.seconds}")
    options = {}
    if target.framed:
        parts = [part for code in range(43) for part in seeds.events_of(code)]
        pool = [part for part in parts if len(part.body) < longest // 4]

        def mutated(data: bytes, longest: int, seed: int) -> bytes:
            return mutate.mutate_log(data, Random(seed), longest, pool, atheris.Mutate)

        options["custom_mutator"] = mutated

    def timed(data: bytes) -> None:
        began = time.process_time()
        target.run(data)
        took = time.process_time() - began
        if took > arguments.timeout:
            raise TimeoutError(f"the input took {took:.1f} seconds")

    atheris.Setup(argv, timed, enable_python_coverage=True, **options)
    _bound_memory()
    atheris.Fuzz()


def campaign(name: str, arguments: argparse.Namespace) -> int:
    """Run one target's inputs untraced in this process; the exit status."""
    from tests.fuzz.binlogkit_fuzz.campaign import Campaign
    from tests.fuzz.binlogkit_fuzz.targets import TARGETS

    target = TARGETS[name]
    made = Campaign(
        target, arguments.out / name, longest=min(target.longest, arguments.longest or SHORT),
        timeout=arguments.timeout, seed=arguments.seed,
    )  # fmt: skip
    _bound_memory()
    return made.run(arguments.runs, arguments.seconds)


def _bound_memory() -> None:
    used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (used + ADDRESS_SPACE, used + ADDRESS_SPACE))


def _keep_running(folder: Path, status: int) -> None:
    """What ran when a process was ended is what ended it: a crash, or a hang that the watch saw."""
    from tests.fuzz.binlogkit_fuzz.campaign import keep, left_over

    inputs = left_over(folder)
    if inputs and status not in (-signal.SIGTERM, -signal.SIGINT, -signal.SIGKILL):
        keep(folder, "timeout" if status == 1 else "crash", inputs)


def run(name: str, arguments: argparse.Namespace) -> bool:
    """Run one target in a process of its own; whether it kept every promise."""
    command = [sys.executable, __file__, name, "--child", f"--seed={arguments.seed}"]
    command += [f"--timeout={arguments.timeout}", f"--out={arguments.out}"]
    command += ["--campaign"] if arguments.campaign else []
    command += [f"--runs={arguments.runs}"] if arguments.runs else []
    command += [f"--longest={arguments.longest}"] if arguments.longest else []
    command += [f"--seconds={arguments.seconds}"] if arguments.seconds else []
    environment = {**LIMITS, **os.environ}
    began = time.monotonic()
    status, last, said = None, {}, []
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert process.stdout is not None
    for line in process.stdout:
        found = _STATUS.search(line)
        if found:
            rate = _RATE.search(line)
            names = ("inputs", "edges", "features", "corpus")
            last = dict(zip(names, map(int, found.groups()), strict=True))
            last["rate"] = int(rate[1]) if rate else 0
        else:
            said.append(line)
    status = process.wait()
    if arguments.campaign and status not in (0, BROKEN):
        _keep_running(arguments.out / name, status)
    result = {"target": name, **last, "seconds": round(time.monotonic() - began), "status": status}
    if status in (INTERRUPTED, -signal.SIGTERM, -signal.SIGINT):
        result["interrupted"] = True
    print(json.dumps(result), flush=True)
    if arguments.log:
        with arguments.log.open("a", encoding="utf-8") as log:
            log.write(json.dumps(result) + "\n")
    if status:
        sys.stderr.write("".join(said[-60:]))
    return status == 0


def main() -> int:
    arguments = parser().parse_args()
    if arguments.child and arguments.campaign:
        return campaign(arguments.targets[0], arguments)
    if arguments.child:
        fuzz(arguments.targets[0], arguments)
    from tests.fuzz.binlogkit_fuzz.targets import TARGETS

    if arguments.list:
        print("\n".join(TARGETS))
        return 0
    names = list(TARGETS) if arguments.all else arguments.targets
    unknown = [name for name in names if name not in TARGETS]
    if unknown or not names:
        print(f"name targets of: {', '.join(TARGETS)}", file=sys.stderr)
        return 2
    results = [run(name, arguments) for name in names]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
