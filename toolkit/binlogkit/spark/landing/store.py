"""A landing in an object store: ``s3://bucket/prefix``, ``gs://…``, ``az://…``.

deltalake's own store reads and writes, lists and deletes, with the options of its tables. It takes
credentials from the environment of each process, as do Spark's workers: no option here is a secret,
so that options may stand in plans, logs and command lines.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pyarrow as pa
from pyarrow.fs import FileSelector, FileType

from binlogkit.errors import UsageError, WriteError
from binlogkit.log.index.batches import write_whole
from binlogkit.sources.carriers.carrier import reason_of
from binlogkit.sources.carriers.storage import StorageOptions
from binlogkit.sources.carriers.urls import is_url, without_secrets
from binlogkit.spark.landing.landing_path import (
    UNTAKEN,
    Folder,
    LandingPath,
    Sink,
    needed,
    pattern_of,
)

if TYPE_CHECKING:
    from deltalake.fs import DeltaStorageHandler

#: The stores, and how the variables with their credentials begin.
SCHEMES = {"s3": "AWS_", "gs": "GOOGLE_", "az": "AZURE_"}
_DUCKDB = {
    "s3": "INSTALL httpfs; INSTALL aws; CREATE SECRET (TYPE s3, PROVIDER credential_chain);",
    "gs": "INSTALL httpfs; CREATE SECRET (TYPE gcs, KEY_ID '…', SECRET '…');  (an HMAC key)",
    "az": "INSTALL azure; CREATE SECRET (TYPE azure, PROVIDER credential_chain, ACCOUNT_NAME '…');",
}
_SHOWN = ", ".join(f"{scheme}://" for scheme in SCHEMES)
_SECRET = re.compile(
    r"secret|token|password|credential|sas|connection_string|access_key|key(?!_id)", re.I
)
_ENDPOINT = re.compile(r"endpoint(_url\w*)?$", re.I)
_OWNER = "target"  # the file in the local folder that names the landing
_BEGUN = "landings/_delta_log"
_COLOUR = re.compile(r"\x1b\[[0-9;]*m|↳")
_LONGEST = 200  # characters of a store's own words
#: What stores and the library say, and what it means; the first that is found counts.
_REASONS = tuple(
    (re.compile(words, re.I), meaning)
    for words, meaning in (
        (r"NoSuchBucket|bucket does not exist|ContainerNotFound|container does not exist",
         "no such bucket"),
        (r"scheme is not allowed", "its endpoint is http://, which needs {0}ALLOW_HTTP=true"),
        (r"token request|credential provider|loading credential|instance metadata|IMDS"
         r"|169\.254\.169\.254|account must be specified|no credential|not find.*credential",
         "there are no credentials ({0}… in the environment)"),
        (r"\b40[13] |InvalidAccessKeyId|SignatureDoesNotMatch|AccessDenied|ExpiredToken",
         "access is denied: the store refuses the credentials ({0}… in the environment)"),
        (r"error sending request|client error \(Connect\)|dns error|timed out",
         "the endpoint cannot be reached"),
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Store(LandingPath):
    """A place in a store: its ``key`` in the bucket of ``client``; ``folder``: the local one, if it
    is known."""

    client: _Client
    key: str
    folder: Path | None = None

    def __truediv__(self, name: str) -> Store:
        return Store(self.client, f"{self.key}/{name}".strip("/"), self.folder)

    def __str__(self) -> str:
        return f"{self.client.bucket}/{self.key}".rstrip("/")

    @property
    def name(self) -> str:
        return self.key.rpartition("/")[2]

    @property
    def uri(self) -> str:
        return f"{self.client.bucket}/{quote(self.key)}".rstrip("/")

    @property
    def options(self) -> dict[str, str]:
        return dict(self.client.options)

    @property
    def local(self) -> Path:
        if self.folder is None:
            raise UsageError(
                f"{self}: a landing in a store needs --ledger DIR (ledger=…), a folder of its own "
                "on this machine"
            )
        return self.folder

    @property
    def has_local(self) -> bool:
        return self.folder is not None

    def check_local(self, *, landing: bool = False) -> None:
        """The folder names its landing in a file."""
        folder, note = self.local, self.local / _OWNER
        try:
            known = note.read_text("utf-8") if note.exists() else None
            if known == str(self):
                return
            if known is not None:
                raise UsageError(f"{folder} is the ledger of {known}, not of {self}")
            begun = any((self / _BEGUN).files())
            if begun or not landing:
                hint = "name the folder that it was landed with" if begun else "nothing has landed"
                raise UsageError(f"{folder} is not the ledger of {self}: {hint}")
            there = folder.iterdir() if folder.exists() else ()
            # One that was killed may have left the note as write_whole makes it.
            if any(not one.name.startswith(f"{_OWNER}.") for one in there):
                if note.exists() and note.read_text("utf-8") == str(self):
                    return  # another landing has named it meanwhile
                raise UsageError(f"{folder} has other files: a new ledger needs an empty folder")
            folder.mkdir(parents=True, exist_ok=True)
            write_whole(note, str(self))
        except OSError as exc:
            raise WriteError(str(folder), reason_of(exc)) from exc

    def exists(self) -> bool:
        with self.asked():
            return self.client.size(self.key) is not None

    def make(self) -> None:
        """A store has no folders."""

    def folders(self) -> list[str]:
        with self.asked():
            found = self.client.listed(self.key, recursive=False)
        return sorted(info.base_name for info in found if info.type == FileType.Directory)

    def files(self) -> Iterator[Store]:
        with self.asked():
            found = self.client.listed(self.key, recursive=True)
        for info in found:
            if info.type == FileType.File:
                yield Store(self.client, info.path, self.folder)

    def source(self) -> pa.BufferReader:
        """All of it: pyarrow's threads would call Python for each range."""
        return pa.BufferReader(self.data())

    def tail(self) -> Any:
        with self.asked():
            return self.client.handler.open_input_file(self.key)

    def data(self) -> bytes:
        with self.asked():
            found: bytes = self.client.handler.open_input_file(self.key).read()
        return found

    def sink(self) -> Sink:
        return _Object(self)

    def write_text(self, text: str) -> None:
        with self.asked(WriteError):
            sink = _Object(self)
            sink.target.write(text.encode())
            sink.close()

    def delete(self) -> None:
        with self.asked(WriteError):
            self.client.handler.delete_file(self.key)

    def pattern(self) -> str:
        return pattern_of(str(self))

    @property
    def duckdb(self) -> str:
        return (
            f"-- They read {self}, for which DuckDB needs an extension and a secret before:\n"
            f"-- {_DUCKDB[self.client.scheme]}\n"
        )

    def reason(self, exc: Exception) -> str:
        return self.client.reason(exc)


