"""What opens an object store: fsspec's ``storage_options``, of which no value is ever shown.

Given as a mapping, as JSON, or by the environment variable BINLOGKIT_STORAGE_OPTIONS (JSON, or the
name of a file of it). They go to the file system of every URL; where one wraps another
(``simplecache::s3://…``) they are given by protocol: ``{"s3": {"key": …}}``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from binlogkit.errors import InputError, UsageError
from binlogkit.sources.layers import read_file

STORAGE_VARIABLE = "BINLOGKIT_STORAGE_OPTIONS"
_LARGEST_FILE = 1 << 20
_SHORTEST_SECRET = 4  # characters; a shorter value is part of too many words
_HIDDEN = "…"


@dataclass(frozen=True, slots=True, repr=False)
class StorageOptions:
    """The options of a file system; ``values``: a JSON object's."""

    values: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"StorageOptions({', '.join(f'{name}={_HIDDEN}' for name in self.values)})"

    def __bool__(self) -> bool:
        return bool(self.values)

    def hidden(self, text: str) -> str:
        """``text`` without these values; addresses stay."""
        for value in sorted(_texts(self.values), key=len, reverse=True):
            if len(value) >= _SHORTEST_SECRET and "://" not in value:
                text = text.replace(value, _HIDDEN)
        return text


class Located(str):
    """A URL and the options that open it, which stand in no text of it."""

    __slots__ = ("options",)
    options: StorageOptions

    def __new__(cls, url: str, options: StorageOptions) -> Located:
        made = super().__new__(cls, url)
        made.options = options
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return Located, (str(self), self.options)


NO_OPTIONS = StorageOptions()


def storage_options(given: Mapping[str, Any] | StorageOptions | None) -> StorageOptions:
    """What is given, else what the environment says. Errors: UsageError, InputError."""
    if isinstance(given, StorageOptions):
        return given
    if given is not None:
        return _checked(given, "storage_options")
    text = os.environ.get(STORAGE_VARIABLE, "").strip()
    if not text:
        return NO_OPTIONS
    if text.startswith("{"):
        return parsed(text, STORAGE_VARIABLE)
    try:
        return from_file(text)
    except InputError as exc:  # it may be no file's name, but a secret
        raise InputError(STORAGE_VARIABLE, f"is no JSON object, nor a file: {exc.reason}") from None


def parsed(text: str, what: str) -> StorageOptions:
    """The options in a JSON text; errors do not quote it; ``what``: its name."""
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        values = None
    return _checked(values, what)


def from_file(path: str | Path) -> StorageOptions:
    """The options in a file of JSON. InputError: it cannot be read; UsageError: it is not JSON."""
    return parsed(read_file(path, _LARGEST_FILE).decode("utf-8", "replace"), str(path))


def with_pairs(options: StorageOptions | None, pairs: tuple[str, ...]) -> StorageOptions | None:
    """``options`` and ``KEY=VALUE`` pairs; a dot leads into an object: ``client_kwargs.verify``.

    true, false and null are JSON's, every other value is a text.
    """
    if not pairs:
        return options
    values = json.loads(json.dumps(dict(options.values))) if options else {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        *folders, name = key.split(".")
        if not equals or not all((*folders, name)):
            raise UsageError("a storage option is KEY=VALUE")
        at = values
        for folder in folders:
            at = at.setdefault(folder, {})
            if not isinstance(at, dict):
                raise UsageError(f"the storage option {folder} is both a value and an object")
        at[name] = {"true": True, "false": False, "null": None}.get(value, value)
    return _checked(values, "storage_options")


def _checked(values: Any, what: str) -> StorageOptions:
    if not isinstance(values, Mapping) or not all(isinstance(name, str) for name in values):
        raise UsageError(f'{what} is no JSON object of options, such as {{"anon": true}}')
    return StorageOptions(dict(values))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _texts(inner)
