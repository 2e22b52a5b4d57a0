"""The order for a server and its handle, without a server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pytest

from binlogkit.errors import ServerError, UsageError
from binlogkit_fixtures.servers import Server, ServerSpec
from binlogkit_fixtures.servers.base import check_file_name


class FolderServer(Server):
    """A handle on a data folder whose server is gone: files, and nothing that answers."""

    runner = "folder"

    def __init__(self, spec: ServerSpec, folder: Path) -> None:
        super().__init__(spec, 1, "0123456789abcdef-secret")
        self.folder = folder
        self.removed = 0

    def put(self, name: str, source: BinaryIO) -> None:
        (self.folder / name).write_bytes(source.read())

    def _copy_to(self, name: str, out: BinaryIO) -> None:
        out.write((self.folder / name).read_bytes())

    def kill(self) -> None: ...

    def stop(self) -> None: ...

    def start_again(self) -> None: ...

    def _remove(self) -> None:
        self.removed += 1


@pytest.fixture
def server(tmp_path: Path) -> Iterator[FolderServer]:
    with FolderServer(ServerSpec("5.7"), tmp_path) as handle:
        yield handle


@pytest.mark.parametrize("name", ["binlog.000001", "binlog.index", "db1-bin.000012", "ib_logfile0"])
def test_plain_names_pass(name: str) -> None:
    assert check_file_name(name) == name


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "../x", "a/b", "/etc/passwd", "a\\b", "a\0b", "a\nb", ".hidden", "x" * 256,
     "\u202eabc", "a b"],
)  # fmt: skip
def test_names_that_could_leave_the_folder_are_refused(server: Server, name: str) -> None:
    with pytest.raises(UsageError):
        check_file_name(name)
    with pytest.raises(UsageError):
        server.read_file(name)


def test_index_names_are_checked_too(server: FolderServer) -> None:
    (server.folder / "binlog.index").write_text("./binlog.000001\n./../../etc/passwd\n")
    with pytest.raises(UsageError):
        server.binlog_names()


def test_index_names_come_in_order(server: FolderServer) -> None:
    (server.folder / "binlog.index").write_text("./binlog.000009\n./binlog.000010\n")
    assert server.binlog_names() == ["binlog.000009", "binlog.000010"]


def test_a_copied_log_is_private(server: FolderServer, tmp_path: Path) -> None:
    (server.folder / "binlog.000001").write_bytes(b"\xfebin")
    (tmp_path / "out").mkdir()
    path = server.copy_binlog("binlog.000001", tmp_path / "out")
    assert path == tmp_path / "out" / "binlog.000001"
    assert path.read_bytes() == b"\xfebin"
    assert path.stat().st_mode & 0o777 == 0o600


def test_the_password_shows_nowhere(server: Server) -> None:
    assert "secret" not in repr(server)
    assert "secret" not in str(server)
    with pytest.raises(ServerError) as caught:
        server.connect(connect_timeout=1)
    assert "secret" not in str(caught.value)


def test_close_removes_once(tmp_path: Path) -> None:
    handle = FolderServer(ServerSpec("8.0"), tmp_path)
    handle.close()
    handle.close()
    assert handle.removed == 1
    assert "closed" in repr(handle)


def test_a_spec_is_checked_and_frozen() -> None:
    options: dict[str, str | None] = {"binlog-format": "ROW"}
    spec = ServerSpec("8.0", options, ("SELECT 1",))
    options["binlog-format"] = "MIXED"
    assert spec.option("binlog_format") == "ROW"
    assert spec.option("server-id") == "1"
    assert spec.option("no-such") is None
    with pytest.raises(TypeError):
        spec.options["x"] = "1"  # type: ignore[index]
    with pytest.raises(UsageError, match="the series"):
        ServerSpec("8.0.31")
    with pytest.raises(UsageError):
        ServerSpec("8.0", {"datadir": "/"})