class _Object(Sink):
    """An object that is written; it is there once it is closed."""

    def __init__(self, place: Store) -> None:
        self._place = place
        with place.asked(WriteError):
            self.target = self._upload = _Upload(place)

    @property
    def size(self) -> int:
        return self._upload.size

    def close(self) -> None:
        self._upload.close()

    def drop(self) -> None:
        self._upload.close()  # what came of it is an object now
        self._place.delete()


class _Upload(io.RawIOBase):
    """What pyarrow writes to: deltalake's stream takes nothing but bytes."""

    def __init__(self, place: Store) -> None:
        super().__init__()
        self._place, self.size = place, 0
        # pyarrow's own streams hand it buffers, which it refuses (deltalake 1.6.6).
        self._stream: Any = place.client.handler._handler.open_output_stream(place.key, None)

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        octets = bytes(data)
        with self._place.asked(WriteError):
            self._stream.write(octets)
        self.size += len(octets)
        return len(octets)

    def close(self) -> None:
        if not self.closed:
            super().close()
            with self._place.asked(WriteError):
                self._stream.close()


class _Client:
    """A bucket, ``s3://name``, and the options that open it; shared by its places."""

    def __init__(self, bucket: str, options: Mapping[str, str]) -> None:
        self.bucket, self.options = bucket, options

    def __reduce__(self) -> tuple[Any, ...]:
        return _Client, (self.bucket, self.options)

    def __eq__(self, other: object) -> bool:
        own = (self.bucket, self.options)
        return isinstance(other, _Client) and own == (other.bucket, other.options)

    def __hash__(self) -> int:
        return hash(self.bucket)

    @property
    def scheme(self) -> str:
        """As ``s3``."""
        return self.bucket.partition(":")[0]

    @cached_property
    def handler(self) -> DeltaStorageHandler:
        """deltalake's way to the bucket's objects, by their keys."""
        from deltalake.fs import DeltaStorageHandler

        return DeltaStorageHandler(self.bucket, dict(self.options))

    def size(self, key: str) -> int | None:
        """The bytes of an object, None if there is none."""
        [info] = self.handler.get_file_info([key])
        return info.size if info.type == FileType.File else None

    def listed(self, key: str, *, recursive: bool) -> list[Any]:
        """What is in a folder."""
        selector = FileSelector(key, allow_not_found=True, recursive=recursive)
        return self.handler.get_file_info_selector(selector)

    def reason(self, exc: Exception) -> str:
        """What is wrong, in a line, without what the store quotes of the request."""
        text, variables = str(exc), SCHEMES[self.scheme]
        for words, meaning in _REASONS:
            if words.search(text):
                return meaning.format(variables)
        plain = " ".join(_COLOUR.sub("", text).partition("<?xml")[0].split())
        known = [v for n, v in os.environ.items() if n.startswith(variables) and _SECRET.search(n)]
        return StorageOptions({"": known}).hidden(without_secrets(plain))[:_LONGEST]


