"""`make bench`: every decoder over the same logs, side by side in one run.

For each log a table: user CPU and wall seconds of whole processes (median, least and most of
several rounds, the decoders taking turns), peak memory, and how much slower than binlogkit. What
each decoder counted stands beside it. The floors are what any decoder must do at least: copy the
bytes, and compute their CRC32.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import logs
import peers

HERE = Path(__file__).parent
_FLOORS = {
    "memcpy": "d = open({path!r}, 'rb').read(); b = bytearray(len(d)); s = time.process_time(); "
    "b[:] = d; t = time.process_time() - s",
    "CRC32": "import zlib; d = open({path!r}, 'rb').read(); s = time.process_time(); "
    "zlib.crc32(d); t = time.process_time() - s",
}


@dataclass
class Figures:
    """What one decoder took for one log: a number per round."""

    user: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)
    peak: list[int] = field(default_factory=list)
    alone: list[float] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    failure: str = ""


def _once(command: list[str], figures: Figures) -> str:
    with tempfile.TemporaryFile() as out:
        start = time.perf_counter()
        child = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        figures.wall.append(time.perf_counter() - start)
        figures.user.append(usage.ru_utime)
        figures.peak.append(usage.ru_maxrss // 1024)
        if child.returncode:
            figures.failure = f"exit status {child.returncode}"
        out.seek(0)
        return out.read().decode("utf-8", "replace")


def _measure(log: Path, decoders: list[peers.Peer], rounds: int) -> dict[str, Figures]:
    found = {decoder.name: Figures() for decoder in decoders}
    for _ in range(rounds):
        for decoder in decoders:
            figures = found[decoder.name]
            text = _once([*decoder.command, str(log)], figures)
            if figures.failure or not text:
                continue
            said = decoder.counts(text) if decoder.counts else json.loads(text.splitlines()[-1])
            figures.counts = {k: said[k] for k in ("changes", "values")}
            if "user" in said:
                figures.alone.append(said["user"])
    return found


def _floor(code: str, path: Path, rounds: int) -> float:
    script = "import time; " + code.format(path=str(path)) + "; print(t)"
    taken = [
        float(subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                             check=True).stdout)
        for _ in range(rounds)
    ]  # fmt: skip
    return statistics.median(taken)


def _spread(values: list[float]) -> str:
    middle = statistics.median(values)
    return f"{middle:.3f} ({min(values):.3f}-{max(values):.3f})"


def _report(log: Path, found: dict[str, Figures], floors: dict[str, float]) -> None:
    print(f"\n{log.name}: {log.stat().st_size:,} bytes")
    ours = found["binlogkit"]
    whole = statistics.median(ours.user)
    alone = statistics.median(ours.alone) if ours.alone else None
    print(f"  {'decoder':<30}{'user s':>24}{'wall s':>24}{'MB':>7}{'x ours':>8}  counted")
    for name, figures in found.items():
        counted = figures.failure or f"{figures.counts['changes']:,} changes"
        if figures.counts.get("values"):
            counted += f", {figures.counts['values']:,} values"
        ratio = statistics.median(figures.user) / whole
        print(
            f"  {name:<30}{_spread(figures.user):>24}{_spread(figures.wall):>24}"
            f"{max(figures.peak):>7,}{ratio:>8.1f}  {counted}"
        )
    if alone is not None:
        print(f"  binlogkit, the decoding alone: {alone:.3f} s of user CPU; times that:", end="")
        for name, figures in found.items():
            if name != "binlogkit":
                print(f" {name} {statistics.median(figures.user) / alone:.1f}", end=";")
        print()
    for name, seconds in floors.items():
        share = f", ours is {alone / seconds:.1f} times that" if alone and seconds else ""
        print(f"  floor {name}: {seconds:.3f} s{share}")


def main() -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(logs.NAMES)}; all by default")
    parser.add_argument("--out", type=Path, default=Path("out/bench"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--share", type=float, default=1.0, help="of the logs' full size")
    parser.add_argument("--without", action="append", default=[], help="a decoder to leave out")
    wanted = parser.parse_args()
    ours = peers.Peer("binlogkit", "", (sys.executable, str(HERE / "ours.py")))
    decoders = [ours, *(p for p in peers.build(wanted.out) if p.name not in wanted.without)]
    print("versions: " + ", ".join(f"{p.name} {p.version}" for p in decoders[1:]))
    for name in wanted.names or logs.NAMES:
        log = logs.make(name, wanted.out / "logs", wanted.share)
        log.read_bytes()  # into the page cache
        found = _measure(log, decoders, wanted.rounds)
        counted = Figures()
        text = _once([*ours.command, "--count", str(log)], counted)
        found["binlogkit"].counts = json.loads(text)
        floors = {kind: _floor(code, log, wanted.rounds) for kind, code in _FLOORS.items()}
        _report(log, found, floors)


if __name__ == "__main__":
    main()
