"""Initialised data folders: made once for a program and its settings, then copied.

``--initialize-insecure`` takes 2-3 s and a copy 0.1 s (docs/servers.md, and measured). A copy has
no ``auto.cnf`` and no keys, so each server makes an identity and certificates of its own.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from binlogkit.errors import ServerError, printable
from binlogkit_fixtures.servers import cache
from binlogkit_fixtures.servers.base import ServerSpec
from binlogkit_fixtures.servers.binaries import Mysqld
from binlogkit_fixtures.servers.guarded import Identity
from binlogkit_fixtures.servers.keyring import encrypts, write_manifests
from binlogkit_fixtures.servers.options import normalise, render

__all__ = ["base_arguments", "fill_data_folder", "hand_over"]

#: Options that shape the data folder when it is made.
_SHAPING = frozenset(
    """
    character-set-server collation-server default-authentication-plugin
    explicit-defaults-for-timestamp innodb-checksum-algorithm innodb-data-file-path
    innodb-file-per-table innodb-log-file-size innodb-log-files-in-group innodb-page-size
    innodb-redo-log-capacity innodb-undo-tablespaces lower-case-table-names
    """.split()  # noqa: SIM905 - a table to read
)
_SECONDS = 180
_NOT_COPIED = ("auto.cnf", "*.pem", "*.err", "ib_buffer_pool")


def base_arguments(mysqld: Mysqld) -> list[str]:
    """The program and the arguments that every run of it begins with."""
    argv = [str(mysqld.program), "--no-defaults"]
    if mysqld.base is not None:
        argv += [f"--basedir={mysqld.base}", f"--lc-messages-dir={mysqld.share}"]
    return argv


def hand_over(folder: Path, identity: Identity) -> None:
    """Make ``folder`` and all in it the server user's own, and closed to others."""
    for path in (folder, *folder.rglob("*")):
        if identity is not None:
            os.chown(path, *identity, follow_symlinks=False)
    folder.chmod(0o700)


def _shaping(spec: ServerSpec) -> list[str]:
    """The arguments of ``spec`` that shape a data folder."""
    return [
        f"--{name}" if value is None else f"--{name}={value}"
        for name, value in sorted(render(spec.options).items())
        if normalise(name) in _SHAPING
    ]


def _key(mysqld: Mysqld, shaping: list[str]) -> str:
    """The template's name in the cache: the program's identity and the settings."""
    found = mysqld.program.stat()
    facts = [str(mysqld.program), found.st_size, found.st_mtime_ns, *shaping]
    digest = hashlib.sha256(json.dumps(facts).encode()).hexdigest()
    return f"template-{mysqld.version}-{digest[:16]}"


def fill_data_folder(mysqld: Mysqld, spec: ServerSpec, data: Path, identity: Identity) -> None:
    """Make ``data`` a fresh data folder for a server of ``spec``, owned by the server's user.

    ServerError: the server refuses the settings; the message has its log's last lines.
    """
    shaping = _shaping(spec)
    made = cache.entry(_key(mysqld, shaping), lambda f: _initialise(mysqld, shaping, f, identity))
    shutil.copytree(made / "data", data, symlinks=True, ignore=shutil.ignore_patterns(*_NOT_COPIED))
    uuid = spec.option("server-uuid")
    if uuid is not None:
        (data / "auto.cnf").write_text(f"[auto]\nserver-uuid={uuid.lower()}\n", encoding="ascii")
    if encrypts(spec):
        write_manifests(data)
    hand_over(data, identity)


def _initialise(mysqld: Mysqld, shaping: list[str], folder: Path, identity: Identity) -> None:
    """Fill ``folder/data`` with an initialised data folder whose root has no password yet."""
    with tempfile.TemporaryDirectory(prefix="binlogkit-init-") as name:
        work = Path(name)
        work.chmod(0o711)
        data = work / "data"
        data.mkdir(mode=0o700)
        old = mysqld.version.startswith("5.6.")
        if old:
            (data / "mysql").mkdir()
            (data / "test").mkdir()
        hand_over(data, identity)
        how = "--bootstrap" if old else "--initialize-insecure"
        argv = [*base_arguments(mysqld), *shaping, f"--datadir={data}", how]
        _run(argv, mysqld, identity, _bootstrap_sql(mysqld) if old else "")
        shutil.copytree(data, folder / "data", symlinks=True)
        hand_over(folder / "data", (0, 0) if identity is not None else None)


def _bootstrap_sql(mysqld: Mysqld) -> str:
    """The statements that fill 5.6's ``mysql`` schema: it has no ``--initialize``."""
    if mysqld.share is None:
        raise ServerError(f"no share folder with mysql_system_tables.sql beside {mysqld.program}")
    names = ("mysql_system_tables.sql", "mysql_system_tables_data.sql")
    parts = [(mysqld.share / name).read_text(encoding="utf-8") for name in names]
    return "\n".join(["use mysql;", *parts])


def _run(argv: list[str], mysqld: Mysqld, identity: Identity, sql: str) -> None:
    """One run of mysqld that ends by itself; ServerError with its last lines when it fails."""
    arguments = [*argv, "--skip-log-bin", "--performance-schema=OFF", "--log-error-verbosity=2"]
    if mysqld.version.startswith("5.6."):
        arguments.pop()
    user, group = identity if identity is not None else (None, None)
    try:
        done = subprocess.run(
            arguments, input=sql, env=mysqld.environment(), cwd="/", text=True, errors="replace",
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=_SECONDS, check=False,
            user=user, group=group, extra_groups=None if user is None else [], umask=0o077,
            start_new_session=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as exc:
        raise ServerError(f"{mysqld.program} could not initialise a data folder: {exc}") from exc
    if done.returncode != 0:
        last = " / ".join(done.stdout.strip().splitlines()[-5:])
        raise ServerError(
            f"{mysqld.program} could not initialise a data folder (status {done.returncode}): "
            f"{printable(last)}"
        )