def place_of(
    out: str | Path | LandingPath,
    ledger: str | Path | None = None,
    options: Mapping[str, str] | None = None,
) -> LandingPath:
    """The place of a landing. ``ledger``: the local folder of one in a store; ``options``: of the
    store, named as deltalake names them.

    UsageError: it cannot be one, an option is a secret, deltalake is not installed.
    """
    if isinstance(out, LandingPath):
        return out
    needed()
    if not is_url(str(out)):
        if ledger is not None or options:
            raise UsageError(
                f"{out} is a folder, which has its ledger in it: --ledger and --target-option are "
                f"for {_SHOWN}"
            )
        _check_path(str(out), "a landing's path")
        return Folder(Path(out))
    shown = without_secrets(str(out))
    scheme, _, rest = str(out).partition("://")
    bucket, _, prefix = rest.partition("/")
    if scheme not in SCHEMES:
        raise UsageError(f"a landing goes to a folder, or to {_SHOWN}: not to {shown}")
    if not bucket or re.search(r"[@:%?#\s]", bucket):
        raise UsageError(f"a landing in a store is {scheme}://BUCKET/PREFIX: not {shown}")
    prefix = prefix.rstrip("/")
    if "?" in prefix or any(part in ("", ".", "..") for part in prefix.split("/") if prefix):
        raise UsageError(f"a landing's prefix has no ?, no empty part, no . and no ..: not {shown}")
    _check_path(prefix, "a landing's prefix")
    folder = None if ledger is None else Path(ledger).absolute()
    return Store(_Client(f"{scheme}://{bucket}", _checked(options or {}, scheme)), prefix, folder)


def _check_path(path: str, what: str) -> None:
    if UNTAKEN.search(path):
        raise UsageError(
            f"{what} has no control character, no [ ] \\ ^ |, no % before two hex digits, and is "
            f"UTF-8: not {path!r}"
        )


def _checked(options: Mapping[str, str], scheme: str) -> dict[str, str]:
    """Options that are no secret, and that the library does not fall over."""
    begin = SCHEMES[scheme]
    for name, value in options.items():
        if _SECRET.search(name) or "@" in value:
            raise UsageError(
                f"the target option {name} is a secret: give it in the environment ({begin}…)"
            )
    given = {name: value for name, value in os.environ.items() if name.startswith(begin)}
    for name, value in (given | dict(options)).items():
        if _ENDPOINT.search(name) and not re.match("https?://.", value):
            raise UsageError(f"{name} is no URL, http://… or https://…")
    return {name: str(value) for name, value in options.items()}
