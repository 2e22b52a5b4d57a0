"""URLs through fsspec: memory, local, zip, HTTP on this machine, caches; secrets stay hidden."""

from __future__ import annotations

import http.server
import threading
import traceback
import zipfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import fsspec
import pytest

from binlogkit.errors import EmptyInputError, InputError
from binlogkit.sources.carriers import resolve
from binlogkit.sources.carriers.urls import without_secrets
from tests.sources.carried import KEYS, events

LOG = KEYS.read_bytes()
FILES = {
    "logs/binlog.999999": LOG,
    "logs/binlog.1000000": LOG,
    "logs/notes.txt": b"not a log",
    "logs/binlog.index": b"./binlog.999999\n/var/lib/%s/binlog.1000000\n" % (b"x" * 200),
}
BOTH = ["binlog.999999", "binlog.1000000"]


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments: Any) -> None:
        """Nothing on standard error."""


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The same files behind several kinds of URL."""
    root = tmp_path_factory.mktemp("web")
    (root / "logs").mkdir()
    memory = fsspec.filesystem("memory")
    with zipfile.ZipFile(root / "logs.zip", "w") as archive:
        for name, data in FILES.items():
            (root / name).write_bytes(data)
            memory.pipe(f"/{name}", data)
            archive.writestr(name, data)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=root))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    base = f"http://127.0.0.1:{server.server_port}"
    yield {
        "memory": "memory://{}",
        "file": root.as_uri() + "/{}",
        "zip": "zip://{}::" + str(root / "logs.zip"),
        "http": base + "/{}",
        "cache": "simplecache::" + base + "/{}",
    }
    server.shutdown()
    server.server_close()
    thread.join()
    memory.rm("/logs", recursive=True)


KINDS = ["memory", "file", "zip", "http", "cache"]


def names(url: str) -> list[str]:
    return [carrier.name.split("::/")[0].rsplit("/", 1)[-1] for carrier in resolve(url)]


@pytest.mark.parametrize("kind", KINDS)
def test_one_log(places: dict[str, str], kind: str) -> None:
    url = places[kind].format("logs/binlog.999999")
    assert [c.name for c in resolve(url)] == [url]
    assert events(url) == events(LOG)


@pytest.mark.parametrize("kind", KINDS)
def test_an_index(places: dict[str, str], kind: str) -> None:
    assert names(places[kind].format("logs/binlog.index")) == BOTH


@pytest.mark.parametrize("kind", KINDS)
def test_a_glob(places: dict[str, str], kind: str) -> None:
    url = places[kind].format("logs/binlog.*9*")
    assert names(url) == ["binlog.999999"]
    assert events(url) == events(LOG)
    with pytest.raises(EmptyInputError, match="no file matches"):
        resolve(places[kind].format("logs/nothing.*"))


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder(places: dict[str, str], kind: str) -> None:
    assert names(places[kind].format("logs/")) == BOTH


@pytest.mark.parametrize("kind", KINDS)
def test_names_of_several_open_again(places: dict[str, str], kind: str) -> None:
    for carrier in resolve(places[kind].format("logs/")):
        assert carrier.location is not None
        assert events(carrier.location) == events(LOG)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_there(places: dict[str, str], kind: str) -> None:
    with pytest.raises(InputError, match="no such file"):
        events(places[kind].format("logs/nothing"))


SECRETS = [
    ("https://me:hunter2@host/x", "https://me:…@host/x"),
    ("zip://a::ftp://me:hunter2@host/x", "zip://a::ftp://me:…@host/x"),
    ("https://h/x?X-Amz-Signature=hunter2&y=1", "https://h/x?X-Amz-Signature=…&y=1"),
    ("https://h/x?sig=hunter2", "https://h/x?sig=…"),
    ("https://h/x?access_token=hunter2", "https://h/x?access_token=…"),
    ("https://h/x?token=ab:hunter2", "https://h/x?token=…"),
    ("https://h/x?a=b;pwd=hunter2&jwt=hunter2", "https://h/x?a=b;pwd=…&jwt=…"),
    ("https://h/x?%74oken=hunter2#auth=hunter2", "https://h/x?%74oken=…#auth=…"),
    ("https://me:pa@hunter2@host/x", "https://me:…@host/x"),
    ("https://hunter2@host/x", "https://…@host/x"),
    ("sftp://me@host/x", "sftp://me@host/x"),
    ("https://h/x?file=binlog.000001", "https://h/x?file=binlog.000001"),
    ("s3://bucket/key", "s3://bucket/key"),
]


@pytest.mark.parametrize(("url", "shown"), SECRETS)
def test_secrets_are_not_shown(url: str, shown: str) -> None:
    assert without_secrets(url) == shown
    assert without_secrets(f"cannot open {url}: gone") == f"cannot open {shown}: gone"


@pytest.mark.parametrize(
    "url",
    [
        "ftp://me:hunter2@127.0.0.1:1/binlog.000001",
        "http://me:hunter2@127.0.0.1:1/binlog.000001",
        "zip://*::http://me:hunter2@127.0.0.1:1/logs.zip",
        "http://127.0.0.1:1/binlog.000001?sig=hunter2",
        "nosuchscheme://me:hunter2@host/binlog.000001",
    ],
)
def test_no_error_tells_a_password(url: str) -> None:
    with pytest.raises(InputError) as caught:
        events(url)
    printed = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    assert "hunter2" not in printed.replace(url, "")
    assert "hunter2" not in str(caught.value)
    assert "…" in str(caught.value)


def test_records_show_no_password(places: dict[str, str]) -> None:
    import binlogkit as bk

    url = places["http"].format("logs/binlog.999999").replace("://", "://me:hunter2@")
    log = bk.open(url)
    assert "hunter2" not in repr(log) + repr(log.carriers) + str(next(log.event_records()))


def test_a_missing_library_is_named() -> None:
    with pytest.raises(InputError, match="Protocol not known"):
        resolve("nosuchscheme://host/binlog.000001")


def test_the_folder_of_no_log(tmp_path: Path) -> None:
    with pytest.raises(EmptyInputError, match="the folder holds no binary log"):
        resolve(tmp_path.as_uri())
