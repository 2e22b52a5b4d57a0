"""URLs: ``mysql://``, a running server's logs; else whatever fsspec opens."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, cast

from binlogkit.errors import EmptyInputError, InputError
from binlogkit.sources.carriers.carrier import Carrier, reason_of
from binlogkit.sources.carriers.order import GLOB, natural_key

__all__ = ["from_url", "is_url"]

_URL = re.compile(r"^[A-Za-z][A-Za-z0-9+.\-]+://")


def is_url(name: str) -> bool:
    """Whether a name is a URL."""
    return bool(_URL.match(name))


def from_url(url: str) -> list[Carrier]:
    """The logs at a URL. Errors: InputError, EmptyInputError; of a server: ServerError."""
    if url.lower().startswith("mysql://"):
        from binlogkit.sources.server.remote import server_logs

        return server_logs(url)
    import fsspec

    try:
        files = fsspec.open_files(url, "rb")
    except (OSError, ValueError, ImportError) as exc:
        raise InputError(url, f"cannot be opened: {reason_of(exc)}") from exc
    if not files:
        raise EmptyInputError(url, "no file matches")
    ordered = sorted(files, key=lambda f: natural_key(Path(str(f.path))))
    only = len(ordered) == 1 and not GLOB.search(url)
    return [Carrier(url if only else str(f.full_name), partial(_open_remote, f)) for f in ordered]


def _open_remote(file: Any) -> BinaryIO:
    return cast(BinaryIO, file.open())
