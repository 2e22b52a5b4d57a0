"""The data source's options: Spark's texts -> typed, checked, plain values.

Spark lower-cases the keys and gives every value as text; so case, underscores and hyphens of a key
do not matter (``startTime``, ``start_time``, ``start-time``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from binlogkit.errors import UsageError
from binlogkit.rows.filter_args import RowFilterArgs
from binlogkit.rows.filters import Filters
from binlogkit.sources.carriers.storage import StorageOptions, parsed
from binlogkit.sources.keyring import KeyFiles, key_files

# The kinds of output of the source; see spark/splits/kinds.py.
KINDS = (
    "rows", "changes", "changelog", "events", "transactions", "statements", "boundaries", "damages",
    "gaps",
)  # fmt: skip

#: The arguments of :func:`binlogkit.open` that a scan has.
READING = (
    "schema", "schema_from", "charset", "on_damage", "name", "duplicates", "keyring", "key_file",
    "storage_options",
)  # fmt: skip
#: Options of streams only.
STREAMING = ("base", "starting_offset", "max_files_per_trigger", "max_bytes_per_trigger")
SPLIT_BYTES = 64 << 20
_LOCAL_URI = re.compile(r"^file:(?://)?(?=/[^/])")
_QUOTED_LIST = re.compile(r"(?:`(?:[^`]|``)*`|[^,`])+")


@dataclass(frozen=True, slots=True)
class ScanOptions:
    """One scan, as plain values that can be shipped to a worker.

    ``filters``: keywords of :meth:`Filters.build`; ``schema``: path of a SQL file; ``schema_from``:
    a live server; ``name``: of the logs' server; ``duplicates``: see ReadOptions; ``kind``: one of
    :data:`KINDS`; ``keyring``, ``key_file``: names of files; ``index``: an index folder
    (log/index), so that the plan is made without reading indexed logs; ``storage_options``: what
    opens URLs; ``split_bytes``: after so many bytes of a log a new split begins at the next
    transaction. For streams only: ``base``: a snapshot of the table, whose rows come first;
    ``starting_offset``: ``earliest`` or ``latest``, where a stream without a checkpoint begins;
    ``max_files_per_trigger``, ``max_bytes_per_trigger``: the limits of a batch. ``mask``,
    ``mask_key_file``: of a changelog, see spark/masks.py.
    """

    paths: tuple[str, ...]
    table: str | None = None
    kind: str = "rows"
    filters: RowFilterArgs = field(default_factory=RowFilterArgs)
    schema: str | None = None
    schema_from: str | None = None
    charset: str | None = None
    on_damage: str = "stop"
    name: str | None = None
    duplicates: str = "drop"
    keyring: str | None = None
    key_file: str | None = None
    index: str | None = None
    storage_options: StorageOptions | None = None
    split_bytes: int = SPLIT_BYTES
    base: str | None = None
    starting_offset: str | None = None
    max_files_per_trigger: int | None = None
    max_bytes_per_trigger: int | None = None
    mask: tuple[str, ...] = ()
    mask_key_file: str | None = None

    @property
    def keys(self) -> KeyFiles:
        """Where the keys of encrypted logs are: files that every worker can read."""
        return key_files(self.keyring, self.key_file)

    @property
    def typed(self) -> bool:
        """Whether one table's typed changes are wanted."""
        return self.table is not None and self.of_rows

    @property
    def of_rows(self) -> bool:
        """Whether row changes are wanted."""
        return self.kind in ("rows", "changes", "changelog")

    def wanted(self) -> Filters:
        """The filters, with the table; UsageError for contradictory ones."""
        wanted = Filters.build(table=self.table, **self.filters)
        return wanted if self.of_rows else wanted.without_where(self.kind)


