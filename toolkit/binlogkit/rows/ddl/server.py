"""Table definitions from a live server (5.7, 8.0 and later), by its SHOW CREATE TABLE."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from binlogkit.errors import LostConnectionError, ServerError
from binlogkit.rows.ddl.catalog import Catalog
from binlogkit.rows.ddl.charsets import collated
from binlogkit.rows.ddl.session import version_number
from binlogkit.sources.connection import USER_TABLES, quoted

Query = Callable[[str], Sequence[tuple[Any, ...]]]

# With an empty sql_mode it names everything, in backticks, also what 5.7 could leave out.
_SESSION = "SET SESSION sql_mode = '', sql_quote_show_create = 1"
_DATABASES = (
    "SELECT schema_name, default_character_set_name, default_collation_name "
    "FROM information_schema.schemata"
)


def from_server(query: Query, names: Iterable[Sequence[Any]] | None = None) -> Catalog:
    """The base tables of a server as a catalog; ``names``: (db, table) of those, all if None.

    ``query`` runs one statement, all of them in one session, whose settings change, and gives its
    rows as tuples, text as ``str``. A table that the server does not show (ServerError: it is
    broken, or gone by then) is unknown in the catalog. Hidden columns of functional indexes are not
    shown, nor needed: no table map has them.
    """
    version = str(query("SELECT VERSION()")[0][0])
    fold = int(query("SELECT @@lower_case_table_names")[0][0])
    catalog = Catalog(version, lower_case_table_names=fold)
    query(_SESSION)
    for db, charset, collation in query(_DATABASES):
        default = collated(str(charset), str(collation), version_number(version))
        catalog.put_database(str(db), default)
    for name in query(USER_TABLES) if names is None else names:
        db, table = map(str, name)
        try:
            shown = query(f"SHOW CREATE TABLE {quoted((db, table))}")
        except LostConnectionError:
            raise
        except ServerError as error:
            catalog.lose((db, table), str(error))
        else:
            catalog.apply(str(shown[0][1]), default_db=db)
    return catalog
