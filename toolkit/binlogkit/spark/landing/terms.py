"""The terms of a landing: which tables land, and which columns are masked; they hold from a batch
on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, field, fields

from binlogkit.constants import TableId
from binlogkit.errors import UsageError
from binlogkit.log.index import Joined
from binlogkit.rows.filters import Filters
from binlogkit.spark.masks import Masks, read_masks


@dataclass(frozen=True, slots=True)
class Terms:
    """The settings of a landing.

    ``tables``, ``exclude``: the tables that land, by default all; ``masks``: columns that do not
    land as they are; ``change``: whether the landing's terms may become these.
    """

    tables: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    masks: Masks = field(default_factory=Masks)
    change: bool = False

    @property
    def kept(self) -> TermsSince:
        """What the journal keeps of them, if they hold from the beginning."""
        chosen = tuple(sorted(self.tables)), tuple(sorted(self.exclude))
        return TermsSince(1, *chosen, self.masks.texts, self.masks.key_mark)

    @property
    def text(self) -> str:
        """The terms as a text, which differs for other terms."""
        return json.dumps(astuple(self.kept))

    @property
    def wanted(self) -> Filters:
        """The tables, as filters."""
        return self.kept.wanted

    def check(self, joined: Joined) -> None:
        """UsageError: a table that is to land, or not to land, is in no log."""
        known = {*joined.schemas}
        for one in joined.happened or ():
            known |= {(change.db, change.table) for change in one.changes}
        for table in (*self.tables, *self.exclude):
            wanted = Filters.build(table=table)
            if not any(wanted.wants_table(*name) for name in known):
                text = "nothing of it can land" if table in self.tables else "it is not excluded"
                raise UsageError(f"no log has a table {table}: {text}")

    def check_change(self, before: TermsSince) -> None:
        """UsageError: these are not the terms ``before``, and may not replace them."""
        now = self.kept
        for name in (one.name for one in fields(now)[1:] if not self.change):
            old, new = getattr(before, name), getattr(now, name)
            if old != new:
                raise UsageError(
                    f"this landing has {_NAMES[name]} {_said(old)}, not {_said(new)}: give "
                    "--change-terms (change_terms=True), or land it elsewhere"
                )
        for column, mask in _columns(before.masks).items():
            if column not in _columns(now.masks) and column.lower() not in self.masks.cleared:
                raise UsageError(
                    f"{mask} is a mask of this landing: give it again, or {column}=clear, so that "
                    "the column lands as it is"
                )


@dataclass(frozen=True, slots=True)
class TermsSince:
    """Terms, and the ``batch`` from which on they hold; ``key``: a mark that detects another key of
    the hashes."""

    batch: int
    tables: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    masks: tuple[str, ...] = ()
    key: str = ""

    @property
    def wanted(self) -> Filters:
        """The tables, as filters."""
        return Filters.build(table=self.tables or None, exclude_table=self.exclude or None)


_NAMES = {
    "tables": "--table", "exclude": "--exclude-table", "masks": "--mask", "key": "the mask key",
}  # fmt: skip


def all_masks(terms: Iterable[TermsSince]) -> Masks:
    """Every mask that has held in any batch, without keys."""
    return read_masks(dict.fromkeys(mask for one in terms for mask in one.masks))


def left_out(terms: Sequence[TermsSince], name: TableId) -> Iterator[tuple[int, int | None]]:
    """The batches in which a table did not land: the first, and the one after the last, None while
    it does not land."""
    ends = [*(one.batch for one in terms[1:]), None]
    for one, end in zip(terms, ends, strict=True):
        if not one.wanted.wants_table(*name):
            yield one.batch, end


def said_of(before: TermsSince, now: TermsSince, known: Iterable[TableId]) -> Iterator[str]:
    """What a change of terms means, a sentence each; ``known``: the tables of the logs."""
    since = f"from batch {now.batch} on"
    for name in ("tables", "exclude"):
        old, new = getattr(before, name), getattr(now, name)
        if old != new:
            yield f"{since}: {_NAMES[name]} {_said(new)}, before {_said(old)}"
    for db, table in sorted(known):
        old, new = (one.wanted.wants_table(db, table) for one in (before, now))
        if new and not old:
            yield (
                f"{db}.{table} lands {since}: changes of earlier batches are not there, unless all "
                "logs are landed anew in another folder"
            )
        elif old and not new:
            yield f"{db}.{table} does not land {since}: what has landed stays"
    old_masks, new_masks = _columns(before.masks), _columns(now.masks)
    for column in sorted(old_masks.keys() | new_masks.keys()):
        was, is_now = old_masks.get(column), new_masks.get(column)
        if was is None:
            yield f"{is_now} holds {since}: values that have landed stay as they are"
        elif is_now is None:
            yield f"{column} lands as it is {since}: it was {was}"
        elif was != is_now:
            yield f"{is_now} holds {since}: it was {was}"
    if not before.masks and now.masks:
        yield f"no statement lands {since}: those that have landed stay"
    if before.key and now.key and before.key != now.key:
        yield f"hashes have another key {since}: they are not like the earlier ones"


def _columns(masks: Iterable[str]) -> dict[str, str]:
    """Masks by their columns, as texts."""
    return {mask.rpartition("=")[0]: mask for mask in masks}


def _said(value: str | Iterable[str]) -> str:
    return (value if isinstance(value, str) else ", ".join(value)) or "none"
