"""Whom a connection trusts, where its password comes from, and that it stays secret."""

from __future__ import annotations

import getpass
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pymysql
import pytest

from binlogkit.errors import LostConnectionError, ServerError, UsageError
from binlogkit.sources import connection
from binlogkit.sources.connection import (
    PASSWORD_VARIABLE,
    ServerSettings,
    connect,
    parse_url,
    server_settings,
)
from binlogkit.sources.server.remote import server_logs
from binlogkit_fixtures.servers import Server
from tests.sources.server.conftest_server import settings_of, shared_series
from tests.sources.server.fake_server import FakeServer


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PASSWORD_VARIABLE, raising=False)
    monkeypatch.setattr(connection, "_PROMPTED", {})


@pytest.mark.parametrize(
    ("url", "name", "user", "log"),
    [
        ("mysql://me@db.example", "db.example:3306", "me", ""),
        ("mysql://me@db.example:3307/", "db.example:3307", "me", ""),
        ("mysql://h/binlog.000012", "h:3306", "root", "binlog.000012"),
        ("mysql://a%40b@h/my%20log.000001", "h:3306", "a@b", "my log.000001"),
        ("mysql://[::1]:3310/x.1", "[::1]:3310", "root", "x.1"),
        ("mysql:///x.1?socket=/run/mysqld.sock", "/run/mysqld.sock", "root", "x.1"),
        ("mysql://h?ssl-mode=Verify_CA", "h:3306", "root", ""),
    ],
)
def test_urls(url: str, name: str, user: str, log: str) -> None:
    settings, found = parse_url(url)
    assert (settings.name, settings.user, found) == (name, user, log)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("mysql://u:pw@h", "does not belong on a command line"),
        ("mysql://u:@h", "does not belong on a command line"),
        ("mysql://h?password=pw", "does not belong on a command line"),
        ("http://h", "is written mysql://"),
        ("mysql:///x", "is written mysql://"),
        ("mysql://h:99999", "is written mysql://"),
        ("mysql://[::1", "is written mysql://"),
        ("mysql://h?nonsense=1", "no setting nonsense"),
        ("mysql://h?ssl-mode=maybe", "ssl-mode is one of"),
        ("mysql://h:0", "is no port"),
    ],
)
def test_urls_that_are_none(url: str, words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        parse_url(url)
    assert "pw" not in str(caught.value).replace("password", "")


def test_where_settings_come_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is given, then the option file, then the environment, then the defaults."""
    path = tmp_path / "my.cnf"
    path.write_text("[client]\nhost=file\nport=1\nuser=file\npassword=file\nsocket=/s\n")
    found = server_settings("given", defaults_file=str(path))
    assert (found.name, found.user, found.password) == ("given:1", "file", "file")
    assert server_settings(defaults_file=str(path)).name == "/s"
    monkeypatch.setenv(PASSWORD_VARIABLE, "environment")
    assert server_settings().password == "environment"
    assert server_settings(defaults_file=str(path)).password == "file"
    assert "environment" not in repr(server_settings())


def test_a_server_that_wants_the_password_in_clear_is_refused() -> None:
    """Not even over TLS: whoever stands in between would have it."""
    for plugin in (b"mysql_clear_password", b"dialog", b"mysql_old_password"):
        fake = FakeServer(lambda _: (), switch=b"\xfe" + plugin + b"\0" + b"Password: \0")
        with fake.running() as server:
            with pytest.raises(ServerError, match="in clear text"):
                connect(server.settings)
            assert not any(b"secret-word" in packet for packet in server.received)


def test_nobody_there() -> None:
    with FakeServer(lambda _: ()).running() as server:
        settings = server.settings
    with pytest.raises(LostConnectionError, match="Can't connect") as caught:
        connect(settings)
    shown = "".join(traceback.format_exception(caught.value))
    assert "secret-word" not in shown
    assert caught.value.server == settings.name


def test_what_is_used_of_pymysql() -> None:
    """Not public, so that another version may change it: the packets go over these."""
    found = pymysql.connections.Connection
    for name in ("_read_bytes", "_write_bytes", "_read_ok_packet", "_force_close"):
        assert callable(getattr(found, name)), name
    made: Any = found(defer_connect=True)
    assert made._sock is None
    for name in ("auth_plugin_map", "server_public_key", "read_timeout", "write_timeout"):
        assert name in _parameters(found)


def _parameters(kind: Any) -> set[str]:
    import inspect

    return set(inspect.signature(kind.__init__).parameters)


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Path]]:
    """8.0 with the certificates that it made for itself, and accounts of both plugins."""
    with shared_series("8.0", {}) as server:
        folder = tmp_path_factory.mktemp("tls")
        for name in ("ca.pem", "client-cert.pem", "client-key.pem", "public_key.pem"):
            (folder / name).write_bytes(server.read_file(name))
        server.query("CREATE USER sha2 IDENTIFIED WITH caching_sha2_password BY 'pä55wörd'")
        server.query("CREATE USER native IDENTIFIED WITH mysql_native_password BY 'pä55wörd'")
        server.query("CREATE USER old IDENTIFIED WITH sha256_password BY 'pä55wörd'")
        server.query("CREATE USER strict IDENTIFIED BY 'x' REQUIRE X509")
        yield server, folder


def opened(settings: ServerSettings) -> tuple[str, str]:
    """The user and the cipher of a connection."""
    with connect(settings) as session, session.cursor() as cursor:
        cursor.execute("SELECT CURRENT_USER()")
        user = cursor.fetchone()[0]
        cursor.execute("SHOW SESSION STATUS LIKE 'Ssl_cipher'")
        return user, cursor.fetchone()[1]


@pytest.mark.server
@pytest.mark.parametrize("mode", ["disabled", "preferred", "required", None])
@pytest.mark.parametrize("user", ["sha2", "native", "old"])
@pytest.mark.gate(4)
def test_accounts(secure: tuple[Server, Path], user: str, mode: str | None) -> None:
    """Without TLS the password goes encrypted with the server's RSA key."""
    server, _ = secure
    server.query("FLUSH PRIVILEGES")  # forgets whom it has seen: the whole exchange is made
    settings = ServerSettings("127.0.0.1", server.port, user, "pä55wörd", ssl_mode=mode)
    found, cipher = opened(settings)
    assert found == f"{user}@%"
    assert bool(cipher) == (mode != "disabled")
    with pytest.raises(ServerError, match="Access denied") as caught:
        opened(ServerSettings("127.0.0.1", server.port, user, "wröng", ssl_mode=mode))
    assert caught.value.code == 1045 and "wröng" not in str(caught.value)


@pytest.mark.server
@pytest.mark.gate
def test_certificates_are_verified(secure: tuple[Server, Path]) -> None:
    server, folder = secure
    authority = str(folder / "ca.pem")
    for mode in (None, "verify_ca"):
        assert opened(settings_of(server, ssl_ca=authority, ssl_mode=mode))[1]
    with pytest.raises(LostConnectionError, match="certificate verify failed"):
        opened(settings_of(server, ssl_ca=authority, ssl_mode="verify_identity"))
    with pytest.raises(LostConnectionError, match="certificate verify failed"):
        opened(settings_of(server, ssl_mode="verify_ca"))
    own = {"ssl_cert": str(folder / "client-cert.pem"), "ssl_key": str(folder / "client-key.pem")}
    strict = ServerSettings("127.0.0.1", server.port, "strict", "x", **own)  # type: ignore[arg-type]
    assert opened(strict)[0] == "strict@%"
    with pytest.raises(ServerError, match="Access denied"):
        opened(ServerSettings("127.0.0.1", server.port, "strict", "x"))
    with pytest.raises(UsageError, match="TLS files"):
        opened(settings_of(server, ssl_ca=str(folder / "public_key.pem")))


@pytest.mark.server
def test_a_servers_key_can_be_named(secure: tuple[Server, Path]) -> None:
    server, folder = secure
    server.query("FLUSH PRIVILEGES")
    settings = server_settings(
        "127.0.0.1", server.port, "sha2", ssl_mode="DISABLED",
        server_public_key_path=str(folder / "public_key.pem"),
    )  # fmt: skip
    assert settings.server_public_key == (folder / "public_key.pem").read_bytes()


@pytest.mark.parametrize(
    ("code", "password", "terminal", "asked"),
    [(1045, None, True, 1), (1045, None, False, 0), (1045, "x", True, 0), (1049, None, True, 0)],
)
def test_a_terminal_is_asked_for_a_password_that_is_wanted(
    monkeypatch: pytest.MonkeyPatch, code: int, password: str | None, terminal: bool, asked: int
) -> None:
    tried: list[str | None] = []
    prompts: list[str] = []

    def refuse(settings: ServerSettings, _: object) -> None:
        tried.append(settings.password)
        raise ServerError("no", code=code)

    def prompt(text: str) -> str:
        prompts.append(text)
        return "typed"

    monkeypatch.setattr(connection, "_connect", refuse)
    monkeypatch.setattr(connection, "_interactive", lambda: terminal)
    monkeypatch.setattr(getpass, "getpass", prompt)
    for _ in range(2):
        with pytest.raises(ServerError):
            connect(ServerSettings("127.0.0.1", 1, "nobody", password))
    assert len(prompts) == 2 * asked
    assert tried == [password, *["typed"] * asked] * 2


@pytest.mark.server
def test_a_terminal_is_asked_once(
    secure: tuple[Server, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, _ = secure
    asked: list[str] = []

    def prompt(text: str) -> str:
        asked.append(text)
        return "pä55wörd" if len(asked) > 1 else "no"

    settings = ServerSettings("127.0.0.1", server.port, "sha2")
    with pytest.raises(ServerError, match="Access denied"):
        opened(settings)
    monkeypatch.setattr(getpass, "getpass", prompt)
    for stream in (sys.stdin, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    with pytest.raises(ServerError, match="Access denied"):
        opened(settings)
    for _ in range(2):
        assert opened(settings)[0] == "sha2@%"
    assert asked == [f"Password of sha2@127.0.0.1:{server.port}: "] * 2


def test_logs_of_a_server_have_its_uuid_as_their_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PASSWORD_VARIABLE, "secret-word")
    with FakeServer(lambda _: (), [("a.000001", 4), ("a.000002", 4)]).running() as server:
        logs = server_logs(f"mysql://fake@127.0.0.1:{server.port}/?ssl-mode=disabled")
    assert [log.source for log in logs] == [server.uuid.lower()] * 2
