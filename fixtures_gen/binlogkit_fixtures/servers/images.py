"""Images of MySQL 5.7 and 8.0 made here, for machines that reach no container hub.

``python -m binlogkit_fixtures.servers.images`` builds ``binlogkit/mysql:5.7`` and ``:8.0`` from the
pinned artifacts on a Debian base of its own making; root, Docker and debootstrap are needed.
``--python`` makes a base with Python for the lab instead. The recipe: docs/servers.md.
``docker/`` of the source tree has the Dockerfile and the entry point.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from docker.errors import BuildError, DockerException, ImageNotFound

import docker
from binlogkit.errors import BinlogKitError, ServerError, UsageError, printable
from binlogkit_fixtures.servers import apt, artifacts
from binlogkit_fixtures.servers.daemon import built_image, open_client

__all__ = ["BASE_IMAGE", "PYTHON_IMAGE", "build_image", "main", "make_base"]

BASE_IMAGE = "binlogkit/base:bookworm"
PYTHON_IMAGE = "binlogkit/python:bookworm"
SERIES = ("5.7", "8.0")
_SUITE = "bookworm"
_PACKAGES = {
    BASE_IMAGE: "libaio1,libnuma1",
    PYTHON_IMAGE: "python3,python3-venv,python3-dev,ca-certificates",
}
_DOCKER_FOLDER = Path(__file__).resolve().parents[3] / "docker"
#: What an image does not need, or what identifies the machine that made it.
_LEFT_OUT = (
    "usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info", "var/cache",
    "var/lib/apt/lists", "var/log", "etc/hostname", "etc/resolv.conf", "etc/apt/sources.list",
)  # fmt: skip


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def make_base(client: docker.DockerClient, image: str = BASE_IMAGE) -> None:
    """Make BASE_IMAGE or PYTHON_IMAGE with debootstrap: about 30 s, 70 or 180 MB.

    ServerError: not root, no debootstrap, or it failed.
    """
    if os.geteuid() != 0:
        raise ServerError("the base image is made by root: sudo python -m " + __spec__.name)
    if shutil.which("debootstrap") is None:
        raise ServerError("debootstrap is missing: apt-get install debootstrap")
    with tempfile.TemporaryDirectory(prefix="binlogkit-base-") as name:
        work = Path(name)
        root = work / "root"
        command = [
            "debootstrap", "--variant=minbase", f"--include={_PACKAGES[image]}", _SUITE, str(root),
            apt.debian_mirror(work),
        ]  # fmt: skip
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
            check=False,
        )  # fmt: skip
        if done.returncode != 0:
            last = " / ".join((done.stdout + done.stderr).strip().splitlines()[-3:])
            raise ServerError(f"debootstrap failed: {printable(last)}")
        archive = work / "base.tar"
        left_out = [f"--exclude=./{path}" for path in _LEFT_OUT]
        subprocess.run(
            ["tar", "-C", str(root), "--one-file-system", *left_out, "-cf", str(archive), "."],
            check=True,
        )
        repository, _, tag = image.partition(":")
        client.api.import_image_from_file(str(archive), repository=repository, tag=tag)


def _has(client: docker.DockerClient, image: str) -> bool:
    try:
        client.images.get(image)
    except ImageNotFound:
        return False
    return True


def build_image(series: str, *, base: str | None = None, folder: Path = _DOCKER_FOLDER) -> str:
    """Build the image of ``series`` and return its name.

    ``base``: the image to build on (with libaio1 and libnuma1), else one is made. ``folder``: the
    source tree's ``docker``. ServerError: no Docker, no artifact, or a build step that failed.
    """
    if series not in SERIES:
        raise UsageError(f"series {series!r} is none of {', '.join(SERIES)}")
    if not (folder / "Dockerfile.mysql").is_file():
        raise ServerError(f"no Dockerfile.mysql in {folder}: run this in a source tree")
    server = artifacts.obtain(series)
    with open_client() as client, tempfile.TemporaryDirectory(prefix="binlogkit-image-") as name:
        try:
            if base is None and not _has(client, BASE_IMAGE):
                _say(f"making {BASE_IMAGE} with debootstrap")
                make_base(client)
            context = Path(name)
            for file in ("Dockerfile.mysql", "entrypoint.sh"):
                shutil.copy(folder / file, context / file)
            shutil.copytree(server, context / "server", symlinks=True)
            _say(f"building {built_image(series)}")
            client.images.build(
                path=str(context), dockerfile="Dockerfile.mysql", tag=built_image(series),
                buildargs={"BASE": base or BASE_IMAGE}, labels={"binlogkit": "1"}, rm=True,
            )  # fmt: skip
        except (BuildError, DockerException, subprocess.SubprocessError, OSError) as exc:
            raise ServerError(f"cannot build {built_image(series)}: {printable(str(exc))}") from exc
    return built_image(series)


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the images that the command line names; 0, or 2 with one line on stderr."""
    parser = argparse.ArgumentParser(description="Build binlogkit/mysql images from the registry.")
    parser.add_argument(
        "series", nargs="*", default=list(SERIES), metavar="SERIES",
        help="5.7, 8.0 (both when none is named)",
    )  # fmt: skip
    parser.add_argument("--base", help="an image with libaio1 and libnuma1 to build on")
    parser.add_argument("--python", action="store_true", help=f"make {PYTHON_IMAGE} instead")
    chosen = parser.parse_args(arguments)
    try:
        if chosen.python:
            with open_client() as client:
                make_base(client, PYTHON_IMAGE)
            print(PYTHON_IMAGE)
            return 0
        for series in chosen.series:
            print(build_image(series, base=chosen.base))
    except BinlogKitError as exc:
        _say(f"error: {exc}")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
