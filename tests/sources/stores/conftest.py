"""moto's server, a process of its own, behind a gate that counts."""

from __future__ import annotations

import socket
import subprocess
import sys
import zlib
from collections.abc import Iterator
from typing import Any

import pytest

from tests.sources.stores.gate import Gate, gate_to
from tests.waiting import LONG, until

SECRET = "hunter2-hunter2"


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.fixture(scope="session")
def server() -> Iterator[Gate]:
    """The gate to a server that runs as long as these tests."""
    port = _free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until(lambda: _answers(process, port), "moto's server answers")
        with gate_to(port) as gate:
            yield gate
    finally:
        process.terminate()
        process.wait()


def _answers(process: subprocess.Popen[bytes], port: int) -> bool:
    assert process.poll() is None, "moto's server ended"
    try:
        socket.create_connection(("127.0.0.1", port), LONG).close()
    except OSError:
        return False
    return True


@pytest.fixture
def gate(server: Gate) -> Iterator[Gate]:
    """The gate, with nothing counted yet."""
    server.forget()
    yield server
    server.forget()


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
