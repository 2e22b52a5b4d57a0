"""Images built here: what is refused, and that a rebuilt one keeps to the contract."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from binlogkit.errors import ServerError, UsageError
from binlogkit_fixtures.servers import ServerSpec, images, start
from binlogkit_fixtures.servers.daemon import built_image, docker_available

_ENTRY_POINT = Path(__file__).parents[3] / "docker" / "entrypoint.sh"


def test_a_series_without_an_artifact() -> None:
    with pytest.raises(UsageError, match="9"):
        images.build_image("9")


def test_outside_of_a_source_tree(tmp_path: Path) -> None:
    with pytest.raises(ServerError, match=r"no Dockerfile\.mysql"):
        images.build_image("5.7", folder=tmp_path)


def test_the_command_tells_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert images.main(["4.1"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("error: ")
    assert said.err.count("\n") == 1


def test_the_entry_point_is_sound() -> None:
    subprocess.run(["bash", "-n", str(_ENTRY_POINT)], check=True)
    assert os.access(_ENTRY_POINT, os.X_OK)


@pytest.mark.server
@pytest.mark.slow
def test_a_built_image_serves(series: str) -> None:
    available = docker_available()
    if not available:
        pytest.skip(str(available.reason))
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        pytest.skip("the base image needs root and debootstrap")
    assert images.build_image(series) == built_image(series)
    with start(ServerSpec(series), image=built_image(series)) as server:
        assert server.version.startswith(f"{series}.")


@pytest.mark.server
@pytest.mark.parametrize(
    "environment",
    [{}, {"MYSQL_ROOT_PASSWORD": "a", "MYSQL_ROOT_PASSWORD_FILE": "/etc/hostname"}],
    ids=["none", "both"],
)
@pytest.mark.gate(1)
def test_a_container_needs_one_password(series: str, environment: dict[str, str]) -> None:
    available = docker_available()
    if not available:
        pytest.skip(str(available.reason))
    settings = [word for item in environment.items() for word in ("--env", "=".join(item))]
    done = subprocess.run(
        ["docker", "run", "--rm", *settings, built_image(series)], capture_output=True, text=True
    )
    if "Unable to find image" in done.stderr:
        pytest.skip(f"{built_image(series)} is not built here")
    assert done.returncode == 1
    assert "MYSQL_ROOT_PASSWORD" in done.stderr
