"""Which runner takes an order: Docker when an image is at hand, else the local one."""

from __future__ import annotations

import os
from pathlib import Path

from binlogkit.errors import ServerError, UsageError
from binlogkit_fixtures.servers import artifacts, binaries
from binlogkit_fixtures.servers.base import Server, ServerSpec

__all__ = ["RUNNERS", "choose_runner", "start"]

RUNNERS = ("auto", "docker", "local")


def choose_runner(spec: ServerSpec, runner: str = "auto", *, image: str | None = None) -> str:
    """``docker`` or ``local`` for ``spec``.

    ``runner`` says it, else ``BINLOGKIT_RUNNER``, else: Docker when an image is on this machine
    (nothing is pulled to find out), else local when a mysqld is available. UsageError: no such
    runner. ServerError: neither way is open; the message says what opens each.
    """
    wanted = runner if runner != "auto" else os.environ.get("BINLOGKIT_RUNNER") or "auto"
    if wanted not in RUNNERS:
        raise UsageError(f"runner {wanted!r} is none of {', '.join(RUNNERS)}")
    if wanted != "auto":
        return wanted
    no_docker = _without_docker(spec, image)
    if no_docker is None:
        return "docker"
    no_local = _without_local(spec.version)
    if no_local is None:
        return "local"
    raise ServerError(
        f"no MySQL {spec.version} server can be had. Docker: {no_docker}. Local: {no_local}."
    )


def _without_docker(spec: ServerSpec, image: str | None) -> str | None:
    """None when Docker answers and an image for ``spec`` is at hand, else why not."""
    from binlogkit_fixtures.servers import daemon

    available = daemon.docker_available()
    if not available:
        return available.reason
    if daemon.image_at_hand(spec.version, image) is None:
        return (
            f"no image of {spec.version} is here; docker pull mysql:{spec.version}, or build one: "
            "python -m binlogkit_fixtures.servers.images"
        )
    return None


def _without_local(series: str) -> str | None:
    """None when a mysqld of ``series`` is available for this machine, else why not."""
    if binaries.named_mysqld(series) is not None or binaries.on_path(series) is not None:
        return None
    return artifacts.obtainable(series)


def start(
    spec: ServerSpec,
    runner: str = "auto",
    *,
    image: str | None = None,
    program: Path | None = None,
) -> Server:
    """Start a server of ``spec`` and wait until root can log in; use it in a ``with`` statement.

    ``image``: a Docker image to use; ``program``: a mysqld to use. ServerError: it cannot be had
    or does not start; the message has the server's last words and the command that helps.
    """
    if image is not None and program is not None:
        raise UsageError("image is for the docker runner and program for the local one: give one")
    if runner == "auto" and (image is not None or program is not None):
        runner = "docker" if image is not None else "local"
    if choose_runner(spec, runner, image=image) == "docker":
        from binlogkit_fixtures.servers.docker import start_docker

        return start_docker(spec, image)
    from binlogkit_fixtures.servers.local import start_local

    return start_local(spec, program)
