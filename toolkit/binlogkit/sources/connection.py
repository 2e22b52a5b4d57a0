"""Connections to MySQL servers: address, account and encryption.

A server is written ``mysql://user@host:port/`` with settings after a ``?``, or is given by
keywords (:func:`server_settings`); several that stand in for each other are hosts with commas
between them. A password comes from the option file, from the environment variable
BINLOGKIT_PASSWORD, or from a prompt on a terminal when the server asks for one; it is
never an argument and stands in no repr and no message.

TLS (manual, "Configuring MySQL to Use Encrypted Connections"): ``ssl_mode`` is disabled, preferred
(the default), required, verify_ca (the default with a CA) or verify_identity. Accounts of
caching_sha2_password, sha256_password and mysql_native_password are served; a server that asks for
the password in clear text is refused.
"""

from __future__ import annotations

import getpass
import os
import ssl
import struct
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, unquote, urlsplit

from binlogkit.errors import LostConnectionError, ServerError, UsageError, printable
from binlogkit.sources.layers import read_file
from binlogkit.sources.option_file import read_option_file

#: The server's own databases.
SYSTEM_DATABASES = ("information_schema", "mysql", "performance_schema", "sys")
#: Database and name of each table that is not the server's own.
USER_TABLES = (
    "SELECT table_schema, table_name FROM information_schema.tables "
    f"WHERE table_type = 'BASE TABLE' AND table_schema NOT IN {SYSTEM_DATABASES}"
)

PASSWORD_VARIABLE = "BINLOGKIT_PASSWORD"  # noqa: S105  the name of a variable, not a password
SSL_MODES = ("disabled", "preferred", "required", "verify_ca", "verify_identity")

