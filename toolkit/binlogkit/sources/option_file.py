"""MySQL's option files: what a connection needs of them.

Format (manual, "Using Option Files"): ``[group]`` lines, ``name=value`` or ``name`` lines, comments
that begin with ``#`` or ``;`` or stand after a ``#`` outside quotes; a value may be quoted and has
the escapes ``\\b \\t \\n \\r \\\\ \\s``; ``!include FILE`` and ``!includedir FOLDER`` go ten files
deep; ``-`` and ``_`` in names are the same, ``loose-`` says nothing. A later option wins.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from binlogkit.errors import InputError, UsageError, printable

GROUPS = ("client", "binlogkit")

_DEPTH = 10
_LARGEST = 1 << 20
_GROUP = re.compile(r"\[([^\]]*)\]")
_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "r": "\r", "\\": "\\", "s": " "}
_ESCAPE = re.compile(r"\\(.)")


def read_option_file(path: str) -> dict[str, str]:
    """The options of the groups ``client`` and ``binlogkit``, the latter's first.

    Names have ``-``; an option without a value is ``""``. Errors: InputError (missing, unreadable,
    over 1 MiB), UsageError (anybody may write to it, a line that is no option).
    """
    found: dict[str, dict[str, str]] = {}
    for group, name, value in _lines(Path(path).expanduser(), _DEPTH):
        found.setdefault(group, {})[name] = value
    return {name: value for group in GROUPS for name, value in found.get(group, {}).items()}


def _lines(path: Path, depth: int) -> Iterator[tuple[str, str, str]]:
    if depth < 0:
        raise UsageError(f"{printable(str(path))}: option files include each other too deeply")
    group = ""
    for number, raw in enumerate(_text(path).splitlines(), 1):
        line = raw.strip()
        if not line or line[0] in "#;":
            continue
        heading = _GROUP.match(line)
        if heading:
            group = heading[1].strip()
        elif line.startswith("!"):
            for included in _included(path, line):
                yield from _lines(included, depth - 1)
        elif not group:
            raise UsageError(f"{printable(str(path))}, line {number}: an option before any [group]")
        else:
            name, _, value = line.partition("=")
            yield group, _name(name), _value(value)


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            if stat.S_ISREG(mode) and mode & stat.S_IWOTH:
                raise UsageError(
                    f"{printable(str(path))}: anybody may write to it, so it is not read"
                )
            data = file.read(_LARGEST + 1)
    except OSError as exc:
        raise InputError(str(path), f"cannot be read: {exc.strerror}") from exc
    if len(data) > _LARGEST:
        raise InputError(str(path), "is too large for an option file")
    return data.decode("utf-8", "surrogateescape")


def _included(path: Path, line: str) -> list[Path]:
    word, _, named = line.partition(" ")
    target = Path(named.strip())
    if word == "!include":
        return [target]
    if word == "!includedir":
        return sorted(target.glob("*.cnf"))
    raise UsageError(f"{printable(str(path))}: unknown directive {printable(word)}")


def _name(text: str) -> str:
    return text.strip().lower().replace("_", "-").removeprefix("loose-")


def _value(text: str) -> str:
    """A value without quotes, comment and escapes."""
    value = text.strip()
    if value[:1] in ("'", '"') and value.find(value[0], 1) > 0:
        value = value[1 : value.index(value[0], 1)]
    else:
        value = value.partition("#")[0].rstrip()
    return _ESCAPE.sub(lambda m: _ESCAPES.get(m[1], m[0]), value)
