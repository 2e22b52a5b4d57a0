"""``mysqlbinlog --print-table-metadata``: columns as table maps of FULL metadata describe them.

It prints names in UTF-8 and labels in the column's character set, so its lines are read as bytes
(latin1 stands for them).
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit._kernel.charsets import decode
from binlogkit.sources import mysqlbinlog
from binlogkit_fixtures.golden import GoldenCase, cases

pytestmark = pytest.mark.oracle

CASES = cases(cell="8.0-row-full-metadata")
MAP = re.compile(r"\tTable_map: `(.*)`\.`(.*)` mapped to number \d+$")
COLUMN = re.compile(
    r"^# (?:Columns\(|        )`(?P<name>(?:[^`]|``)*)` (?P<type>[A-Z]+(?:\([\d,]+\))?)"
    r"(?P<unsigned> UNSIGNED)?(?P<required> NOT NULL)?(?P<labels>\('.*'\))?"
    r"(?: INVISIBLE)?(?: AUTO_INCREMENT)?"
    r"(?: CHARSET (?P<charset>\w+) COLLATE (?P<collation>\w+))?[,)]$"
)
LABEL = re.compile(r"'((?:[^'\\]|\\.)*)'")
ESCAPES = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t"}
KEY = re.compile(r"^# Primary Key\((.*)\)$")
# tables() calls every kind of geometry GEOMETRY.
GEOMETRIES = re.compile("POINT|LINESTRING|POLYGON|MULTI[A-Z]+|GEOM[A-Z]*COLLECTION")

# Name, type, nullable, labels, character set, collation.
Column = tuple[str, str, bool, tuple[str, ...], str | None, str | None]
Table = tuple[str, str, tuple[Column, ...], tuple[str, ...]]


def printed(lines: Iterable[str]) -> set[Table]:
    """The tables of a text, each as often as it is described otherwise."""
    found: set[Table] = set()
    name: tuple[str, str] | None = None
    columns: list[Column] = []
    for line in lines:
        if match := MAP.search(line):
            name, columns = (utf8(match[1]), utf8(match[2])), []
        elif name and (match := COLUMN.match(line)):
            columns.append(column_of(match))
        elif name and (line.startswith("# at ") or KEY.match(line)):
            key = KEY.match(line)
            names = re.sub(r"\(\d+\)", "", key[1]).split(", ") if key else []
            found.add((*name, tuple(columns), tuple(utf8(name) for name in names)))
            name = None
    return found


def utf8(name: str) -> str:
    return name.encode("latin-1").decode("utf-8").replace("``", "`")


def unescaped(label: str) -> bytes:
    """The bytes of a label that is printed as a C string."""
    text = re.sub(r"\\(.)", lambda m: ESCAPES.get(m[1], m[1]), label)
    return text.encode("latin-1")


def column_of(match: re.Match[str]) -> Column:
    kind = GEOMETRIES.sub("GEOMETRY", match["type"]) + (match["unsigned"] or "")
    labels = LABEL.findall(match["labels"] or "")
    return (
        utf8(match["name"]),
        kind,
        not match["required"],
        tuple(decode(match["charset"], unescaped(label)) for label in labels),
        match["charset"],
        match["collation"],
    )


def known(path: Path) -> set[Table]:
    """The same from binlogkit's tables."""
    frame = bk.open(path).tables().astype(object)
    frame = frame.where(frame.notna(), None)
    found: set[Any] = set()
    for (db, table, _), rows in frame.groupby(["db", "table", "schema_version"], sort=False):
        records = rows.to_dict("records")
        keys = sorted((row["key"], row["column"]) for row in records if row["key"] is not None)
        columns = tuple(our_column(row) for row in records)
        found.add((db, table, columns, tuple(name for _, name in keys)))
    return found


def our_column(row: dict[Hashable, Any]) -> Column:
    kind = re.match(r"\w+(\([\d,]+\))?( unsigned)?", row["mysql_type"])
    assert kind is not None
    text = row["charset"] not in (None, "binary")
    return (
        row["column"],
        kind[0].upper(),
        row["nullable"],
        tuple(row["labels"] if row["labels"] is not None else ()),
        row["charset"] if text else None,
        row["collation"] if text else None,
    )


@pytest.mark.parametrize("described", CASES, ids=str)
@pytest.mark.gate(1)
def test_columns_agree(described: GoldenCase) -> None:
    for path in described.binlogs:
        lines = list(mysqlbinlog.read(path, options=["--print-table-metadata"]))
        theirs = printed(line.decode("latin-1").rstrip("\n") for line in lines)
        assert theirs
        assert theirs == known(path)
