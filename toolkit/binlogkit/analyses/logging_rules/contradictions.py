"""What a log holds that no server could have written under its settings and tables' definitions.

Of each rows event the columns that its images have (its bitmaps) are compared with those that the
rules allow; of each statement its format. What cannot be judged (tables whose definition nothing
has, or that does not fit) is counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from binlogkit.analyses.logging_rules.definitions import Definitions
from binlogkit.analyses.logging_rules.model import BinlogFormat, Settings, settings_of
from binlogkit.analyses.logging_rules.reading import read_statement
from binlogkit.analyses.row_image import BLOB_TYPES, RowImage, image_columns
from binlogkit.constants import TableId
from binlogkit.errors import SchemaError, UsageError
from binlogkit.frames.fields.field import fields
from binlogkit.rows.ddl.catalog import Catalog
from binlogkit.rows.ddl.dump import load_schema
from binlogkit.rows.ddl.kind import StatementKind, statement_kind
from binlogkit.rows.ddl.session import version_number
from binlogkit.rows.schema import TableDefinition

#: One record for each event that contradicts a rule.
CONTRADICTIONS = fields(
    ("file", "string", "log file as it was given"),
    ("pos", "int64", "where the event begins"),
    ("end_pos", "int64", "where it ends"),
    ("inner", "int64?", "the event's number inside a payload, null outside"),
    ("db", "string?", "database, of rows"),
    ("table", "string?", "table, of rows"),
    ("rule", "string", "the rule's id in docs/logging-rules.md"),
    ("found", "string", "what contradicts it"),
    ("allowed", "string", "what the rules allow"),
    ("bytes", "string", "the bytes that say so: the image's bitmaps, or the statement's beginning"),
)
_SHOWN = 64  # characters and bytes of a statement
#: What makes a statement unsafe whatever the tables are.
_BY_TEXT = ("limit", "function:", "variable:")


@dataclass(slots=True)
class Judgement:
    """Finds contradictions in the records of a log's events, in their order.

    ``settings``: what is declared; ``row_images``: the values of binlog_row_image that are allowed,
    ``formats``: those of binlog_format; ``tables``: what is defined before the log begins.
    ``judged``, ``unjudged``: rows events.
    """

    row_images: frozenset[RowImage] = frozenset(RowImage)
    formats: frozenset[BinlogFormat] = frozenset(BinlogFormat)
    tables: Catalog = field(default_factory=Catalog)
    judged: int = 0
    unjudged: int = 0
    _maps: dict[int, TableId] = field(default_factory=dict)
    _server: str = ""

    def of(self, events: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
        """The contradictions (:data:`CONTRADICTIONS`) among these events."""
        for event in events:
            for found in self._event(event):
                place = {key: event[key] for key in ("file", "pos", "end_pos", "inner")}
                yield {**place, "db": None, "table": None, **found}

    def _event(self, event: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        kind, values = event["type"], event["fields"]
        if kind == "FORMAT_DESCRIPTION_EVENT":
            self._server = str(values["server_version"])
            self.tables.server_version = self._server
        elif kind == "TABLE_MAP_EVENT":
            self._maps[values["table_id"]] = (values["db"], values["table"])
        elif kind in ("QUERY_EVENT", "EXECUTE_LOAD_QUERY_EVENT"):
            yield from self._statement(kind, values)
        elif "ROWS_EVENT" in kind and "before_columns" in values:
            if self.formats == {BinlogFormat.STATEMENT}:
                yield self._of_rows(values, "statement-format", "rows", "statements")
            yield from self._rows(values)

    # -- statements

    def _statement(self, kind: str, values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        text, variables = str(values["query"]), values.get("status_vars") or {}
        mode = variables.get("sql_mode")
        sort = statement_kind(text, mode, version_number(self._server))
        if sort is StatementKind.DDL:
            self.tables.apply(
                text, default_db=values.get("schema") or None, sql_mode=mode,
                explicit_defaults_for_timestamp=variables.get("explicit_defaults_for_timestamp"),
            )  # fmt: skip
        if sort is not StatementKind.DML or self._refilled(text, values):
            return
        unsafe = kind == "EXECUTE_LOAD_QUERY_EVENT" or self._unsafe(text)
        if self.formats == {BinlogFormat.ROW}:
            yield self._said("row-format", "a change as a statement", "rows", text)
        elif unsafe and BinlogFormat.STATEMENT not in self.formats:
            yield self._said("row-format-mixed", "an unsafe statement as such", "rows", text)

    def _refilled(self, text: str, values: Mapping[str, Any]) -> bool:
        """Whether a server says that a MEMORY table was emptied by its restart."""
        words = text.replace("`", " ").replace(".", " ").split()
        if [word.upper() for word in words[:2]] != ["DELETE", "FROM"] or len(words) < 3:
            return False
        names = words[2:] if len(words) == 4 else [values.get("schema") or "", *words[2:]]
        table = self.tables.table(*names[:2]) if len(names) == 2 else None
        return table is not None and table.engine == "MEMORY"

    def _unsafe(self, text: str) -> bool:
        try:
            read = read_statement(text, Definitions(self._server or None), Settings())
        except (SchemaError, IndexError, RecursionError):
            return False
        return any(read.has(trait) for trait in _BY_TEXT)

    @staticmethod
    def _said(rule: str, found: str, allowed: str, text: str) -> dict[str, Any]:
        written = text.encode("utf-8", "surrogatepass")[:_SHOWN]
        return {
            "rule": rule, "found": f"{found}: {text[:_SHOWN]}", "allowed": allowed,
            "bytes": "0x" + written.hex().upper(),
        }  # fmt: skip

    # -- rows

    def _rows(self, values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        name = self._maps.get(values["table_id"])
        table = None if name is None else self.tables.mapped(*name)
        op = str(values["op"])
        if table is None or len(table.columns) != values["column_count"]:
            self.unjudged += 1
            return
        self.judged += 1
        names = [column.name for column in table.columns]
        before, after = (
            _present(values[key], names) for key in ("before_columns", "after_columns")
        )
        if any(self._possible(table, image, op, before, after) for image in self.row_images):
            return
        allowed = []
        for image in sorted(self.row_images):
            columns = image_columns(table, image, op)
            sides = f"{names_of(columns.before)} > {names_of(columns.after)}"
            allowed.append(f"{image}: {sides}{_more(image, columns.after)}")
        image = next(iter(self.row_images)) if len(self.row_images) == 1 else RowImage.FULL
        found = f"{names_of(before)} > {names_of(after)}"
        yield self._of_rows(values, f"image-{op}-{image}", found, "; ".join(allowed))

    def _possible(
        self,
        table: TableDefinition,
        image: RowImage,
        op: str,
        before: tuple[str, ...] | None,
        after: tuple[str, ...] | None,
    ) -> bool:
        """Whether a server with that setting may have written these images."""
        if image == RowImage.FULL and op == "insert" and self._marked_early():
            image = RowImage.MINIMAL
        given = set(after or ()) if op == "update" else set()
        if image == RowImage.NOBLOB:  # others are there whether they were written or not
            given -= {column.name for column in table.columns if column.type not in BLOB_TYPES}
        least = image_columns(table, image, op, given)
        if before != least.before or (after is None) != (least.after is None):
            return False
        return after is None or set(least.after or ()) <= set(after)

    def _marked_early(self) -> bool:
        """Up to 5.7, MIXED logs INSERT … SELECT with the columns of MINIMAL."""
        old = version_number(self._server) < 80000
        return old and BinlogFormat.MIXED in self.formats and len(self.formats) < len(BinlogFormat)

    def _of_rows(
        self, values: Mapping[str, Any], rule: str, found: str, allowed: str
    ) -> dict[str, Any]:
        db, table = self._maps.get(values["table_id"], (None, None))
        bitmaps = [values[key] for key in ("before_columns", "after_columns") if values[key]]
        return {
            "db": db, "table": table, "rule": rule, "found": found, "allowed": allowed,
            "bytes": " ".join(bitmaps),
        }  # fmt: skip


def judgement(declared: Mapping[str, str], schema: str | None = None) -> Judgement:
    """A judgement under declared settings; ``schema``: a script of the tables before the log.

    UsageError: another setting than binlog_format and binlog_row_image, or no value of one.
    """
    if other := sorted(declared.keys() - {"binlog_format", "binlog_row_image"}):
        raise UsageError(f"a log is not judged by {', '.join(other)}")
    settings = settings_of(declared)
    found = Judgement(tables=Catalog() if schema is None else load_schema(schema))
    if "binlog_format" in declared:
        found.formats = frozenset((settings.binlog_format,))
    if "binlog_row_image" in declared:
        found.row_images = frozenset((RowImage(settings.binlog_row_image),))
    return found


def _present(bitmap: str | None, names: list[str]) -> tuple[str, ...] | None:
    """The columns whose bits are set."""
    if bitmap is None:
        return None
    bits = int.from_bytes(bytes.fromhex(bitmap[2:]), "little")
    return tuple(name for at, name in enumerate(names) if bits >> at & 1)


def names_of(columns: tuple[str, ...] | None) -> str:
    """The columns of an image in words, a dash where there is no image."""
    return "-" if columns is None else ", ".join(columns) or "(none)"


def _more(image: RowImage, after: tuple[str, ...] | None) -> str:
    return " …" if after is not None and image != RowImage.FULL else ""
