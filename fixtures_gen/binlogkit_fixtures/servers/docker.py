"""The Docker runner: a MySQL server in a container, its port on 127.0.0.1 only.

It keeps to the contract of the official images (docker-library/mysql): port 3306,
``/var/lib/mysql``, ``MYSQL_ROOT_PASSWORD_FILE``, further arguments go to mysqld. The ``docker``
package loads when a function here is called.
"""

from __future__ import annotations

import atexit
import io
import os
import secrets
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, ClassVar

import pymysql

from binlogkit.errors import ServerError, printable
from binlogkit_fixtures.servers.base import Server, ServerSpec, check_file_name, last_words
from binlogkit_fixtures.servers.daemon import obtain_image, open_client
from binlogkit_fixtures.servers.options import arguments

if TYPE_CHECKING:
    from docker.models.containers import Container

__all__ = [
    "DockerServer",
    "start_docker",
]

_READY_SECONDS = 180
_STOP_SECONDS = 120
_CHUNK = 1 << 20
_DATA = "/var/lib/mysql"
_PASSWORD_FILE = "binlogkit-root-password"  # noqa: S105 - a file's name
_GUARD = Path(__file__).with_name("_docker_guard.py")
_LABELS = {"binlogkit": "1"}


def _archive(name: str, text: str, mode: int) -> bytes:
    """A tar file with one file of root's."""
    data = text.encode()
    member = tarfile.TarInfo(name)
    member.size, member.mode, member.mtime = len(data), mode, int(time.time())
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        tar.addfile(member, io.BytesIO(data))
    return out.getvalue()


