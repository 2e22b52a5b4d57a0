"""mysqlbinlog's text of a log, kept beside it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from binlogkit.errors import OracleError
from binlogkit_fixtures.manifest import OracleText, sha256, write_packed

__all__ = ["Oracle", "find_oracle"]

_ARGUMENTS = ("--no-defaults", "-vv", "--base64-output=decode-rows")
_SECONDS = 120
_SAID = 1000  # characters of its standard error that are kept


@dataclass(frozen=True, slots=True)
class Oracle:
    """A mysqlbinlog that can be run: the words that begin its command, and its version."""

    argv: Sequence[str]
    version: str

    def run(self, folder: Path, name: str) -> subprocess.CompletedProcess[bytes]:
        """``mysqlbinlog -vv --base64-output=decode-rows`` of the log ``folder/name``, in UTC.

        OracleError: the program did not run. How it ended is the caller's to judge.
        """
        environment = {**os.environ, "TZ": "UTC", "LC_ALL": "C"}
        try:
            return subprocess.run(
                [*self.argv, *_ARGUMENTS, name],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as exc:
            raise OracleError(f"mysqlbinlog did not run: {exc}") from exc

    def write_text(self, folder: Path, name: str) -> OracleText:
        """Write the text of ``folder/name`` beside it as ``NAME.mysqlbinlog.txt.xz``.

        A failure is kept as well: mysqlbinlog 9.7.4 gives up on rows events of version 1.
        """
        done = self.run(folder, name)
        path = write_packed(folder / f"{name}.mysqlbinlog.txt.xz", done.stdout)
        said = done.stderr.decode("utf-8", "backslashreplace").strip()[:_SAID]
        return OracleText(name, path.name, sha256(done.stdout), done.returncode, said)


def find_oracle() -> Oracle:
    """The machine's mysqlbinlog. OracleError: there is none and none is available."""
    from binlogkit_fixtures.servers import mysqlbinlog

    found = mysqlbinlog.ensure()
    return Oracle(tuple(found.argv), found.version)
