"""Online schema changes among ordinary days: by gh-ost and pt-online-schema-change themselves.

The programs are used where they are on PATH and the server is one that they know (5.7 and 8.0);
else their statements are imitated. They connect as a user whose connections begin with the days'
time (``init_connect``), so that what they write stands in its place of the log.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.truth.ordinary_days import Days

_USER, _PASSWORD = "deployer", "for the test's own server"
_LONGEST = 120  # seconds of a program


def online_ddl(days: Days, program: str, table: str, change: str) -> str:
    """Change a table of the shop as a program does; its name, or that it was imitated."""
    if shutil.which(program) is None or days.server.version.startswith("9"):
        imitation = _gh_ost if program == "gh-ost" else _pt_osc
        days.alone(*imitation(days, table, change))
        return f"{program} imitated"
    server, (host, port) = days.server, days.server.peer_address
    how = "mysql_native_password"  # what both programs' libraries know
    server.query(f"SET GLOBAL init_connect = 'SET time_zone = ''+00:00'', timestamp = {days.now}'")
    session = days.session()
    days.run(
        session, "SET sql_log_bin = 0", f"CREATE USER IF NOT EXISTS {_USER}@'%' IDENTIFIED WITH"
        f" {how} BY '{_PASSWORD.replace(chr(39), chr(39) * 2)}'",
        f"GRANT ALL ON shop.* TO {_USER}@'%'",
        f"GRANT REPLICATION CLIENT, REPLICATION SLAVE, PROCESS ON *.* TO {_USER}@'%'",
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        secret = Path(folder) / "my.cnf"
        secret.write_text(f'[client]\nuser={_USER}\npassword="{_PASSWORD}"\n', "utf-8")
        secret.chmod(0o600)
        known = _known(program, secret, host, port, table, change)
        done = subprocess.run(
            known, capture_output=True, text=True, timeout=_LONGEST, check=False, cwd=folder
        )
    days.run(session, f"DROP USER {_USER}@'%'", "SET sql_log_bin = 1")
    session.close()
    server.query("SET GLOBAL init_connect = ''")
    if done.returncode and not days.hurt:
        raise RuntimeError(f"{program}: {done.stdout[-2000:]} {done.stderr[-2000:]}")
    return program


def _known(program: str, secret: Path, host: str, port: int, table: str, change: str) -> list[str]:
    """The command line of a program."""
    if program == "gh-ost":
        return [
            program, f"--conf={secret}", f"--host={host}", f"--port={port}", "--database=shop",
            f"--table={table}", f"--alter={change}", "--allow-on-master", "--assume-rbr",
            "--initially-drop-ghost-table", "--initially-drop-old-table", "--ok-to-drop-table",
            "--chunk-size=1000", "--default-retries=10", "--heartbeat-interval-millis=500",
            f"--serve-socket-file={secret.parent / 'gh-ost.sock'}", "--execute",
        ]  # fmt: skip
    return [
        program, f"--alter={change}", "--execute", "--no-version-check",
        "--no-check-replication-filters", "--recursion-method=none", "--chunk-size=1000",
        "--charset=utf8mb4", f"F={secret},h={host},P={port},D=shop,t={table}",
    ]  # fmt: skip


# ---- imitations -----------------------------------------------------------------------------


def _columns(days: Days, table: str) -> list[str]:
    found = days.server.query(
        "SELECT column_name FROM information_schema.columns WHERE table_schema = 'shop' AND"
        f" table_name = '{table}' ORDER BY ordinal_position"
    )
    return [str(name) for (name,) in found]


def _copied(days: Days, table: str, copy: str) -> Iterator[str]:
    columns = ", ".join(names := _columns(days, table))
    high = days.server.query(f"SELECT MAX({names[0]}) FROM shop.{table}")[0][0] or 0
    for low in range(1, high + 1, 1000):
        yield (
            f"INSERT LOW_PRIORITY IGNORE INTO {copy} ({columns}) SELECT {columns} FROM {table}"
            f" FORCE INDEX (PRIMARY) WHERE {names[0]} BETWEEN {low} AND {low + 999}"
            " LOCK IN SHARE MODE"
        )


def _gh_ost(days: Days, table: str, change: str) -> Iterator[str]:
    yield (
        f"CREATE /* gh-ost */ TABLE _{table}_ghc (id BIGINT AUTO_INCREMENT PRIMARY KEY, hint"
        " VARCHAR(64) UNIQUE, value VARCHAR(255))"
    )
    yield f"CREATE /* gh-ost */ TABLE _{table}_gho LIKE {table}"
    yield f"ALTER /* gh-ost */ TABLE _{table}_gho {change}"
    for number, chunk in enumerate(_copied(days, table, f"_{table}_gho")):
        yield (
            f"INSERT /* gh-ost */ INTO _{table}_ghc (hint, value) VALUES ('beat', {number}) ON"
            f" DUPLICATE KEY UPDATE value = {number}"
        )
        yield chunk
    yield (f"RENAME /* gh-ost */ TABLE {table} TO _{table}_del, _{table}_gho TO {table}")
    yield f"DROP /* gh-ost */ TABLE IF EXISTS _{table}_ghc"
    yield f"DROP /* gh-ost */ TABLE IF EXISTS _{table}_del"


def _pt_osc(days: Days, table: str, change: str) -> Iterator[str]:
    columns = _columns(days, table)
    key, listed = columns[0], ", ".join(columns)
    replace = (
        f"REPLACE INTO _{table}_new ({listed}) VALUES ({', '.join(f'NEW.{c}' for c in columns)})"
    )
    yield f"CREATE TABLE _{table}_new LIKE {table}"
    yield f"ALTER TABLE _{table}_new {change}"
    for event, name, body in [
        ("DELETE", "del", f"DELETE IGNORE FROM _{table}_new WHERE {key} = OLD.{key}"),
        ("UPDATE", "upd", replace), ("INSERT", "ins", replace),
    ]:  # fmt: skip
        trigger = f"pt_osc_shop_{table}_{name}"
        yield f"CREATE TRIGGER {trigger} AFTER {event} ON {table} FOR EACH ROW {body}"
    yield from _copied(days, table, f"_{table}_new")
    yield f"RENAME TABLE {table} TO _{table}_old, _{table}_new TO {table}"
    yield f"DROP TABLE IF EXISTS _{table}_old"
    for name in ("del", "upd", "ins"):
        yield f"DROP TRIGGER IF EXISTS pt_osc_shop_{table}_{name}"
