"""The options of commands that connect to a server."""

from __future__ import annotations

from typing import Any

import click

from binlogkit.cli.options import apply
from binlogkit.sources.connection import (
    PASSWORD_VARIABLE,
    SSL_MODES,
    URL_OPTIONS,
    ServerSettings,
    server_settings,
)

connection_options = apply(
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


def settings_of(arguments: dict[str, Any]) -> ServerSettings:
    """Take the options out of a command's arguments."""
    names = ("host", "port", "user", *URL_OPTIONS)
    return server_settings(**{name: arguments.pop(name) for name in names})