def parse_options(options: Mapping[str, str]) -> ScanOptions:
    """The scan for Spark's options. UsageError: an unknown option or a bad value."""
    given = _recognised(options)
    filters = {n: parse(_SPELLED[n], given[n]) for n, parse in _FILTERS.items() if n in given}
    plain: dict[str, Any] = {name: given[name] for name in _PLAIN if name in given}
    for name in _SIZES:
        if name in plain:
            plain[name] = _integer(_SPELLED[name], plain[name])
            if plain[name] < 1:
                raise UsageError(f"{_SPELLED[name]} is 1 or more, not {plain[name]}")
    if "mask" in given:
        plain["mask"] = tuple(_texts("mask", given["mask"]))
    if "storage_options" in plain:
        plain["storage_options"] = parsed(plain["storage_options"], "storageOptions")
    scan = ScanOptions(
        paths=_paths(given),
        kind=given.get("records", "rows"),
        filters=cast("RowFilterArgs", filters),
        **plain,
    )
    if scan.starting_offset not in (None, "earliest", "latest"):
        raise UsageError(f"startingOffset is earliest or latest, not {scan.starting_offset!r}")
    if scan.base is not None:
        _check_base(scan)
    if scan.on_damage not in ("stop", "report"):
        raise UsageError(f"onDamage is stop or report, not {scan.on_damage!r}")
    if scan.duplicates not in ("drop", "keep"):
        raise UsageError(f"duplicates is drop or keep, not {scan.duplicates!r}")
    if scan.kind not in KINDS:
        raise UsageError(f"records is one of {', '.join(KINDS)}, not {scan.kind!r}")
    if scan.kind == "changelog" and scan.table is None:
        raise UsageError("a changelog is that of one table: name it with the option table")
    if (scan.mask or scan.mask_key_file) and scan.kind != "changelog":
        raise UsageError("mask is of records=changelog")
    if scan.schema is not None and scan.schema_from is not None:
        raise UsageError("give a schema file or a server to take the schema from, not both")
    scan.wanted()
    return scan


def _check_base(scan: ScanOptions) -> None:
    if scan.kind != "changelog" or scan.starting_offset is not None or scan.duplicates == "keep":
        raise UsageError(
            "base is of streams of records=changelog, begins them itself (no startingOffset), and "
            "what it holds does not come again (no duplicates=keep)"
        )
    if scan.base is not None and scan.base.lower().startswith("mysql://"):
        raise UsageError(
            "a stream that is begun again needs the same base: keep the server's first, with "
            "binlogkit snapshot"
        )


def _recognised(options: Mapping[str, str]) -> dict[str, str]:
    given: dict[str, str] = {}
    for key, value in options.items():
        name = _NAMES.get(_folded(key))
        if name is None:
            known = ", ".join(sorted(_SPELLED.values()))
            raise UsageError(f"the binlog source has no option {key!r}; it has {known}")
        if name in given:
            raise UsageError(f"the option {_SPELLED[name]} is given twice")
        given[name] = value
    return given


def _folded(key: str) -> str:
    return key.replace("_", "").replace("-", "").lower()


def _paths(given: Mapping[str, str]) -> tuple[str, ...]:
    paths = [given["path"]] if "path" in given else []
    if "paths" in given:
        paths += _json_list("paths", given["paths"])
    if not paths:
        raise UsageError("no log is named: give load() a path, a folder, a glob or a list of them")
    return tuple(_LOCAL_URI.sub("", path) for path in paths)


def _json_list(name: str, text: str) -> list[str]:
    try:
        values = json.loads(text)
    except ValueError as exc:
        raise UsageError(f"{name} is not a JSON list: {text!r}") from exc
    if not isinstance(values, list) or not all(isinstance(v, str) for v in values):
        raise UsageError(f"{name} is not a JSON list of texts: {text!r}")
    return values


def _texts(name: str, text: str) -> list[str]:
    """``a,b`` or ``["a", "b"]``; a comma between backquotes belongs to a name."""
    if text.startswith("["):
        return _json_list(name, text)
    return [part.strip() for part in _QUOTED_LIST.findall(text) if part.strip()]


def _conditions(name: str, text: str) -> list[str]:
    """``column=value``, or a JSON list of such; a value may hold commas."""
    return _json_list(name, text) if text.startswith("[") else [text]


def _integer(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError as exc:
        raise UsageError(f"{name} is an integer, not {text!r}") from exc


def _integers(name: str, text: str) -> list[int]:
    return [_integer(name, part.strip()) for part in text.split(",")]


_FILTERS: dict[str, Callable[[str, str], Any]] = {
    **dict.fromkeys(("exclude_table", "op", "source"), _texts),
    **dict.fromkeys(("thread", "server_id"), _integers),
    **dict.fromkeys(("start_position", "stop_position"), _integer),
    **dict.fromkeys(("gtid", "at", "start_time", "stop_time", "timezone"), lambda _, text: text),
    "where": _conditions,
}
# Set through the name of their field.
_SIZES = ("split_bytes", "max_files_per_trigger", "max_bytes_per_trigger")
_PLAIN = ("table", *READING, "index", "base", "starting_offset", "mask_key_file", *_SIZES)
# Each option in Spark's own spelling.
_SPELLED = {
    name: name[0] + name.title().replace("_", "")[1:]
    for name in ("path", "paths", "records", "mask", *_PLAIN, *_FILTERS)
}
_NAMES = {_folded(name): name for name in _SPELLED} | {"what": "records"}
