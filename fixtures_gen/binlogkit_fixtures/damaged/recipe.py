"""What a damaged log is: of which golden log, what was done to it, and what a reader must do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from binlogkit_fixtures.damaged.pieces import MAGIC, Piece

__all__ = ["Error", "Level", "Recipe", "Recipes", "Verdict"]

Edit = Callable[[list[Piece]], list[Piece]]
Source = tuple[str, str]  # cell, scenario; of its logs the first

CHECKED: Source = ("8.0-row-full", "keys")
UNCHECKED: Source = ("8.0-row-no-checksum", "keys")
PACKED: Source = ("8.0-row-compressed", "keys")


class Verdict(StrEnum):
    """What a reader may do with a log, as Project Wycheproof has it of signatures."""

    MUST_READ = "must_read"  # nothing is wrong: all events, no error
    MAY_REFUSE = "may_refuse"  # not every reader can know, or the format leaves it open
    MUST_REFUSE = "must_refuse"  # an error, after what came before; never silence


class Error(StrEnum):
    """What is wrong."""

    EMPTY = "empty"  # no byte
    NOT_A_BINLOG = "not_a_binlog"  # no magic number, or no event after it
    TRUNCATED = "truncated"  # the file ends inside an event
    ZEROS = "zeros"  # nothing but zero bytes up to the end
    CHECKSUM = "checksum"  # the CRC32 is not the one of the bytes
    LENGTH = "length"  # an event's size cannot be one
    MALFORMED = "malformed"  # a field claims what its event cannot hold
    NO_TABLE_MAP = "no_table_map"  # rows of a table that nothing describes
    NO_FORMAT = "no_format"  # no format description before other events
    OUT_OF_PLACE = "out_of_place"  # an intact event where none can be


class Level(StrEnum):
    """Who can notice."""

    EVENTS = "events"  # whoever frames events
    FIELDS = "fields"  # whoever reads that event's fields
    ROWS = "rows"  # what decodes its row images


@dataclass(frozen=True, slots=True)
class Recipe:
    """``name``; ``what`` is wrong, one clause; ``edit`` makes the pieces from the golden log's."""

    name: str
    what: str
    verdict: Verdict
    error: Error | None
    level: Level
    source: Source
    edit: Edit
    magic: bytes = MAGIC


class Recipes(dict[str, Recipe]):
    """Recipes by name, in the order in which they are defined."""

    def add(
        self,
        name: str,
        what: str,
        verdict: Verdict,
        error: Error | None = None,
        level: Level = Level.EVENTS,
        source: Source = CHECKED,
        magic: bytes = MAGIC,
    ) -> Callable[[Edit], Edit]:
        """The function below makes it. ValueError: the name is taken."""
        if name in self:
            raise ValueError(name)

        def define(edit: Edit) -> Edit:
            self[name] = Recipe(name, what, verdict, error, level, source, edit, magic)
            return edit

        return define
