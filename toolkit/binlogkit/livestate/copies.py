"""A copy of live tables as a DuckDB database, replaced as a whole, for other processes to query."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from binlogkit._kernel.value_text import decimal_text
from binlogkit.analyses.point_in_time.codes import decoded
from binlogkit.errors import UsageError, WriteError, not_installed, printable
from binlogkit.frames.flat_cells import with_cells

if TYPE_CHECKING:
    from binlogkit.livestate.moment import Moment
    from binlogkit.log.states.table_state import TableState

#: The table of one row that says what the copy is as of.
MOMENT = "binlogkit_moment"


def duckdb_module() -> Any:
    """DuckDB. UsageError: it is not installed."""
    try:
        import duckdb
    except ImportError as exc:
        raise UsageError(not_installed("DuckDB", "live")) from exc
    return duckdb


def check_name(path: Path, databases: Iterable[str]) -> None:
    """UsageError: the file has the name of a database, so DuckDB could confuse both."""
    for db in databases:
        if path.stem.lower() == db.lower():
            raise UsageError(
                f"DuckDB would take {printable(db)} for the file {printable(path.name)}: give it "
                "another name than a database's"
            )


def write_copy(states: Iterable[TableState], moment: Moment, path: Path) -> None:
    """Write states as tables of a DuckDB file, in place of the one that is there.

    Each database is a schema, each table has its columns and ``_cells``. Errors: UsageError (no
    DuckDB, or a file that is called like a database), WriteError.
    """
    duckdb, states = duckdb_module(), list(states)
    check_name(path, (state.table[0] for state in states))
    try:
        with TemporaryDirectory(prefix=f"{path.name}.", dir=path.parent) as folder:  # 0700
            partial = Path(folder) / path.name
            with duckdb.connect(str(partial)) as session:
                for state in states:
                    _add(session, state)
                session.execute(
                    f"CREATE TABLE {MOMENT} (file VARCHAR, pos BIGINT, gtids VARCHAR, "
                    "committed TIMESTAMP)"
                )
                session.execute(
                    f"INSERT INTO {MOMENT} VALUES (?, ?, ?, make_timestamp(?::BIGINT))",
                    [moment.file, moment.pos, str(moment.gtids), moment.committed],
                )
            partial.chmod(0o600)
            partial.replace(path)
    except (OSError, duckdb.Error) as exc:
        raise WriteError(str(path), str(exc).splitlines()[0]) from exc


def _add(session: Any, state: TableState) -> None:
    rows = with_cells(state.rows, always=True)
    for i, column in enumerate(rows.columns):
        rows = rows.set_column(i, rows.column_names[i], _held(column))
    db, table = ('"{}"'.format(name.replace('"', '""')) for name in state.table)
    session.execute(f"CREATE SCHEMA IF NOT EXISTS {db}")
    session.register("binlogkit_rows", rows)
    session.execute(f"CREATE TABLE {db}.{table} AS FROM binlogkit_rows")
    session.unregister("binlogkit_rows")


def _held(column: pa.ChunkedArray) -> Any:
    """A column in a type that DuckDB has: its decimals have 38 digits, longer ones are texts."""
    if not pa.types.is_decimal256(column.type):
        return decoded(column)
    texts = [None if value is None else decimal_text(value) for value in column.to_pylist()]
    return pa.chunked_array([pa.array(texts, pa.string())])
