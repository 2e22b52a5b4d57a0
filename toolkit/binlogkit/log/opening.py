"""From what a user names to a :class:`Log`: its location, and what is known of its tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from binlogkit.errors import InputError, UsageError
from binlogkit.log.log import Log
from binlogkit.log.signatures import keywords_of, names
from binlogkit.rows.options import ReadOptions
from binlogkit.rows.schema import Origin
from binlogkit.sources.carriers import Source, resolve
from binlogkit.sources.carriers.storage import StorageOptions
from binlogkit.sources.carriers.storage import storage_options as given_options
from binlogkit.sources.keyring import key_files

if TYPE_CHECKING:
    import pandas as pd

    from binlogkit.log.audit import Audit
    from binlogkit.log.explain import EventPlace, Explanation
    from binlogkit.log.index import Updated
    from binlogkit.log.verify import Verification
    from binlogkit.rows.ddl import Catalog


def open_log(
    source: Source,
    *,
    schema: str | Path | Catalog | None = None,
    schema_from: str | None = None,
    charset: str | None = None,
    suppose: Iterable[str] = (),
    on_damage: str = "stop",
    name: str | None = None,
    keyring: str | Path | None = None,
    key_file: str | Path | None = None,
    threads: int | None = None,
    duplicates: str = "drop",
    storage_options: Mapping[str, Any] | StorageOptions | None = None,
    index: str | Path | None = None,
) -> Log:
    """A log, or several in order.

    What is read:

    ``source``: a path, folder, glob, index file, URL, bytes, file object, or a list of them.
    ``index``: a folder that :func:`binlogkit.index` made. What it holds of a log is not read again.
    ``keyring``: the file name of the server's keyring, for encrypted logs (default: environment
    variable BINLOGKIT_KEYRING).
    ``key_file``: instead, the file name of one key (default: BINLOGKIT_KEY_FILE).
    ``storage_options``: fsspec's options for URLs, including credentials; default: the environment
    variable BINLOGKIT_STORAGE_OPTIONS, JSON or the name of a JSON file. Values are never shown.

    Facts that the log may lack:

    ``schema``: the tables before the log: a SQL file with CREATE TABLE statements, or a Catalog.
    ``schema_from``: the same from a running server, ``mysql://user@host:port``. Its password comes
    from the environment variable BINLOGKIT_PASSWORD.
    ``charset``: MySQL's name of the character set of text whose own is unknown.
    ``suppose``: suppositions (``Log.suppositions``) to treat as facts, by name:
    ``definition:db.table``, ``charset:db.table.column``, ``sign:db.table.column``.
    ``name``: the server's name, for the column ``source``.

    How it is read:

    ``on_damage``: ``stop`` at damage (DamageError when rows are read), or ``report`` it and resume
    at the next intact event.
    ``duplicates``: ``drop`` or ``keep`` a transaction whose GTID was read before.
    ``threads``: how many decode row changes; 1: only the caller's. Default: BINLOGKIT_THREADS, else
    one for each processor, up to four. The number does not change the result.

    Errors: InputError (a source cannot be read), EmptyInputError (it holds no log), UsageError.
    """
    if on_damage not in ("stop", "report"):
        raise UsageError(f"on_damage is stop or report, not {on_damage!r}")
    keys = key_files(keyring, key_file)
    carriers = resolve(source, keys, given_options(storage_options))
    if duplicates not in ("drop", "keep"):
        raise UsageError(f"duplicates is drop or keep, not {duplicates!r}")
    catalog, origin = catalog_of(schema, schema_from)
    file = str(schema) if isinstance(schema, (str, Path)) else None
    if isinstance(suppose, str):
        raise UsageError(f"suppose is a list of names, not {suppose!r}")
    options = ReadOptions(
        on_damage, catalog, origin, charset, name, threads, duplicates, file, frozenset(suppose)
    )
    return Log(carriers, options, index)


_opens = names(keywords_of(open_log))


@_opens
def explain(
    source: Source | Log | None = None,
    *,
    at: EventPlace | Iterable[EventPlace] | None = None,
    text: str | None = None,
    **reading: Any,
) -> Explanation:
    """Events as annotated walks over their bytes.

    ``source``: what :func:`binlogkit.open` takes, or a Log.
    ``at``: where the event begins: ``154``, or inside a compressed payload ``"154/0"`` or ``(154,
    0)``; with several logs ``"FILE:154/0"``. A list of them: several events. None: all.
    ``text``: instead of a source, one or more events as hex or base64 text, as mysqlbinlog, xxd and
    others print them. The other arguments are those of :func:`binlogkit.open`.

    Errors: UsageError if no event begins there (the message names the nearest), DamageError if the
    log is damaged before it (not with ``on_damage="report"``), InputError.
    """
    if (source is None) == (text is None):
        raise UsageError("give a log or a text of events")
    if isinstance(source, Log):
        if reading:
            raise UsageError("a log that is open is read as it was opened")
        return source.explain(at)
    given = text.encode("utf-8", "replace") if text is not None else source
    assert given is not None
    return open_log(given, **reading).explain(at)


@_opens
def verify(
    source: Any,
    *,
    rows: bool = False,
    images: bool = False,
    on_damage: str = "report",
    **options: Any,
) -> Verification:
    """Verify logs: ``binlogkit.open(source, …).verify()``; see :meth:`binlogkit.Log.verify`."""
    return open_log(source, on_damage=on_damage, **options).verify(rows=rows, images=images)


@_opens
def suspects(source: Source, *, on_damage: str = "report", **reading: Any) -> pd.DataFrame:
    """What to look at first in logs: ``binlogkit.open(source, …).suspects()``; see
    :meth:`binlogkit.Log.suspects`. Damage is skipped and counts as a gap."""
    return open_log(source, on_damage=on_damage, **reading).suspects()


class Auditing:
    """``audit(source, …)`` audits logs; ``audit.by_minute(changes)`` and the like are the analyses
    of :mod:`binlogkit.analyses.audit`."""

    @_opens
    def __call__(self, source: Source, *, on_damage: str = "report", **reading: Any) -> Audit:
        """Who changed what and when: ``binlogkit.open(source, …).audit()``; see
        :meth:`binlogkit.Log.audit`. Damage is skipped and counts as a gap."""
        return open_log(source, on_damage=on_damage, **reading).audit()

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module("binlogkit.analyses.audit"), name)

    def __dir__(self) -> list[str]:
        return list(import_module("binlogkit.analyses.audit").__all__)


audit = Auditing()


def index(
    source: Source,
    out: str | Path,
    *,
    keyring: str | Path | None = None,
    key_file: str | Path | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> Updated:
    """Index logs into the folder ``out``, as ``binlogkit index`` does (docs/indexing.md).

    Only logs that are new to the folder, or have changed, are read.

    ``source``, ``keyring``, ``key_file``, ``storage_options``: as for :func:`binlogkit.open`.
    ``out``: the folder of the index; it is made, or brought up to date.

    Errors: UsageError (``out`` is a landing), InputError, EmptyInputError, WriteError.
    """
    from binlogkit.log.index import Index

    kept = Index(out)
    opening: dict[str, Any] = {"keyring": keyring, "key_file": key_file}
    log = open_log(source, storage_options=storage_options, **opening)
    return kept.update(log.carriers, log.options)


def catalog_of(
    schema: str | Path | Catalog | None, schema_from: str | None
) -> tuple[Catalog | None, Origin]:
    """What is known of tables before the logs, and the source of that."""
    if schema is not None and schema_from is not None:
        raise UsageError("give a schema file or a server to take the schema from, not both")
    if isinstance(schema, (str, Path)):
        from binlogkit.rows.ddl.dump import load_schema
        from binlogkit.sources.carriers import read_schema_text

        path = str(schema)
        schema = load_schema(read_schema_text(path))
        if not (schema.tables() or schema.databases):
            raise InputError(path, "no table is defined in it")
    if schema_from is not None:
        from binlogkit.rows.ddl.server import from_server
        from binlogkit.sources.connection import connect

        with connect(schema_from) as connection:
            return from_server(partial(_query, connection, schema_from)), Origin.SERVER
    return schema, Origin.SCHEMA_FILE


def _query(connection: Any, server: str, sql: str) -> list[tuple[Any, ...]]:
    from binlogkit.sources.connection import translated

    with translated(server), connection.cursor() as cursor:
        cursor.execute(sql)
        return list(cursor.fetchall())
