"""A server for the toolkit to play a log on: the entry point ``binlogkit.servers``."""

from __future__ import annotations

from collections.abc import Mapping

from binlogkit.errors import ServerError
from binlogkit_fixtures.clock import start_server
from binlogkit_fixtures.servers import Server, ServerSpec

#: Oldest first; 5.6 cannot apply logs with and without GTIDs alike.
_SERIES = ("5.7", "8.0", "8.4", "9")


def disposable(version: str, options: Mapping[str, str | None]) -> Server:
    """A server of the version's series, else of the next newer one that is available, else older.

    ServerError: no server is available; the message is that of the first series tried.
    """
    wanted = _place(version)
    newer = [series for series in _SERIES if _place(series) >= wanted]
    older = [series for series in reversed(_SERIES) if _place(series) < wanted]
    own = [series for series in _SERIES if f"{version}.".startswith(f"{series}.")]
    first: ServerError | None = None
    for series in dict.fromkeys([*own, *newer, *older]):
        try:
            return start_server(ServerSpec(series, options), "auto", "real")[0]
        except ServerError as exc:
            first = first or exc
    assert first is not None
    raise first


def _place(version: str) -> tuple[int, ...]:
    return tuple(int(part) if part.isdecimal() else 0 for part in version.split(".")[:2])
