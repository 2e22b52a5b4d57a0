"""Which golden cases a marker wants: each keyword of it is a question that a case answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from binlogkit_fixtures.golden import GoldenCase

Answers = Callable[["GoldenCase", str], bool]
_BRACKETS = re.compile(r"\(.*?\)(?= |$)")


def matches(case: GoldenCase, wanted: dict[str, tuple[str, ...]]) -> bool:
    """Whether a case is of each keyword one of the values."""
    asked = ((name, wanted[name]) for name in KEYWORDS if name in wanted)
    return all(_answers(case, name, values) for name, values in asked)


def _answers(case: GoldenCase, keyword: str, values: Sequence[str]) -> bool:
    if keyword == "setting":  # several values of one variable are alternatives, variables are not
        names = {name.partition("=")[0] for name in values}
        by_name = [[v for v in values if v.partition("=")[0] == name] for name in names]
        return all(any(_setting(case, value) for value in group) for group in by_name)
    return any(KEYWORDS[keyword](case, value) for value in values)


def _version(case: GoldenCase, value: str) -> bool:
    return f"{case.manifest.server_version}.".startswith(f"{value}.")


def _setting(case: GoldenCase, value: str) -> bool:
    """``name=value`` of a server's variable; 0 and 1 are OFF and ON, as in an option's file."""
    name, _, wanted = value.partition("=")
    found = case.manifest.settings.get(name.strip().replace("-", "_").lower())
    return found is not None and _plain(found) == _plain(wanted.strip())


def _plain(value: str) -> str:
    return {"off": "0", "on": "1"}.get(value.lower(), value.lower())


def _column_type(case: GoldenCase, value: str) -> bool:
    wanted = " ".join(value.lower().split())
    return any(wanted in forms(text) for text in _column_types(case))


def forms(column_type: str) -> set[str]:
    """What a COLUMN_TYPE is called: ``int(10) unsigned`` is also int unsigned and int."""
    lowered = column_type.lower()
    short = _BRACKETS.sub("", lowered)
    return {lowered, short, short.partition(" ")[0]}


@cache
def _events(case: GoldenCase) -> frozenset[str]:
    """The types of a case's events, those inside compressed payloads too."""
    return frozenset(str(event["type"]) for event in case.events)


@cache
def _column_types(case: GoldenCase) -> frozenset[str]:
    """The types, as servers give them at marks, of the columns of tables that rows are of."""
    tables = {f"{row['db']}.{row['table']}" for row in case.rows}
    return frozenset(
        column.type
        for mark in case.manifest.marks
        for name, table in mark.tables.items()
        if name in tables
        for column in table.columns
    )


#: The markers' keywords, the cheaper first, and whether a case is what one value of it says.
KEYWORDS: dict[str, Answers] = {
    "scenario": lambda case, value: case.scenario.lower() == value.lower(),
    "cell": lambda case, value: case.cell.lower() == value.lower(),
    "folder": lambda case, value: Path(value) in (case.path, *case.path.parents),
    "version": _version,
    "format": lambda case, value: _setting(case, f"binlog_format={value}"),
    "image": lambda case, value: _setting(case, f"binlog_row_image={value}"),
    "setting": _setting,
    "event": lambda case, value: value.upper() in _events(case),
    "column_type": _column_type,
}
