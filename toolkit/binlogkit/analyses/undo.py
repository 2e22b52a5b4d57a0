"""Which statements take changes back, or make them again: plans, no SQL (reports/sql.py has that).

Undo runs backwards. It sets only the columns that a change touched, finds the row by its key
*after* the change, and guards on the values that the change left: where somebody has touched the
row since, the statement finds nothing instead of reverting that work (TRAPS.md 9, 23). FLOAT,
DOUBLE and JSON never stand in a condition (38). What cannot be taken back is refused, with the
reason.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import narwhals as nw

from binlogkit.analyses._declare import outputs
from binlogkit.analyses._frames import FrameT, is_spark, lazy, map_arrow, records, to_arrow
from binlogkit.analyses._savepoints import is_undone, undone_ranges
from binlogkit.errors import UsageError
from binlogkit.frames.records import image_records

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["PLANS", "mappings", "redo", "undo"]

PLANS = outputs(
    ("step", "int64", "order of execution: rising"),
    ("source", "string?", "the server's UUID, or the name the user gave"),
    ("file", "string", "file of the change"),
    ("pos", "int64", "position of its event"),
    ("inner", "int64?", "its number inside a payload, null outside"),
    ("row", "int64", "the change's number in its event"),
    ("gtid", "string?", "GTID of its transaction, null when anonymous"),
    ("timestamp", "int64", "seconds since 1970 UTC"),
    ("db", "string", "database"),
    ("table", "string", "table"),
    ("kind", "string", "what the statement does: insert, update or delete"),
    ("set", "list<item>", "columns to write; an item has column, value (JSON), type, generated"),
    ("where", "list<item>", "what finds the row and guards it, items as in set"),
    ("limit_one", "boolean", "rows equal in every column may be there: only one is meant"),
    ("refused", "string?", "why there is no statement, null where there is one"),
    ("note", "string?", "what the statement does not check, null if nothing"),
)

_INEXACT = ("float", "double", "json")
_STAMPS = ("timestamp", "datetime")  # may have ON UPDATE CURRENT_TIMESTAMP


def undo(
    changes: FrameT,
    *,
    key: Sequence[str] | None = None,
    transactions: FrameT | None = None,
    statements: FrameT | None = None,
    schema: pa.Schema | None = None,
) -> FrameT:
    """Plans that take ``changes`` back, last change first (:data:`PLANS`).

    ``changes``: typed, of one table, all of them meant. ``key``: the key's columns, empty for a
    table without one; taken from the schema's metadata if None. ``transactions``: the ledger;
    changes of transactions that were not committed are then refused, there is nothing to take
    back; ``statements``: ``log.statements()``, which tells what ROLLBACK TO SAVEPOINT took back:
    such changes have no plan. ``schema``: the canonical Arrow schema, needed for a Spark frame,
    which loses the fields' metadata. UsageError where column types or the key
    cannot be told.
    """
    changes = _happened(changes, statements)
    return _plan(changes, key, transactions, schema, backwards=True)


def redo(
    changes: FrameT,
    *,
    key: Sequence[str] | None = None,
    transactions: FrameT | None = None,
    statements: FrameT | None = None,
    schema: pa.Schema | None = None,
) -> FrameT:
    """Plans that make ``changes`` again, first change first; the arguments are those of undo."""
    changes = _happened(changes, statements)
    return _plan(changes, key, transactions, schema, backwards=False)


def mappings(plans: Any) -> Iterator[dict[str, Any]]:
    """Plans as reports/sql.py takes them: one mapping each, values in the contract's JSON form."""
    for row in to_arrow(plans).to_pylist():
        for part in ("set", "where"):
            row[part] = [item | {"value": json.loads(item["value"])} for item in row[part]]
        yield row


def _plan(
    changes: FrameT,
    key: Sequence[str] | None,
    transactions: FrameT | None,
    schema: pa.Schema | None,
    *,
    backwards: bool,
) -> FrameT:
    frame: Any = changes
    lazy(frame, ("seq", "op", "before", "after", "db", "table"))
    if schema is None:
        if is_spark(changes):
            raise UsageError("a Spark frame does not carry the columns' types: schema is needed")
        schema = to_arrow(changes).schema
    outcomes = _outcomes(transactions)
    planner = _Planner(_facts(schema, key), schema, backwards, outcomes)
    return map_arrow(changes, planner, plan_schema(), sort="step")


