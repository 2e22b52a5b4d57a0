"""What was freed goes back to the system."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

PROGRAM = """
from pathlib import Path
from binlogkit.livestate.allocators import give_back

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

before = resident()
held = [bytes(4096) + b"." for _ in range(50_000)]
del held[:-1]  # the last one keeps the heap's end
kept = resident() - before
give_back()
print(kept, resident() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc can be asked to")
def test_it_is_given_back() -> None:
    run = [sys.executable, "-c", PROGRAM]
    kept, rest = map(int, subprocess.run(run, capture_output=True, check=True).stdout.split())
    assert kept > 150 << 20
    assert rest < 50 << 20