_DEFAULT_PORT = 3306
_ACCESS_DENIED = 1045
#: Server and client numbers after which another try may succeed: shutdown, too many connections,
#: killed sessions, network errors, a server that is not there (manual, "Error Message Reference").
LOST_CODES = frozenset(
    (1040, 1053, 1077, 1078, 1079, 1080, 1152, 1158, 1159, 1160, 1161, 1184, 1203, 1317, 1927,
     2002, 2003, 2006, 2012, 2013, 2055, 3169, 4031)
)  # fmt: skip
_PROMPTED: dict[tuple[str, str], str] = {}


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """How to reach a server.

    ``socket``: path of a Unix socket, instead of host and port; ``ssl_*``: PEM files;
    ``server_public_key``: the server's RSA key for passwords without TLS, PEM;
    ``timeout``: seconds to wait for a connection.
    """

    host: str = "localhost"
    port: int = _DEFAULT_PORT
    user: str = "root"
    password: str | None = field(default=None, repr=False)
    socket: str | None = None
    ssl_mode: str | None = None
    ssl_ca: str | None = None
    ssl_capath: str | None = None
    ssl_cert: str | None = None
    ssl_key: str | None = None
    server_public_key: bytes | None = field(default=None, repr=False)
    timeout: float = 10.0

    @property
    def name(self) -> str:
        """The server for messages: ``host:port`` or the socket's path."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return self.socket or f"{host}:{self.port}"


def server_settings(
    host: str | None = None,
    port: int | None = None,
    user: str | None = None,
    *,
    defaults_file: str | None = None,
    **more: str | None,
) -> ServerSettings:
    """Settings from keywords, before those of the option file, before the defaults.

    ``more``: socket, ssl_mode, ssl_ca, ssl_capath, ssl_cert, ssl_key, server_public_key_path. A
    password can only come from the file or the environment. Errors: InputError, UsageError.
    """
    found = {} if defaults_file is None else read_option_file(defaults_file)
    options = {name.replace("-", "_"): value for name, value in found.items()}
    if host is not None or port is not None:
        options.pop("socket", None)
    given = {"host": host, "port": None if port is None else str(port), "user": user, **more}
    options |= {name: value for name, value in given.items() if value is not None}
    mode = options.get("ssl_mode", "").lower().replace("-", "_") or None
    if mode is not None and mode not in SSL_MODES:
        raise UsageError(f"ssl-mode is one of {', '.join(SSL_MODES)}, not {printable(mode)}")
    key = options.get("server_public_key_path")
    plain: dict[str, Any] = {name: options.get(name) for name in _AS_GIVEN}
    return ServerSettings(
        options.get("host") or "localhost",
        _port(options.get("port") or str(_DEFAULT_PORT)),
        options.get("user") or "root",
        options.get("password", os.environ.get(PASSWORD_VARIABLE)),
        ssl_mode=mode, server_public_key=None if key is None else read_file(key), **plain,
    )  # fmt: skip


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < int(text) < 1 << 16:
        raise UsageError(f"{printable(text)} is no port")
    return int(text)


_AS_GIVEN = ("socket", "ssl_ca", "ssl_capath", "ssl_cert", "ssl_key")
#: What is written after the ``?`` of a URL.
URL_OPTIONS = frozenset((*_AS_GIVEN, "ssl_mode", "server_public_key_path", "defaults_file"))


def parse_url(url: str) -> tuple[ServerSettings, str]:
    """Settings and the path (a log's name, or nothing) of ``mysql://user@host:port/LOG?ssl-ca=…``.

    Settings after the ``?``: socket, ssl-mode, ssl-ca, ssl-capath, ssl-cert, ssl-key,
    server-public-key-path, defaults-file. UsageError: no such URL, or one with a password.
    """
    try:
        parts = urlsplit(url)
        port, host = parts.port, parts.hostname
    except ValueError as exc:
        raise UsageError("a server is written mysql://user@host:port") from exc
    options = {n.lower().replace("-", "_"): v for n, v in parse_qsl(parts.query)}
    if parts.password is not None or "password" in options:
        raise UsageError(
            f"a password does not belong on a command line: set {PASSWORD_VARIABLE} instead"
        )
    if parts.scheme != "mysql" or not (host or options):
        raise UsageError("a server is written mysql://user@host:port")
    unknown = sorted(options.keys() - URL_OPTIONS)
    if unknown:
        raise UsageError(f"a server has no setting {printable(unknown[0])}")
    user = unquote(parts.username) if parts.username else None
    found = server_settings(unquote(host) if host else None, port, user, **options)
    return found, unquote(parts.path.lstrip("/"), errors="surrogateescape")


#: A server, or several that stand in for each other: see :func:`servers_of`.
Servers: TypeAlias = "str | ServerSettings | Sequence[str | ServerSettings]"


def servers_of(given: Servers) -> list[ServerSettings]:
    """One server, or several: a list, or ``mysql://user@one:3306,two:3306``. UsageError."""
    if isinstance(given, ServerSettings):
        return [given]
    if not isinstance(given, str):
        found = [one for item in given for one in servers_of(item)]
        if not found:
            raise UsageError("name a server")
        return found
    scheme, mark, rest = given.partition("://")
    address, slash, path = rest.partition("/")
    address, question, options = address.partition("?")
    user, at, hosts = address.rpartition("@")
    tail = f"{slash}{path}{question}{options}"
    return [parse_url(f"{scheme}{mark}{user}{at}{host}{tail}")[0] for host in hosts.split(",")]


def connect(server: ServerSettings | str, **more: Any) -> Any:
    """A PyMySQL connection; ``more``: further keywords of PyMySQL's.

    Where the server wants a password and none is known, a terminal is asked once. Errors:
    LostConnectionError (no server, or too busy), ServerError (it refuses), UsageError.
    """
    settings = parse_url(server)[0] if isinstance(server, str) else server
    key = (settings.name, settings.user)
    if settings.password is None and key in _PROMPTED:
        settings = replace(settings, password=_PROMPTED[key])
    try:
        return _connect(settings, more)
    except ServerError as error:
        if error.code != _ACCESS_DENIED or settings.password is not None or not _interactive():
            raise
    _PROMPTED[key] = getpass.getpass(f"Password of {printable(f'{key[1]}@{key[0]}')}: ")
    try:
        return _connect(replace(settings, password=_PROMPTED[key]), more)
    except ServerError:
        del _PROMPTED[key]
        raise


def _interactive() -> bool:
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


def _connect(settings: ServerSettings, more: dict[str, Any]) -> Any:
    import pymysql

    context = _tls(settings)
    with translated(settings.name):
        return pymysql.connect(
            host=settings.host,
            port=settings.port,
            unix_socket=settings.socket,
            user=settings.user,
            # PyMySQL would encode text as latin1, and a server compares the bytes.
            password=(settings.password or "").encode("utf-8", "surrogateescape"),
            charset="utf8mb4",
            connect_timeout=settings.timeout,
            program_name="binlogkit",
            ssl=context,
            ssl_disabled=settings.ssl_mode == "disabled" or None,
            server_public_key=settings.server_public_key,
            auth_plugin_map=dict.fromkeys(_CLEAR_TEXT, _Refused),
            **more,
        )


def _tls(settings: ServerSettings) -> ssl.SSLContext | None:
    """What to verify; None leaves it to PyMySQL, which uses TLS where the server has it."""
    mode = settings.ssl_mode
    authority = settings.ssl_ca or settings.ssl_capath
    if mode is None:
        mode = "verify_ca" if authority else "required" if settings.ssl_cert else "preferred"
    if mode == "disabled" or (mode == "preferred" and not settings.ssl_cert):
        return None
    try:
        context = ssl.create_default_context(cafile=settings.ssl_ca, capath=settings.ssl_capath)
        # The certificates that a server makes for itself are not what VERIFY_X509_STRICT wants.
        context.verify_flags &= ~getattr(ssl, "VERIFY_X509_STRICT", 0)
        context.check_hostname = mode == "verify_identity"
        if mode in ("preferred", "required"):
            context.verify_mode = ssl.CERT_NONE
        if settings.ssl_cert:
            context.load_cert_chain(settings.ssl_cert, settings.ssl_key)
    except (OSError, ValueError) as exc:
        raise UsageError(f"the TLS files cannot be used: {printable(str(exc))}") from exc
    return context


#: Plugins that would send the password as it is, or asked of a terminal in the server's words.
_CLEAR_TEXT = ("mysql_clear_password", "dialog", "mysql_old_password")


class _Refused:
    """The answer to a server that asks for the password in clear text."""

    def __init__(self, connection: object) -> None:
        del connection

    def authenticate(self, packet: object) -> None:
        """Refuse."""
        del packet
        raise ServerError("the server asks for the password in clear text, which is refused")


@contextmanager
def translated(server: str) -> Iterator[None]:
    """PyMySQL's and the system's errors as ours.

    What a server must not send breaks PyMySQL's reading in many ways (AssertionError, IndexError,
    struct.error …): they become a ServerError as well.
    """
    import pymysql

    try:
        yield
    except pymysql.Error as exc:
        code, text = _words(exc)
        kind = LostConnectionError if code in LOST_CODES else ServerError
        exc.__dict__.pop("traceback", None)  # a text of PyMySQL's that may hold secrets
        raise kind(text, server=server, code=code) from exc
    except OSError as exc:
        reason = exc.strerror or str(exc) or type(exc).__name__
        raise LostConnectionError(f"the connection broke: {reason}", server=server) from exc
    except (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError,
            struct.error) as exc:  # fmt: skip
        raise ServerError(
            f"it does not speak the MySQL protocol ({type(exc).__name__})", server=server
        ) from exc


def _words(exc: Exception) -> tuple[int | None, str]:
    arguments = exc.args
    if len(arguments) > 1 and isinstance(arguments[0], int):
        return arguments[0], str(arguments[1]) or "the connection is closed"
    return None, str(arguments[0]) if arguments else type(exc).__name__


def ask(connection: Any, server: str, sql: str) -> list[tuple[Any, ...]]:
    """The rows of a statement; bytes as text, which may be names of files that are no UTF-8."""
    with translated(server), connection.cursor() as cursor:
        cursor.execute(sql)
        return [tuple(map(_text, row)) for row in cursor.fetchall()]


def _text(value: Any) -> Any:
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value


def quoted(name: Iterable[str]) -> str:
    """A name in backticks, its parts joined by dots."""
    return ".".join("`" + part.replace("`", "``") + "`" for part in name)
