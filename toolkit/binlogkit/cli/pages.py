"""Pages of results as HTML files, and the columns that are kept out of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

import click

from binlogkit.cli.options import apply, narrowed, write_html
from binlogkit.constants import TableId
from binlogkit.errors import UsageError

if TYPE_CHECKING:
    from binlogkit.log import Log
    from binlogkit.reports.model import Report
    from binlogkit.rows.filter_args import FilterArgs
    from binlogkit.spark.masks import Masks

_VALUES = ("column", "ours", "theirs", "reason", "proof")
Row = Mapping[str, Any]
F = TypeVar("F", bound=Callable[..., Any])


def page_options(help_text: str) -> Callable[[F], F]:
    """The options of a command that has a page."""
    return apply(
        click.option("--html", metavar="OUT", help=help_text),
        click.option(
            "--mask",
            "masks",
            multiple=True,
            metavar="COLUMN=HOW",
            help="In the page: [db.]table.column=drop, =hash or =truncate:N (repeatable).",
        ),
        click.option("--mask-key", metavar="FILE", help="The key of the hashes, 16 bytes or more."),
    )


@dataclass(slots=True)
class Page:
    """Where a page is written, and its masks; ``path``: None for no page."""

    path: str | None
    masks: Masks | None = None
    _tables: dict[str, TableId] = field(default_factory=dict)
    _clear: set[str] = field(default_factory=set)  # columns that are masked in no table

    def find(self, log: Log) -> None:
        """Find the columns of the masks in the logs. UsageError: one is for none; SchemaError: the
        name of one may be another that nothing tells."""
        if self.masks is None:
            return
        from binlogkit.log.index import Joined
        from binlogkit.log.index.part import parts_of
        from binlogkit.spark.renames import follow

        joined = Joined(list(parts_of(log.carriers, log.options)), log.options, happening=True)
        self.masks = follow(self.masks, joined)
        names = Counter(".".join(table) for table in joined.schemas)
        self._tables = {n: t for t in joined.schemas if names[n := ".".join(t)] == 1}
        for versions in joined.schemas.values():
            for version in versions:
                if version.named:
                    self.masks.check(version)
                    self._clear |= {column.name.lower() for column in version.columns}
        self._clear -= {mask.column for mask in self.masks.masks}
        self._clear -= {column for _, _, column in self.masks.followed}

    @property
    def masked(self) -> bool:
        """Whether any column is: then the page has no statement either, which may hold values."""
        return self.masks is not None

    def refuse_masks(self) -> None:
        """UsageError: columns are masked, of a landing."""
        if self.masked:
            raise UsageError("--mask is not for a landing: its own masks hold")

    def chosen(self, filters: FilterArgs) -> str:
        """The filters as options, without the values that they ask for if any column is masked."""
        if self.masked and "where" in filters:
            filters = {**filters, "where": "…"}
        return narrowed(filters)

    def row(self, db: str, table: str, row: Row | None) -> Row | None:
        """A row's values as the page may show them."""
        return row if self.masks is None or row is None else self.masks.shown(db, table, row)

    def shows(self, name: str, column: str | None) -> bool:
        """Whether a column of the table ``db.table`` may be shown as it is; None: all of them."""
        table = self._tables.get(name)
        if self.masks is None or table is None:
            return self.masks is None
        if column is None or not self.masks.concerns(*table):
            return not self.masks.concerns(*table)
        return not column.startswith("@") and not self.masks.masks_column(*table, column)

    def images(self, record: Row, db: str = "", table: str = "") -> Row:
        """A record with its images masked, and without its statement if anything is."""
        if not self.masked:
            return record
        name = record.get("db", db), record.get("table", table)
        images = {n: self.row(*name, record.get(n)) for n in ("before", "after")}
        return {**record, **images, "query": None}

    def difference(self, record: Row) -> Row:
        """A difference of decoders, with its values only where its column is no masked one's, in
        any table: it does not say of which it is."""
        if self.masks is None:
            return record
        name = (record.get("column") or "").removeprefix("before.").removeprefix("after.")
        if record.get("row") is not None and name.lower() in self._clear:
            return record
        return {**record, **{n: "masked" for n in _VALUES if record.get(n)}}

    def write(self, report: Report, what: str = "report") -> None:
        """Write the page of a report."""
        from binlogkit.reports.html import render

        assert self.path is not None
        if self.masks is not None:
            count = len(self.masks.masks)
            text = f"{count} column{'s' * (count != 1)}, and all statements"
            report = replace(report, facts=[*report.facts, ("masked", text)])
        write_html(self.path, render(report), what)


def page_of(arguments: dict[str, Any], *others: str) -> Page:
    """Take the options out of a command's arguments.

    ``others``: of what else it writes, which no mask holds for. UsageError: they do not go
    together, or a mask is not one.
    """
    path, given, key = (arguments.pop(name) for name in ("html", "masks", "mask_key"))
    if not given and key is None:
        return Page(path)
    if path is None:
        raise UsageError("--mask holds for a page: give --html, too")
    for name in others:
        if arguments.get(name) not in (None, (), "-", False):
            option = "format" if name == "output_format" else name.replace("_", "-")
            raise UsageError(f"--mask holds for the page alone: leave out --{option}")
    from binlogkit.spark.masks import parse_masks

    masks = parse_masks(given, key)
    if masks.cleared:
        raise UsageError("=clear is for a landing: a page shows each column that no mask names")
    return Page(path, masks)
