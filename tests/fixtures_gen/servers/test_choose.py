"""Which runner takes an order, tried with what is really absent."""

from __future__ import annotations

from pathlib import Path

import pytest

from binlogkit.errors import ServerError, UsageError
from binlogkit_fixtures.servers import ServerSpec, choose_runner, start
from binlogkit_fixtures.servers.daemon import docker_available


@pytest.fixture
def bare(own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with no Docker, no mvn, nothing in the cache and nothing named."""
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no-docker.sock")
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("RUNNER", "MAVEN_REPOSITORY", "MYSQLD_5_7", "IMAGE_5_7"):
        monkeypatch.delenv(f"BINLOGKIT_{name}", raising=False)
    return tmp_path


def test_neither_way_is_open(bare: Path) -> None:
    with pytest.raises(ServerError) as caught:
        choose_runner(ServerSpec("5.7"))
    message = str(caught.value)
    assert "Docker: the Docker daemon does not answer" in message
    assert "sudo dockerd" in message
    assert "apt-get install maven" in message
    assert "BINLOGKIT_MYSQLD_5_7=" in message


def test_without_docker_a_named_server_is_taken(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BINLOGKIT_MYSQLD_5_7", "/somewhere/mysqld")
    assert choose_runner(ServerSpec("5.7")) == "local"


def test_without_docker_a_repository_is_enough(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BINLOGKIT_MAVEN_REPOSITORY", bare.as_uri())
    assert choose_runner(ServerSpec("8.0")) == "local"


def test_the_environment_overrules_auto_and_an_argument_both(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BINLOGKIT_RUNNER", "docker")
    assert choose_runner(ServerSpec("5.7")) == "docker"
    assert choose_runner(ServerSpec("5.7"), "local") == "local"


@pytest.mark.parametrize("named", ["podman", "", " local"])
def test_no_such_runner(bare: Path, named: str) -> None:
    with pytest.raises(UsageError):
        choose_runner(ServerSpec("5.7"), named)


def test_no_such_runner_in_the_environment(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BINLOGKIT_RUNNER", "podman")
    with pytest.raises(UsageError, match="podman"):
        choose_runner(ServerSpec("5.7"))


def test_why_docker_is_not_available(bare: Path) -> None:
    available = docker_available()
    assert not available
    assert "start it: sudo systemctl start docker" in str(available.reason)


def test_docker_that_was_asked_for_does_not_fall_back(bare: Path) -> None:
    with pytest.raises(ServerError, match="does not answer"):
        start(ServerSpec("5.7"), "docker")


def test_a_named_program_that_is_not_there(bare: Path) -> None:
    with pytest.raises(ServerError, match="does not exist"):
        start(ServerSpec("5.7"), program=bare / "mysqld")


def test_image_and_program_exclude_each_other(bare: Path) -> None:
    with pytest.raises(UsageError):
        start(ServerSpec("5.7"), image="mysql:5.7", program=bare / "mysqld")
