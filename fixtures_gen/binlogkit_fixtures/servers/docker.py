"""The Docker runner."""

from __future__ import annotations

from dataclasses import dataclass

from binlogkit.errors import ServerError
from binlogkit_fixtures.servers.base import Server, ServerSpec


@dataclass(frozen=True, slots=True)
class Availability:
    """Whether Docker answers here; ``reason``: why not, and what helps."""

    reason: str | None

    def __bool__(self) -> bool:
        return self.reason is None


def docker_available() -> Availability:
    """Whether Docker can be used."""
    return Availability("the Docker runner is not there yet")


def image_at_hand(series: str, image: str | None = None) -> str | None:
    """The image to use."""
    return None


def start_docker(spec: ServerSpec, image: str | None = None) -> Server:
    """Start."""
    raise ServerError("the Docker runner is not there yet")
