"""A set of fixtures as ``.tar.gz`` and ``.zip``: for projects that do not use Python.

All files are unpacked in it (Go's and Java's libraries have no xz). The same set gives the same
bytes, whenever and wherever it is packed: names are sorted, times are those of the format's
beginning, and nothing names the machine. (The compressed bytes are zlib's: another version of it
may write others of the same contents, which ``SHA256SUMS`` shows.)
"""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from binlogkit.errors import InputError, UsageError
from binlogkit.schemas import load
from binlogkit_fixtures import golden
from binlogkit_fixtures import manifest as mf
from binlogkit_fixtures.damaged import made
from binlogkit_fixtures.expected import files
from binlogkit_fixtures.expected import index as ix
from binlogkit_fixtures.records import to_json

__all__ = ["DAMAGED", "SUMS", "damaged_files", "line_schema", "schemas", "write_archives"]

SUMS = "SHA256SUMS"
DAMAGED = "damaged"
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the first that a zip file can say
_MODE = 0o644
_LEVEL = 9

File = tuple[str, bytes]


def line_schema(name: str) -> dict[str, Any]:
    """The JSON Schema of a line of ``events.jsonl`` (``event``) or ``rows.jsonl`` (``row``)."""
    schema = load(name)
    cell = {"type": ["string", "null"], "pattern": "^0x([0-9A-F]{2})*$"}
    image = {"type": ["object", "null"], "additionalProperties": cell}
    raw: dict[str, Any] = cell
    if name == "row":
        raw = {
            "type": "object",
            "properties": {"before": image, "after": image},
            "required": ["before", "after"],
            "additionalProperties": False,
        }
    digits = {"type": "string", "pattern": "^-?[0-9]+$"}
    schema["title"] = f"binlogkit fixture {name} line"
    schema["description"] = f"One line of `{name}s.jsonl` of a fixture."
    schema["properties"] |= {
        "raw": raw | {"description": "the bytes as the log stores them"},
        "integers": {
            "type": "object",
            "description": "integers beyond 2^53 as text, by JSON Pointer",
            "additionalProperties": digits,
        },
    }
    schema["required"] = [*schema["required"], "raw", "integers"]
    return schema


def schemas() -> Iterator[File]:
    """The schemas of all that is in a set, by their place in an archive."""
    found = {
        "damaged": made.schema(),
        "event": line_schema("event"),
        "index": ix.schema(),
        "manifest": mf.schema(),
        "row": line_schema("row"),
    }
    for name, schema in found.items():
        text = json.dumps(schema, indent=1, ensure_ascii=False) + "\n"
        yield f"schemas/{name}.schema.json", text.encode("utf-8")


def damaged_files() -> Iterator[File]:
    """The damaged logs and their records, by their place in an archive."""
    records = []
    for record, data in made.make_all():
        records.append(to_json(record))
        yield f"{DAMAGED}/{record.file}", data
    yield f"{DAMAGED}/{made.RECORDS}", files.text(records)


def write_archives(root: Path, out: Path, version: str) -> list[Path]:
    """Pack the set in ``root`` as ``out/binlogkit-golden-VERSION.tar.gz`` and ``.zip``.

    With the golden set go the damaged logs that are made of it.
    UsageError: an archive is there already, or the version names no file. InputError: a file of
    the set is not what its index says.
    """
    try:
        name = mf.file_name(f"binlogkit-golden-{version}")
    except ValueError as exc:
        raise UsageError(f"'{version}' is not for a file's name") from exc
    paths = [out / f"{name}{suffix}" for suffix in (".tar.gz", ".zip")]
    for path in paths:
        if path.exists():
            raise UsageError(f"{path} is there already")
    for problem in ix.check(root):
        raise InputError(str(root / problem.file), problem.what)
    files = list(_files(root))
    out.mkdir(parents=True, exist_ok=True)
    for path, pack in zip(paths, (_tar, _zip), strict=True):
        path.write_bytes(pack(name, files))
    return paths


def _files(root: Path) -> Iterator[File]:
    """Every file of the archive, ``SHA256SUMS`` (as sha256sum writes it) last."""
    found = [(name, mf.read_packed(path)) for name, path in ix.contents(root)]
    found += [(ix.INDEX, (root / ix.INDEX).read_bytes()), *schemas()]
    if root == golden.folder():
        found += damaged_files()
    found.sort()
    yield from found
    yield SUMS, "".join(f"{mf.sha256(data)}  {name}\n" for name, data in found).encode("ascii")


def _tar(top: str, files: Iterable[File]) -> bytes:
    packed = io.BytesIO()
    with (
        gzip.GzipFile("", "wb", _LEVEL, packed, mtime=0) as stream,
        tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as tar,
    ):
        for name, data in files:
            info = tarfile.TarInfo(f"{top}/{name}")
            info.size, info.mode = len(data), _MODE
            tar.addfile(info, io.BytesIO(data))
    return packed.getvalue()


def _zip(top: str, files: Iterable[File]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, data in files:
            info = zipfile.ZipInfo(f"{top}/{name}", _EPOCH)
            info.create_system, info.external_attr = 3, _MODE << 16
            archive.writestr(info, data, zipfile.ZIP_DEFLATED, _LEVEL)
    return packed.getvalue()
