"""``binlogkit capture``: a server's binary logs into a folder, byte for byte."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from binlogkit.cli.help import Command
from binlogkit.cli.options import apply
from binlogkit.cli.progress import captured
from binlogkit.cli.status import FINDINGS, WELL, complain, note
from binlogkit.signals import on_signals
from binlogkit.sources.connection import (
    PASSWORD_VARIABLE,
    SSL_MODES,
    URL_OPTIONS,
    ServerSettings,
    server_settings,
)

if TYPE_CHECKING:
    from binlogkit.sources.server.capture import Captured
    from binlogkit.sources.server.resume import Stop

_connection_options = apply(
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


@click.command("capture", cls=Command)
@_connection_options
@click.option("--out", required=True, metavar="DIR", help="The folder (made with mode 0700).")
@click.option("--follow", is_flag=True, help="Continue until SIGINT or SIGTERM.")
@click.option("--start-log", metavar="NAME", help="Begin with this log; else with the first one.")
@click.option(
    "--start-position",
    type=int,
    default=4,
    metavar="POS",
    help="Begin here in it; the log is then not the server's byte for byte.",
)
@click.option(
    "--gtid-set",
    metavar="SET",
    help="Begin with the log that has the first transaction outside this set.",
)
@click.option(
    "--reconnect",
    type=click.FloatRange(min=0),
    default=300.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to try to reach a lost server again; 0: not at all.",
)
@click.option(
    "--silence",
    type=click.FloatRange(min=2),
    default=120.0,
    show_default=True,
    metavar="SECONDS",
    help="When a silent server counts as lost; it sends heartbeats each second.",
)
def command(**arguments: Any) -> int:
    """Write the server's binary logs into a folder, each as the server has it.

    A second run resumes where the last one ended, however it ended. The account needs REPLICATION
    SLAVE, and REPLICATION CLIENT for the list of logs. The captured files are as secret as the
    database; those of a server that encrypts its logs are not encrypted.
    """
    from binlogkit.log.server.capture import capture

    follow = arguments["follow"]
    server = _settings_of(arguments)
    with _signals() as stop:
        done = capture(
            server,
            arguments["out"],
            follow=follow,
            start_log=arguments["start_log"],
            start_position=arguments["start_position"],
            gtid_set=arguments["gtid_set"],
            patience=arguments["reconnect"],
            silence=arguments["silence"],
            stop=stop,
            progress=captured,
            lost=lambda error: note(f"{error}; trying again"),
        )
    status = _report(done)
    if done.stopped and not follow:  # it is not all that the server has
        raise KeyboardInterrupt
    return status


def _settings_of(arguments: dict[str, Any]) -> ServerSettings:
    """Take the options out of a command's arguments."""
    names = ("host", "port", "user", *URL_OPTIONS)
    return server_settings(**{name: arguments.pop(name) for name in names})


def _report(done: Captured) -> int:
    logs = len(done.finished)
    reached = f"{done.file} up to {done.position}" if done.file else "no log begun"
    note(
        f"{done.events} events, {done.size} bytes; {logs} {'log' if logs == 1 else 'logs'} "
        f"finished; {reached}"
    )
    for place in done.bad_checksums:
        complain(f"{place}: the event's checksum does not match; it is kept as the server has it")
    if done.changed is not None:
        complain(f"{done.changed}: not as it was written, from there on fetched again")
    return FINDINGS if done.bad_checksums or done.changed else WELL


@contextmanager
def _signals() -> Iterator[Stop]:
    """SIGINT and SIGTERM end the capture between two events; a second one ends the program."""
    from binlogkit.sources.server.resume import Stop

    stop = Stop()

    def ask() -> None:
        if stop:
            raise KeyboardInterrupt
        stop.now()

    with on_signals(ask):
        yield stop
