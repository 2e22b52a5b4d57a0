"""The package's front: what it says it has is there, and importing it does no work."""

from __future__ import annotations

import subprocess
import sys

from binlogkit_fixtures import servers


def test_all_is_sorted_and_there() -> None:
    assert servers.__all__ == sorted(servers.__all__)
    assert all(hasattr(servers, name) for name in servers.__all__)


def test_importing_loads_no_docker() -> None:
    code = (
        "import sys, binlogkit_fixtures.servers, binlogkit_fixtures.servers.mysqlbinlog;"
        "print([name for name in ('docker', 'requests') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
