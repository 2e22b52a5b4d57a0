"""Plans made of one change after the other: slow, and plain to read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from binlogkit.analyses.undoing.plans import ERROR_VALUE
from binlogkit.errors import printable
from tests.reference.binlogkit_reference.records import image_records

Row = dict[str, Any]
INEXACT = ("float", "double", "json")
OPPOSITE = {"insert": "delete", "delete": "insert", "update": "update"}


class Refused(Exception):
    """A change has no plan; the message is the reason."""


def plans_of(
    batch: pa.RecordBatch, outcomes: Mapping[int, str], *, backwards: bool
) -> Iterator[Row]:
    """The plan of each row of a batch in the canonical schema, in the batch's order."""
    names = ("source", "file", "pos", "inner", "row", "gtid", "timestamp", "db", "table")
    images = zip(image_records(batch, "before"), image_records(batch, "after"), strict=True)
    table = Table(batch.schema)
    for row, (before, after) in zip(batch.to_pylist(), images, strict=True):
        op = row["op"]
        if before is not None and after is not None:
            after = before | after  # what is not in the image after was not changed
        old, new = (after, before) if backwards else (before, after)
        plan: Row = {"step": -row["seq"] if backwards else row["seq"]}
        plan |= {name: row[name] for name in names}
        plan |= {"kind": OPPOSITE[op] if backwards else op, "set": [], "keep": [], "where": []}
        plan |= {
            "unreferred": [],
            "unchecked": [],
            "limit_one": False,
            "refused": None,
            "skipped": False,
        }
        plan |= {"later": [], "note": None}
        try:
            if row["tx"] in outcomes:
                raise Refused(f"its transaction was not committed: {outcomes[row['tx']]}")
            yield plan | table.plan(plan["kind"], old or {}, new or {})
        except Refused as reason:
            yield plan | {"refused": str(reason)}


class Table:
    """What plans need to know of a table, from the schema of its changes."""

    def __init__(self, schema: pa.Schema) -> None:
        facts = {field.name: field.metadata for field in schema.field("after").type}
        self.kinds = {name: f[b"binlogkit:kind"].decode() for name, f in facts.items()}
        self.generated = {name for name, f in facts.items() if f[b"binlogkit:generated"]}
        stamps = (c for c, kind in self.kinds.items() if kind in ("timestamp", "datetime"))
        self.stamps = [c for c in stamps if c not in self.generated]
        self.key: list[str] = json.loads(schema.metadata[b"binlogkit:key"])
        inexact = ("float", "double", "json")
        self.several = not self.key or any(self.kinds[name] in inexact for name in self.key)

    def plan(self, kind: str, old: Row, new: Row) -> Row:
        """``old``: the row as the statement finds it; ``new``: as it leaves it."""
        for name in self.kinds:
            if name.startswith("@") and name[1:].isdecimal():
                raise Refused(f"the name of column {name} is not known")
        if kind == "insert":
            return {"set": self.taken(self.written(new), new), "limit_one": self.several}
        changed: list[str] = []
        written: list[Row] = []
        if kind == "update":
            changed = self.changed(old, new)
            written = self.taken([c for c in changed if c not in self.generated], new)
            if not written:
                raise Refused("no column changes")
        wanted, left_out = self.condition(kind, old, changed)
        names = {item["column"] for item in written}
        return {
            "set": written,
            "keep": [c for c in self.stamps if c not in names] if kind == "update" else [],
            "where": self.items(wanted, old),
            "limit_one": self.several,
            "note": f"not compared: {', '.join(left_out)}" if left_out else None,
        }

    def written(self, row: Row) -> list[str]:
        columns = [c for c in self.kinds if c not in self.generated]
        missing = [c for c in columns if c not in row]
        if missing:
            raise Refused(f"not in the image: {', '.join(missing)}")
        return columns

    def changed(self, old: Row, new: Row) -> list[str]:
        changed = []
        for column in self.kinds:
            if column in old and column not in new:
                raise Refused(f"the value of {column} before the change is not in the image")
            if column in new and (column not in old or not equal(old[column], new[column])):
                changed.append(column)
        return changed

    def condition(self, kind: str, old: Row, changed: Sequence[str]) -> tuple[list[str], list[str]]:
        lost = [c for c in self.key if c not in old]
        if lost:
            raise Refused(f"the key is not in the image: {', '.join(lost)}")
        inexact = [c for c in self.key if self.kinds[c] in INEXACT]
        if inexact:
            raise Refused(f"the key cannot be compared: {', '.join(inexact)}")
        missing = [c for c in self.kinds if c not in old]
        if not self.key and missing:
            raise Refused(f"no key, and not in the image: {', '.join(missing)}")
        whole = kind == "delete" or not self.key
        guards = [
            c for c in self.kinds if c in old and c not in self.key and (whole or c in changed)
        ]
        left_out = [c for c in guards if not self.comparable(c, old[c])]
        if not self.key and left_out:
            raise Refused(f"no key, and not compared: {', '.join(left_out)}")
        wanted = [*self.key, *(c for c in guards if c not in left_out)]
        if not wanted:
            raise Refused(f"no column can be compared: {', '.join(left_out)}")
        return wanted, left_out

    def comparable(self, column: str, value: object) -> bool:
        return not isinstance(value, dict) and (value is None or self.kinds[column] not in INEXACT)

    def taken(self, columns: Sequence[str], row: Row) -> list[Row]:
        """Items that a server takes."""
        items = self.items(columns, row)
        for item in items:
            if item["type"] == "enum" and item["value"] == 0:
                raise Refused(f"column {printable(item['column'])}{ERROR_VALUE}")
        return items

    def items(self, columns: Sequence[str], row: Row) -> list[Row]:
        return [self.item(column, row.get(column)) for column in columns]

    def item(self, column: str, value: object) -> Row:
        if isinstance(value, dict):
            what = "is not decodable" if "undecodable" in value else "is known only as a JSON diff"
            raise Refused(f"a value of {column} {what}")
        kind, generated = self.kinds[column], column in self.generated
        return {"column": column, "value": value, "type": kind, "generated": generated}


def equal(one: object, other: object) -> bool:
    """Whether two values in the contract's form are the same; a JSON diff is always a change."""
    if isinstance(one, dict) or isinstance(other, dict):
        return one == other and isinstance(one, dict) and "undecodable" in one
    return one == other and type(one) is type(other)
