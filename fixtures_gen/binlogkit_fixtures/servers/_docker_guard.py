"""Remove a container when the process that started it dies without doing so.

Standard input: the container's name, then nothing until the caller is gone. ``released`` as the
next line means that the caller removed it. One that the daemon was still making comes later.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import time

_LATE = 5.0  # seconds in which a container may still come


def main() -> int:
    """Wait for the caller's end and remove what it left."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    container, _, rest = sys.stdin.read().partition("\n")
    if rest.strip() == "released":
        return 0
    from docker.errors import NotFound

    import docker

    deadline = time.monotonic() + _LATE
    with contextlib.closing(docker.from_env()) as client:
        while time.monotonic() < deadline:
            with contextlib.suppress(NotFound):
                client.api.remove_container(container, v=True, force=True)
                break
            time.sleep(0.2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
