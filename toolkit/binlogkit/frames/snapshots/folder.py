"""A folder that a dump was written to: its own files, by name.

No path is made of what stands in a file: a name counts if the folder lists it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from binlogkit.errors import DamageError, InputError
from binlogkit.frames.snapshots.values import Misread
from binlogkit.limits import limit, limit_error
from binlogkit.sources.carriers import Carrier, shown
from binlogkit.sources.layers import Lookahead


class DumpFolder:
    """A dump's files; ``names``: of what is in the folder, ``source``: its own, for errors."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.source = shown(str(path))
        try:
            self.names = frozenset(one.name for one in path.iterdir())
        except OSError as exc:
            raise InputError(self.source, f"cannot be read: {exc.strerror}") from exc

    @contextmanager
    def open(self, name: str) -> Iterator[Lookahead]:
        """A file, unpacked; :class:`InputError`: it is missing, elsewhere, damaged, or what was
        read of it is not understood (:class:`Misread`)."""
        if name not in self.names:
            raise InputError(self.source, f"the dump is not whole: {shown(name)} is missing")
        path = self._path / name
        where = shown(str(path))
        if path.is_symlink() or not path.is_file():
            raise InputError(where, "it is no file, but a link or the like: links are not followed")
        try:
            with Carrier(where, lambda: path.open("rb")).content() as file:
                yield file
        except DamageError as exc:
            raise InputError(where, exc.reason) from exc
        except Misread as exc:
            raise InputError(where, f"it cannot be read: {exc}") from exc

    def text(self, name: str) -> str:
        """A small file's text. LimitError: it is larger than the limit DUMP_METADATA."""
        most, data = limit("DUMP_METADATA"), b""
        with self.open(name) as file:
            while len(data) <= most and (more := file.read(most + 1 - len(data))):
                data += more
        if len(data) > most:
            raise limit_error(name, "DUMP_METADATA", f"it is larger than {most} bytes")
        return data.decode("utf-8", "backslashreplace")

    def json(self, name: str) -> Any:
        """What a file of JSON says."""
        try:
            return json.loads(self.text(name))
        except (ValueError, RecursionError) as exc:
            raise InputError(shown(str(self._path / name)), "it is no JSON") from exc
