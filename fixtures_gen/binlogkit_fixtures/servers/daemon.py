"""The Docker daemon and its images: whether it answers, and which image an order is run from.

The ``docker`` package loads when a function here is called.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from binlogkit.errors import ServerError, not_installed, printable

if TYPE_CHECKING:
    import docker

__all__ = [
    "Availability",
    "built_image",
    "docker_available",
    "image_at_hand",
    "obtain_image",
    "open_client",
]


@dataclass(frozen=True, slots=True)
class Availability:
    """Whether Docker answers here, as a truth value; ``reason``: why not, and what helps."""

    reason: str | None

    def __bool__(self) -> bool:
        return self.reason is None


@contextmanager
def open_client() -> Iterator[docker.DockerClient]:
    """A client of the Docker daemon that answers.

    ServerError: no ``docker`` package or no daemon; the message says what helps.
    """
    try:
        from docker.errors import DockerException

        import docker
    except ImportError as exc:
        raise ServerError(not_installed("Docker's Python package", "fixtures")) from exc
    try:
        _knock()
        client = docker.from_env()
    except (DockerException, OSError) as exc:
        raise ServerError(_no_daemon(exc)) from exc
    with closing(client):
        try:
            client.ping()
        except (DockerException, OSError) as exc:
            raise ServerError(_no_daemon(exc)) from exc
        yield client


def _knock() -> None:
    """OSError when nobody listens at the daemon's socket; the SDK would leak a socket there."""
    place = os.environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock"
    if place.startswith("unix://"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.connect(place.removeprefix("unix://"))


def _no_daemon(exc: Exception) -> str:
    return (
        f"the Docker daemon does not answer ({printable(str(exc))}); start it: "
        "sudo systemctl start docker, or sudo dockerd"
    )


def docker_available() -> Availability:
    """Whether Docker answers, and if not, why not."""
    try:
        with open_client():
            return Availability(None)
    except ServerError as exc:
        return Availability(str(exc))


def built_image(series: str) -> str:
    """The name that ``images`` gives to an image built here."""
    return f"binlogkit/mysql:{series}"


def _candidates(series: str, image: str | None) -> list[str]:
    """The images to look for: the named one alone, else the official and the one built here."""
    named = image or os.environ.get(f"BINLOGKIT_IMAGE_{series.replace('.', '_')}")
    return [named] if named else [f"mysql:{series}", built_image(series)]


def image_at_hand(series: str, image: str | None = None) -> str | None:
    """The image for ``series`` that is on this machine, or None; nothing is pulled.

    ServerError: Docker does not answer.
    """
    with open_client() as client:
        return _present(client, _candidates(series, image))


def _present(client: docker.DockerClient, candidates: list[str]) -> str | None:
    from docker.errors import ImageNotFound

    for candidate in candidates:
        try:
            client.images.get(candidate)
        except ImageNotFound:
            continue
        return candidate
    return None


def obtain_image(client: docker.DockerClient, series: str, image: str | None) -> str:
    """An image that is here, or the first candidate pulled; ServerError: neither."""
    from docker.errors import DockerException

    candidates = _candidates(series, image)
    found = _present(client, candidates)
    if found is not None:
        return found
    try:
        client.images.pull(candidates[0])
    except DockerException as exc:
        raise ServerError(
            f"no image {' or '.join(candidates)} is here and it cannot be pulled "
            f"({printable(str(exc))}); build one: python -m binlogkit_fixtures.servers.images "
            f"{series}"
        ) from exc
    return candidates[0]
