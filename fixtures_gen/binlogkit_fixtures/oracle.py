"""mysqlbinlog's text of a log, kept beside it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from binlogkit.errors import OracleError, printable
from binlogkit_fixtures.manifest import OracleText, sha256, write_packed

__all__ = ["Oracle", "find_oracle"]

_ARGUMENTS = ("-vv", "--base64-output=decode-rows")
_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Oracle:
    """A mysqlbinlog that can be run: the words that begin its command, and its version."""

    argv: Sequence[str]
    version: str

    def text(self, folder: Path, name: str) -> bytes:
        """``mysqlbinlog -vv --base64-output=decode-rows`` of the log ``folder/name``, in UTC.

        OracleError: it failed, or said something on stderr that is no warning of its options.
        """
        environment = {**os.environ, "TZ": "UTC", "LC_ALL": "C"}
        try:
            done = subprocess.run(
                [*self.argv, "--no-defaults", *_ARGUMENTS, name],
                cwd=folder,
                env=environment,
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as exc:
            raise OracleError(f"mysqlbinlog did not run: {exc}") from exc
        if done.returncode != 0:
            said = printable(done.stderr.decode("utf-8", "backslashreplace")[-300:])
            raise OracleError(f"mysqlbinlog ended with {done.returncode} on {name}: {said}")
        return done.stdout

    def write_text(self, folder: Path, name: str) -> OracleText:
        """Write the text of ``folder/name`` beside it as ``NAME.mysqlbinlog.txt.xz``."""
        data = self.text(folder, name)
        path = write_packed(folder / f"{name}.mysqlbinlog.txt.xz", data)
        return OracleText(name, path.name, sha256(data))


def find_oracle() -> Oracle:
    """The machine's mysqlbinlog. OracleError: there is none and none can be had."""
    from binlogkit_fixtures.servers import mysqlbinlog

    found = mysqlbinlog.ensure()
    return Oracle(tuple(found.argv), found.version)