class _Chunks(io.RawIOBase):
    """The daemon's chunks as a file to read from."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        while not self._rest:
            try:
                self._rest = next(self._chunks)
            except StopIteration:
                return 0
        size = min(len(view), len(self._rest))
        view[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size


class DockerServer(Server):
    """A MySQL server in a container that this process made and will remove."""

    runner: ClassVar[str] = "docker"

    def __init__(self, spec: ServerSpec, image: str | None = None) -> None:
        super().__init__(spec, 0, secrets.token_hex(16))
        self._owner = os.getpid()
        self._container: Container | None = None
        self._guard: subprocess.Popen[bytes] | None = None
        self._stack = open_client()
        self._client = self._stack.__enter__()
        atexit.register(self._at_exit)
        try:
            self._start(obtain_image(self._client, spec.version, image))
        except BaseException as exc:
            self.close()
            from docker.errors import DockerException

            if isinstance(exc, DockerException):
                raise ServerError(f"Docker: {printable(str(exc))}") from exc
            raise

    @property
    def container_id(self) -> str:
        """The container's full id."""
        assert self._container is not None
        return str(self._container.id)

    @property
    def peer_address(self) -> tuple[str, int]:
        """Its address in Docker's own network: 127.0.0.1 in a container is the container."""
        assert self._container is not None
        self._container.reload()
        networks = self._container.attrs["NetworkSettings"]["Networks"].values()
        address = next((str(one["IPAddress"]) for one in networks if one["IPAddress"]), None)
        if address is None:
            raise ServerError(f"{self!r} is in no network of Docker's")
        return address, 3306

    def _at_exit(self) -> None:
        if os.getpid() == self._owner:  # not in a fork of the process that made it
            self.close()

    def _start(self, image: str) -> None:
        """Create the container, put the secret in, start it and wait until root can log in."""
        name = f"binlogkit-{secrets.token_hex(8)}"
        self._guard = _start_guard(name)  # first: who is interrupted here knows no container
        container = self._container = self._client.containers.create(
            image,
            name=name,
            command=arguments(self.spec.options),
            environment={
                "MYSQL_ROOT_PASSWORD_FILE": f"/{_PASSWORD_FILE}",
                "MYSQL_INITDB_SKIP_TZINFO": "1",
            },
            labels=_LABELS,
            ports={"3306/tcp": (self.host, 0)},
        )
        # The daemon keeps no copy of what is put in: `docker inspect` shows only the file's name.
        container.put_archive("/", _archive(_PASSWORD_FILE, self._password, 0o400))
        uuid = self.spec.option("server-uuid")
        if uuid is not None:
            script = f"printf '[auto]\\nserver-uuid={uuid.lower()}\\n' > {_DATA}/auto.cnf\n"
            container.put_archive(
                "/docker-entrypoint-initdb.d/", _archive("binlogkit-uuid.sh", script, 0o644)
            )
        container.start()
        self._await_ready(container, image)
        self._fresh_log()
        for statement in self.spec.init_sql:
            self.query(statement)

    def _await_ready(self, container: Container, image: str) -> None:
        """Wait until root can log in; ServerError with the last lines when it ends or is late."""
        deadline = time.monotonic() + _READY_SECONDS
        while time.monotonic() < deadline:
            container.reload()
            if container.status not in ("created", "running"):
                raise ServerError(f"the container of {image} ended: {_tail(container)}")
            published = container.ports.get("3306/tcp")
            if published:
                self.port = int(published[0]["HostPort"])
                try:
                    self.connect(connect_timeout=10).close()
                    break
                except ServerError as exc:
                    if not isinstance(exc.__cause__, pymysql.err.OperationalError):
                        raise
            time.sleep(0.2)
        else:
            raise ServerError(f"{image} was not ready after {_READY_SECONDS} s: {_tail(container)}")
        if not f"{self.version}.".startswith(f"{self.spec.version}."):
            raise ServerError(f"{image} is MySQL {self.version}, not {self.spec.version}")

    def _fresh_log(self) -> None:
        """Begin the log anew: an image's entry point may have left some of its own."""
        major, minor = (int(part) for part in self.version.split(".")[:2])
        new = (major, minor) >= (8, 2)
        self.query("RESET BINARY LOGS AND GTIDS" if new else "RESET MASTER")

    def put(self, name: str, source: BinaryIO) -> None:
        """Write one file of the data folder, with the owner of the one that is there."""
        from docker.errors import DockerException

        assert self._container is not None
        path = f"{_DATA}/{check_file_name(name)}"
        try:
            owner = self._container.exec_run(["stat", "-c", "%u %g", _DATA]).output
            assert isinstance(owner, bytes)
            member = tarfile.TarInfo(name)
            member.uid, member.gid = map(int, owner.split())
            member.size, member.mode = source.seek(0, io.SEEK_END), 0o600
            source.seek(0)
            with tempfile.TemporaryFile() as packed:
                with tarfile.open(fileobj=packed, mode="w") as tar:
                    tar.addfile(member, source)
                packed.seek(0)
                self._container.put_archive(_DATA, packed)
        except (DockerException, OSError, ValueError) as exc:
            raise ServerError(f"{path} cannot be written: {printable(str(exc))}") from exc

    def _copy_to(self, name: str, out: BinaryIO) -> None:
        from docker.errors import DockerException

        assert self._container is not None
        path = f"{_DATA}/{name}"
        try:
            chunks, _ = self._container.get_archive(path)
            with tarfile.open(fileobj=io.BufferedReader(_Chunks(iter(chunks))), mode="r|") as tar:
                member = tar.next()
                source = tar.extractfile(member) if member and member.isreg() else None
                if source is None:
                    raise ServerError(f"{name} is no ordinary file of the data directory")
                shutil.copyfileobj(source, out, _CHUNK)
        except (DockerException, tarfile.TarError, OSError) as exc:
            raise ServerError(
                f"no file {name} in the data directory: {printable(str(exc))}"
            ) from exc

    def kill(self) -> None:
        """SIGKILL, and wait until the container has stopped."""
        from docker.errors import DockerException

        try:
            if self._container is not None and self._runs(self._container):
                self._container.kill("SIGKILL")
                self._container.wait(timeout=_STOP_SECONDS)
        except DockerException as exc:
            raise ServerError(f"the container was not killed: {printable(str(exc))}") from exc
        self._end_session()

    def stop(self) -> None:
        """Shut down cleanly, and wait until the container has stopped."""
        from docker.errors import DockerException

        self._end_session()
        try:
            if self._container is not None and self._runs(self._container):
                self._container.stop(timeout=_STOP_SECONDS)
        except DockerException as exc:
            raise ServerError(f"the container did not stop: {printable(str(exc))}") from exc

    def start_again(self) -> None:
        """Start the container, which has kept its files."""
        from docker.errors import DockerException

        assert self._container is not None
        try:
            self._container.start()
            self._await_ready(self._container, "the server's image")
        except DockerException as exc:
            raise ServerError(f"the container did not start: {printable(str(exc))}") from exc

    @staticmethod
    def _runs(container: Container) -> bool:
        container.reload()
        return bool(container.status == "running")

    def _remove(self) -> None:
        from docker.errors import DockerException, NotFound

        atexit.unregister(self._at_exit)
        container, self._container = self._container, None
        if container is None and self._guard is not None:
            self._guard.communicate()  # it looks for one that the daemon makes yet
            self._guard = None
        try:
            if container is not None:
                container.remove(v=True, force=True)
            _release_guard(self._guard)
        except NotFound:
            _release_guard(self._guard)
        except DockerException as exc:
            raise ServerError(f"the container was not removed: {printable(str(exc))}") from exc
        finally:
            self._stack.__exit__(None, None, None)


def _start_guard(container: str) -> subprocess.Popen[bytes]:
    """A process that removes the container of that name when this one dies."""
    guard = subprocess.Popen(
        [sys.executable, "-P", str(_GUARD)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert guard.stdin is not None
    guard.stdin.write(container.encode() + b"\n")
    guard.stdin.flush()
    return guard


def _release_guard(guard: subprocess.Popen[bytes] | None) -> None:
    """Let the guard go: the container is removed."""
    if guard is not None:
        guard.communicate(b"released\n")


def _tail(container: Container, lines: int = 8) -> str:
    """What the container's output says last, errors before notes, on one line."""
    return last_words(container.logs(tail=200).decode("utf-8", "replace"), lines)


def start_docker(spec: ServerSpec, image: str | None = None) -> DockerServer:
    """Start a server of ``spec`` in a container of ``image`` (else: see ``image_at_hand``).

    ServerError: no Docker, no image, or the server does not start; the message has what helps.
    """
    return DockerServer(spec, image)
