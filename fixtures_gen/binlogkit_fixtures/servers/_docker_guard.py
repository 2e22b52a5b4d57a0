"""Remove a container when the process that started it dies without doing so.

Standard input: the container's id, then nothing until the caller is gone. ``released`` as the next
line means that the caller removed it.
"""

from __future__ import annotations

import contextlib
import signal
import sys


def main() -> int:
    """Wait for the caller's end and remove what it left."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    container, _, rest = sys.stdin.read().partition("\n")
    if rest.strip() == "released":
        return 0
    from docker.errors import NotFound

    import docker

    with contextlib.closing(docker.from_env()) as client, contextlib.suppress(NotFound):
        client.api.remove_container(container, v=True, force=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
