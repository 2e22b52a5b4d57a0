"""Character sets and collations by MySQL's names: bytes per character, defaults.

``charsets.json`` is recorded from ``information_schema.character_sets`` and ``collations`` of
5.7.22 and 8.0.31. A collation's name begins with its character set's name and ``_`` (only
``binary`` has none). What older servers call ``utf8`` is called ``utf8mb3`` here for every version,
as 8.0.30 does, so that one name means one thing.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple


class Charset(NamedTuple):
    """``max_bytes`` per character, and the default collation (``since_8`` where it changed)."""

    max_bytes: int
    collation: str
    since_8: str | None = None


_DATA = json.loads(Path(__file__).with_name("charsets.json").read_text("utf-8"))
CHARSETS: dict[str, Charset] = {name: Charset(*facts) for name, facts in _DATA.items()}


@dataclass(frozen=True, slots=True)
class Collated:
    """A character set with a collation; both None where nothing says which.

    ``of_database``: it is the database's default, and no statement on the table names it.
    """

    charset: str | None = None
    collation: str | None = None
    of_database: bool = False

    @property
    def max_bytes(self) -> int | None:
        """Bytes that one character can take; None where the character set is not known."""
        known = CHARSETS.get(self.charset or "")
        return None if known is None else known.max_bytes


#: Nothing is known.
UNKNOWN = Collated()


def canonical(name: str) -> str:
    """A character set's or collation's name as this module spells it: lower case, utf8mb3."""
    name = name.lower()
    if name == "utf8" or name.startswith("utf8_"):
        return "utf8mb3" + name[4:]
    return name


def default_collation(charset: str, version: int) -> str | None:
    """The default collation of ``charset`` (canonical) on that server; None for a foreign one."""
    known = CHARSETS.get(charset)
    if known is None:
        return None
    return known.since_8 if known.since_8 and version >= 80000 else known.collation


def collated(charset: str | None, collation: str | None, version: int) -> Collated:
    """What a CHARACTER SET and a COLLATE say together; each fills in the other."""
    if collation is not None:
        collation = canonical(collation)
        return Collated(collation.partition("_")[0], collation)
    if charset is not None:
        charset = canonical(charset)
        return Collated(charset, default_collation(charset, version))
    return Collated()