def _happened(changes: FrameT, statements: Any) -> FrameT:
    """The changes without those that a ROLLBACK TO SAVEPOINT took back."""
    undone = is_undone(undone_ranges(statements))
    if undone is None:
        return changes
    frame: Any = changes
    kept: FrameT = nw.to_native(nw.from_native(frame).lazy().filter(~undone))
    return kept


def _outcomes(transactions: Any) -> Mapping[int, str] | None:
    """The outcome of every transaction that was not committed; None without the ledger."""
    if transactions is None:
        return None
    ended = lazy(transactions, ("tx", "outcome")).filter(nw.col("outcome") != "committed")
    return {row["tx"]: row["outcome"] for row in records(ended.select("tx", "outcome"))}


def plan_schema() -> pa.Schema:
    """The Arrow schema of :data:`PLANS`."""
    import pyarrow as pa

    item = pa.struct(
        {"column": pa.string(), "value": pa.string(), "type": pa.string(), "generated": pa.bool_()}
    )
    types = {
        "int64": pa.int64(),
        "string": pa.string(),
        "boolean": pa.bool_(),
        "list<item>": pa.list_(item),
    }
    return pa.schema([pa.field(o.name, types[o.type]) for o in PLANS])


@dataclass(frozen=True, slots=True)
class _Facts:
    """What is known of a table's columns; ``key`` is empty for a table without one."""

    kinds: dict[str, str]
    generated: frozenset[str]
    key: tuple[str, ...]

    def item(self, column: str, value: object) -> dict[str, Any]:
        """A column and a value as a plan has them."""
        return {
            "column": column,
            "value": json.dumps(value, ensure_ascii=False),
            "type": self.kinds[column],
            "generated": column in self.generated,
        }


def _facts(schema: pa.Schema, key: Sequence[str] | None) -> _Facts:
    import pyarrow as pa

    image = schema.field("after").type
    if not pa.types.is_struct(image):
        raise UsageError("typed changes are needed: before and after are text here")
    kinds, generated = {}, set()
    for field in image:
        facts = field.metadata or {}
        if b"binlogkit:kind" not in facts:
            raise UsageError(f"the type of column {field.name} cannot be told: schema is needed")
        kinds[field.name] = facts[b"binlogkit:kind"].decode()
        if facts.get(b"binlogkit:generated"):
            generated.add(field.name)
    if key is None:
        stored = (schema.metadata or {}).get(b"binlogkit:key")
        if stored is None:
            raise UsageError("the table's key cannot be told: give it, or () if there is none")
        key = json.loads(stored)
    unknown = [name for name in key if name not in kinds]
    if unknown:
        raise UsageError(f"the table has no column {', '.join(unknown)}")
    return _Facts(kinds, frozenset(generated), tuple(key))


class _Refused(Exception):
    """A change has no plan; the message is the reason."""


