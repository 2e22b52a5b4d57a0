"""moto's server, a mock of S3: a process of its own, behind a gate that counts."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest

from tests.sources.stores.gate import Gate, gate_to
from tests.waiting import LONG, until


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def running(environment: Mapping[str, str] | None = None) -> Iterator[Gate]:
    """The gate to a new server; ``environment``: its whole, by default this process'."""
    port = _free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, stdout=quiet, stderr=quiet, env=environment)
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


@pytest.fixture(scope="session")
def moto_server() -> Iterator[Gate]:
    """The gate to a server that runs as long as the tests."""
    with running() as gate:
        yield gate


@pytest.fixture
def moto(moto_server: Gate) -> Iterator[Gate]:
    """The gate, with nothing counted yet."""
    moto_server.forget()
    yield moto_server
    moto_server.forget()
