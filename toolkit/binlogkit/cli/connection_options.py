"""The options of commands that connect to a server."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from binlogkit.sources.connection import PASSWORD_VARIABLE, SSL_MODES

if TYPE_CHECKING:
    from binlogkit.sources.connection import ServerSettings

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option("--host", help="The server  [default: localhost]"),
    click.option("--port", type=click.IntRange(1, 65535), help="Its port  [default: 3306]"),
    click.option("--socket", metavar="PATH", help="Its Unix socket, instead of host and port."),
    click.option("--user", help="The account  [default: root]"),
    click.option(
        "--defaults-file",
        metavar="FILE",
        help="An option file; its groups [client] and [binlogkit] give the password "
        f"(else: environment variable {PASSWORD_VARIABLE}, or a prompt) and what no option does.",
    ),
    click.option(
        "--ssl-mode",
        type=click.Choice([mode.upper() for mode in SSL_MODES], case_sensitive=False),
        help="TLS  [default: PREFERRED; VERIFY_CA with a CA]",
    ),
    click.option("--ssl-ca", metavar="FILE", help="CA certificates (PEM)."),
    click.option("--ssl-capath", metavar="DIR", help="A folder of CA certificates."),
    click.option("--ssl-cert", metavar="FILE", help="A certificate of your own (PEM)."),
    click.option("--ssl-key", metavar="FILE", help="Its key."),
    click.option(
        "--server-public-key-path",
        metavar="FILE",
        help="The server's RSA key, which keeps passwords secret where there is no TLS.",
    ),
)
_NAMES = ("host", "port", "user", "socket", "ssl_mode", "ssl_ca", "ssl_capath", "ssl_cert",
          "ssl_key", "server_public_key_path", "defaults_file")  # fmt: skip


def connection_options(function: F) -> F:
    """Add the options to a command."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def settings_of(arguments: dict[str, Any]) -> ServerSettings:
    """Take the options out of a command's arguments."""
    from binlogkit.sources.connection import server_settings

    return server_settings(**{name: arguments.pop(name) for name in _NAMES})