@dataclass(frozen=True, slots=True)
class _Planner:
    """Turns record batches of changes into record batches of plans, row by row."""

    facts: _Facts
    schema: pa.Schema
    backwards: bool
    outcomes: Mapping[int, str] | None

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The plans of a batch, in the order of its rows."""
        import pyarrow as pa

        batch = batch.select([n for n in self.schema.names if n in batch.schema.names])
        batch = batch.cast(pa.schema([self.schema.field(n) for n in batch.schema.names]))
        names = [o.name for o in PLANS if o.name in batch.schema.names]
        place = {name: batch[name].to_pylist() for name in names}
        seqs, ops = batch["seq"].to_pylist(), batch["op"].to_pylist()
        numbers = batch["tx"].to_pylist() if "tx" in batch.schema.names else [None] * len(seqs)
        images = zip(image_records(batch, "before"), image_records(batch, "after"), strict=True)
        rows = []
        for i, (before, after) in enumerate(images):
            row = {name: values[i] for name, values in place.items()}
            row["step"] = -seqs[i] if self.backwards else seqs[i]
            row |= self.plan(ops[i], before, after, numbers[i])
            rows.append(row)
        return pa.RecordBatch.from_pylist(rows, schema=plan_schema())

    def plan(
        self,
        op: str,
        before: dict[str, Any] | None,
        after: dict[str, Any] | None,
        number: int | None,
    ) -> dict[str, Any]:
        """Kind, set, where and the rest of one change's plan."""
        if before is not None and after is not None:
            after = before | after  # what is not in the image after was not changed
        old, new = (after, before) if self.backwards else (before, after)
        kind = _OPPOSITE[op] if self.backwards else op
        result: dict[str, Any] = {
            "kind": kind,
            "set": [],
            "where": [],
            "limit_one": False,
            "refused": None,
            "note": None,
        }
        try:
            self._check(number)
            left_out = self._fill(result, kind, old, new)
        except _Refused as reason:
            return result | {"set": [], "where": [], "refused": str(reason)}
        # Rows that are equal in every column are all the same one; rows that are equal in those
        # that can be compared are not: without LIMIT the statement then changes more than one
        # row, which the script takes for a failure.
        result["limit_one"] = not self.facts.key and kind != "insert" and not left_out
        if left_out:
            result["note"] = f"not compared: {', '.join(left_out)}"
        return result

    def _check(self, number: int | None) -> None:
        outcome = None if self.outcomes is None or number is None else self.outcomes.get(number)
        if outcome is not None:
            raise _Refused(f"its transaction was not committed: {outcome}")
        for name in self.facts.kinds:
            if name.startswith("@") and name[1:].isdecimal():
                raise _Refused(f"the name of column {name} is not known")

    def _fill(
        self,
        result: dict[str, Any],
        kind: str,
        old: dict[str, Any] | None,
        new: dict[str, Any] | None,
    ) -> list[str]:
        """Fill ``set`` and ``where``; the columns that no condition compares.

        ``old``: the row as the statement finds it; ``new``: as it leaves it.
        """
        if kind == "insert":
            assert new is not None
            result["set"] = [self._value(c, new) for c in self._written(new)]
            return []
        assert old is not None
        changed: list[str] = []
        if kind == "update":
            assert new is not None
            changed = self._changed(old, new)
            result["set"] = [self._value(c, new) for c in changed if c not in self.facts.generated]
            if not result["set"]:
                raise _Refused("no column changes")
        wanted, left_out = self._condition(kind, old, changed)
        result["where"] = [self._value(c, old) for c in wanted]
        return left_out

    def _written(self, row: dict[str, Any]) -> list[str]:
        columns = [c for c in self.facts.kinds if c not in self.facts.generated]
        missing = [c for c in columns if c not in row]
        if missing:
            raise _Refused(f"not in the image: {', '.join(missing)}")
        return columns

    def _changed(self, old: dict[str, Any], new: dict[str, Any]) -> list[str]:
        """Columns whose value differs; an undo needs every value before."""
        changed = []
        for column in self.facts.kinds:
            if column in old and column in new:
                if not _equal(old[column], new[column]):
                    changed.append(column)
            elif column in old:
                raise _Refused(f"the value of {column} before the change is not in the image")
            elif column in new:
                changed.append(column)
        return changed

    def _condition(
        self, kind: str, old: dict[str, Any], changed: Sequence[str]
    ) -> tuple[list[str], list[str]]:
        """The columns that find and guard the row, and those that cannot be compared."""
        facts = self.facts
        lost = [c for c in facts.key if c not in old]
        if lost:
            raise _Refused(f"the key is not in the image: {', '.join(lost)}")
        inexact = [c for c in facts.key if facts.kinds[c] in _INEXACT]
        if inexact:
            raise _Refused(f"the key cannot be compared: {', '.join(inexact)}")
        if not facts.key:
            missing = [c for c in facts.kinds if c not in old]
            if missing:
                raise _Refused(f"no key, and not in the image: {', '.join(missing)}")
        whole = kind == "delete" or not facts.key
        stamps = {c for c, k in facts.kinds.items() if k in _STAMPS and c in old}
        guards = [
            c
            for c in facts.kinds
            if c in old and c not in facts.key and (whole or c in changed or c in stamps)
        ]
        left_out = [c for c in guards if not self._comparable(c, old[c])]
        wanted = [*facts.key, *(c for c in guards if c not in left_out)]
        if not wanted:
            raise _Refused(f"no column can be compared: {', '.join(left_out)}")
        return wanted, left_out

    def _comparable(self, column: str, value: object) -> bool:
        if isinstance(value, dict):
            return False
        return value is None or self.facts.kinds[column] not in _INEXACT

    def _value(self, column: str, row: dict[str, Any]) -> dict[str, Any]:
        value = row.get(column)
        if isinstance(value, dict):
            what = "is not decodable" if "undecodable" in value else "is known as a difference only"
            raise _Refused(f"a value of {column} {what}")
        return self.facts.item(column, value)


_OPPOSITE = {"insert": "delete", "delete": "insert", "update": "update"}


def _equal(one: object, other: object) -> bool:
    """Whether two values in the contract's form are the same; a JSON diff is always a change."""
    if isinstance(one, dict) or isinstance(other, dict):
        return one == other and isinstance(one, dict) and "undecodable" in one
    return one == other and type(one) is type(other)
