"""Buckets of moto's server."""

from __future__ import annotations

import zlib
from typing import Any

import pytest

from tests.sources.stores.gate import Gate

SECRET = "hunter2-hunter2"


@pytest.fixture
def gate(moto: Gate) -> Gate:
    """The gate, with nothing counted yet."""
    return moto


@pytest.fixture
def options(gate: Gate) -> dict[str, Any]:
    """What opens the store."""
    return {"key": "me", "secret": SECRET, "endpoint_url": gate.endpoint}


@pytest.fixture
def bucket(gate: Gate, options: dict[str, Any], request: pytest.FixtureRequest) -> Bucket:
    """A bucket of the test's own: ``put(key, data)`` fills it, ``name`` is its name."""
    return Bucket(options, f"b{zlib.crc32(request.node.nodeid.encode()):08x}", gate)


class Bucket:
    """A bucket."""

    def __init__(self, options: dict[str, Any], name: str, gate: Gate) -> None:
        import fsspec

        self.name, self._gate = name, gate
        self._fs = fsspec.filesystem("s3", **options)
        self._fs.mkdir(name)
        gate.forget()

    def put(self, key: str, data: bytes) -> str:
        """Store an object; its URL."""
        self._fs.pipe_file(f"{self.name}/{key}", data)
        self._gate.forget()
        return f"s3://{self.name}/{key}"
