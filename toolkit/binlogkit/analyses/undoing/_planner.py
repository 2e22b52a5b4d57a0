"""Plans for many changes: what a statement sets, how it finds its row, why a change is refused."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.analyses._cells import Cells, constant_cells, image_cells
from binlogkit.analyses.point_in_time.codes import Integers
from binlogkit.analyses.point_in_time.conversion import LOST, defined_field
from binlogkit.analyses.references import Reference
from binlogkit.analyses.undoing._later_ddl import Fate
from binlogkit.analyses.undoing.blocked import Blocked
from binlogkit.analyses.undoing.cascaded_keys import Followed, UnknownChild
from binlogkit.analyses.undoing.plans import (
    ERROR_VALUE,
    KEPT,
    NO_CHANGE,
    NOT_COMMITTED,
    NOT_NULL,
    PLAN_SCHEMA,
    Chosen,
    PlanColumns,
    Reasons,
    no_texts,
)
from binlogkit.analyses.undoing.unchecked import Statements, Unchecked, nulls
from binlogkit.errors import UsageError, printable
from binlogkit.frames.schema import OPS, beyond_ascii, generated_columns, table_of
from binlogkit.frames.text_columns import Mask, Part, separated
from binlogkit.rows.ddl.keys import NO_ACTION
from binlogkit.rows.resolve import key_of
from binlogkit.rows.schema import Supposition

_INEXACT = frozenset(("float", "double", "json"))
_STAMPS = ("timestamp", "datetime")  # may have ON UPDATE CURRENT_TIMESTAMP
_NO_VALUES = (
    ("undecodable", "is not decodable"),
    ("json_diff", "is known only as a JSON diff"),
)
_WRITTEN = "a later statement that is logged as text may depend on it"
_KEYLESS = "a later change depends on it, and without a key its row is not found"
_OPPOSITE = {"insert": "delete", "delete": "insert", "update": "update"}


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a table's columns; ``key`` is empty for a table without one.

    ``supposed``: the names of suppositions in the table's definition; ``unsure``: text columns
    with an unknown character set, and the supposition about each.
    """

    kinds: Mapping[str, str]
    generated: frozenset[str]
    key: tuple[str, ...]
    supposed: tuple[str, ...] = ()
    unsure: Mapping[str, str] = field(default_factory=dict)

    def since(self, fate: Fate) -> Facts:
        """The facts of the table as later DDL left it."""
        came = {column for column, now in fate.generated.items() if now}
        generated = self.generated - fate.generated.keys() | came
        return replace(self, generated=generated, key=self._key_since(fate))

    def _key_since(self, fate: Fate) -> tuple[str, ...]:
        """The columns that identify a row in the end: of the key that it had, if that still does;
        else of another; none, if there is no other or the changes do not have its columns."""
        now = fate.definition
        if now is None:
            return () if fate.unkeyed else self.key
        whole = (key for key, lengths in now.uniques if not any(lengths))
        unique = [{*map(str.lower, key)} for key in whole]
        own = {*map(str.lower, self.key)}
        if not own or any(key <= own for key in unique):
            return self.key
        names = {name.lower(): name for name in self.kinds}
        key = [names.get(name.lower(), "") for name in key_of(now)[0]]
        return tuple(key) if all(key) else ()

    @classmethod
    def of(cls, schema: pa.Schema, key: Sequence[str] | None) -> Facts:
        """The facts in a canonical schema. UsageError: column types or the key are not known."""
        image = schema.field("after").type
        if not pa.types.is_struct(image):
            raise UsageError("typed changes are needed: before and after are text here")
        kinds, generated, unsure = {}, {*generated_columns(image)}, {}
        table = json.loads((schema.metadata or {}).get(b"binlogkit:table", b'["", ""]'))
        for column in image:
            name, facts = column.name, column.metadata or {}
            if b"binlogkit:kind" not in facts:
                raise UsageError(f"the type of column {name} is not known: schema is needed")
            kinds[name] = facts[b"binlogkit:kind"].decode()
            if kinds[name] == "text" and facts.get(b"binlogkit:charset_origin") == b"assumed":
                unsure[name] = Supposition.of_charset(table[0], table[1], name).name
        if key is None:
            stored = (schema.metadata or {}).get(b"binlogkit:key")
            if stored is None:
                raise UsageError("the table's key is not known: give it, or () if there is none")
            key = json.loads(stored)
        unknown = [name for name in key if name not in kinds]
        if unknown:
            raise UsageError(f"the table has no column {', '.join(unknown)}")
        supposed = tuple(json.loads((schema.metadata or {}).get(b"binlogkit:supposed", b"[]")))
        return cls(kinds, frozenset(generated), tuple(key), supposed, unsure)

    @property
    def unnamed(self) -> str | None:
        """The first column without a known name (``@1`` …)."""
        numbered = (n for n in self.kinds if n.startswith("@") and n[1:].isdecimal())
        return next(numbered, None)


@dataclass(frozen=True, slots=True)
class Planner:
    """Turns changes of one table into plans.

    ``outcomes``: of transactions that were not committed; ``fate``: what happened to the table
    afterwards; ``child``: a table of which unknown rows were deleted or changed by cascade;
    ``referring``: the foreign keys that refer to the table, by which statements could change or
    delete other rows unseen; ``blocked``: the changes that others depend on; ``unlabelled``: ENUM
    columns without an empty label; ``followed``: rows that are to go back with the table's;
    ``unchecked``: the foreign keys that the server must not check for some statements; ``filled``:
    columns that are NOT NULL in the end; ``twice``: by ``seq`` why statements would break a UNIQUE
    key (unique_since.py).
    """

    facts: Facts
    schema: pa.Schema
    backwards: bool
    outcomes: Mapping[int, str] | None
    fate: Fate | None = None
    child: UnknownChild | None = None
    referring: Sequence[Reference] = ()
    blocked: Blocked | None = None
    unlabelled: Container[str] = ()
    followed: Followed = field(default_factory=Followed)
    unchecked: Unchecked = field(default_factory=Unchecked)
    filled: Container[str] = ()
    twice: Mapping[int, str] = field(default_factory=dict)

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The plans of a batch as a frame."""
        there = [self.schema.field(n) for n in self.schema.names if n in batch.schema.names]
        batch = batch.select([f.name for f in there]).cast(pa.schema(there))
        frames = [columns.frame() for _, columns in self.columns(batch)]
        return pa.concat_batches(frames) if frames else PLAN_SCHEMA.empty_table().to_batches()[0]

    def columns(self, batch: pa.RecordBatch) -> Iterator[tuple[Any, PlanColumns]]:
        """The plans of a batch in the canonical schema: for each kind its rows."""
        ops = batch["op"].cast(pa.string())
        for op in OPS:
            rows = np.flatnonzero(pc.equal(ops, op))
            if len(rows):
                every = len(rows) == batch.num_rows
                yield rows, self._plans(batch if every else batch.take(pa.array(rows)), op)

    def _plans(self, batch: pa.RecordBatch, op: str) -> PlanColumns:
        before, after = image_cells(batch, "before"), image_cells(batch, "after")
        if op == "update":  # what is not in the after image was not changed
            after = {name: cells.over(before[name]) for name, cells in after.items()}
        old, new = (after, before) if self.backwards else (before, after)
        kind = _OPPOSITE[op] if self.backwards else op
        every, fate = np.ones(batch.num_rows, np.bool_), self.fate
        reasons, skipped, forced = Reasons(self._not_committed(batch)), ~every, ~every
        if self.blocked is not None:
            overwritten = self.blocked.forced(batch)
            forced = overwritten & bool(self.facts.key)
            there, why = reasons.none() & ~forced, self.blocked.reasons(batch)
            reasons.add(there, why)
            reasons.add(overwritten & ~forced, _KEYLESS)
            if fate is not None and fate.written is not None:  # the key alone may find another row
                written = forced if self.blocked.mode == "force" else there
                reasons.add(written, f"{_WRITTEN} {fate.written}")
            skipped = there & ~reasons.none() & self.blocked.skipped
        draft = _Draft(self.facts, kind, old, new, reasons, every, forced)
        draft.unlabelled, draft.auto, draft.whole = self.unlabelled, ~every, ~every
        draft.filled = self.filled
        if self.blocked is not None and self.blocked.mode == "merge" and kind == "update":
            draft.old, stands, draft.kept, draft.auto = self.blocked.merged(batch, old)
            computed = dict.fromkeys(self.facts.generated, every)  # also from what is kept
            draft.left = {**stands, **computed}
        if fate is not None and fate.refused is not None:
            reasons.add(every, fate.refused)
        elif self.facts.supposed:
            reasons.add(every, _supposed(*self.facts.supposed))
        elif self.facts.unnamed is None:
            draft.fill()
            draft.refuse_unsure()
            if fate is not None:
                draft.refuse_gone(fate)
                draft.fill_added(fate)
        else:
            reasons.add(every, f"the name of column {self.facts.unnamed} is not known")
        if self.child is not None and op == "delete":
            reasons.add(every, f"unknown rows of {self.child.table} were deleted with it")
        elif self.child is not None and op == "update":
            parts = (rows for c, rows in draft.set.items() if c.lower() in self.child.unset)
            lost = f"unknown rows of {self.child.table} lost their reference with it"
            reasons.add(_any(parts, every), lost)
        seqs = batch["seq"].to_numpy()
        made = draft.statements(batch)
        for key, rows in self.unchecked.without_parents(made):
            parent = printable(".".join(key.parent))
            reasons.add(rows, f"it would refer to {parent}, which is not there any more")
        checks, refusing = self.unchecked.checks(made, self.followed)
        free = _any((rows for _, rows in checks), every)  # no foreign key acts on these
        struck_by_key = draft.struck(self.referring, self.followed, seqs)
        struck = [(key, rows & ~free) for key, rows in struck_by_key]
        for key, rows in struck:
            if key.rows < 0:
                child = printable(".".join(key.child))
                reasons.add(
                    rows, f"rows of {child} may have had its value before, and would change along"
                )
        if self.followed.lost:
            reasons.add(every, self.followed.reasons(seqs))
        if self.twice:
            reasons.add(every, pa.array(map(self.twice.get, seqs.tolist()), pa.string()))
        last, known = dict[str, Cells](), dict[str, Mask]()
        if self.blocked is not None:
            last, known = self.blocked.stands(batch, after)
            reasons.add(self.blocked.along(batch), "a change that belongs to it is refused")
        there = reasons.none()
        left = there & _any(draft.left_out.values(), every)
        exact = self.facts.key and _INEXACT.isdisjoint(map(self.facts.kinds.get, self.facts.key))
        limit_one = there & (not exact and draft.alike)
        notes, keeps = Reasons(no_texts(len(every))), Reasons(no_texts(len(every)))
        notes.add(left, "not compared: ", *_names(draft.left_out))
        held = there | draft.whole
        draft.kept = {column: rows & held for column, rows in draft.kept.items()}
        keeps.add(_any(draft.kept.values(), every), "keeps later values: ", *_names(draft.kept))
        note = pc.coalesce(
            pc.binary_join_element_wise(notes.texts, keeps.texts, ", "), notes.texts, keeps.texts
        )
        unreferred = [
            (key, left) for key, rows in (*struck, *refusing) if (left := rows & there).any()
        ]
        return PlanColumns(
            batch, self.backwards, kind, draft.chosen(draft.set, draft.new),
            draft.chosen(draft.where, draft.old), limit_one, reasons.texts, note,
            list(draft.same()), unreferred, skipped | draft.whole,
            draft.chosen(draft.kept, draft.old, held), draft.chosen(known, last, every),
            [(check, rows & there) for check, rows in checks],
        )  # fmt: skip

    def _not_committed(self, batch: pa.RecordBatch) -> pa.StringArray:
        """Why changes are refused before they are examined."""
        if not self.outcomes or "tx" not in batch.schema.names:
            return no_texts(batch.num_rows)
        texts = [f"{NOT_COMMITTED}{o}" for o in self.outcomes.values()]
        numbers = pa.array(list(self.outcomes), pa.int64())
        return pa.array(texts, pa.string()).take(pc.index_in(batch["tx"], numbers))


@dataclass(slots=True)
class _Draft:
    """Plans of one kind being made: by column the rows in whose statements it occurs.

    ``old``: the rows as the statements find them; ``new``: as they leave them; ``forced``: which of
    them are found by their keys alone; ``left_out``: what no condition compares; ``unlabelled``:
    ENUM columns without an empty label, in which an empty text is the error value; ``filled``:
    columns that take no NULL; ``stamps``:
    columns added since, with ON UPDATE CURRENT_TIMESTAMP; ``alike``: whether rows that are equal in
    what is compared are equal in all columns. Of the mode merge: ``left``: the cells
    that later changes left, which are not written; ``kept``: those of them that the change set;
    ``auto``: the rows in which it set others of them; ``whole``: those in which it set no others.
    """

    facts: Facts
    kind: str
    old: Mapping[str, Cells]
    new: Mapping[str, Cells]
    reasons: Reasons
    every: Mask
    forced: Mask
    set: dict[str, Mask] = field(default_factory=dict)
    where: dict[str, Mask] = field(default_factory=dict)
    left_out: dict[str, Mask] = field(default_factory=dict)
    dropped: frozenset[str] = frozenset()
    stamps: Sequence[str] = ()
    alike: bool = True
    unlabelled: Container[str] = ()
    filled: Container[str] = ()
    left: Mapping[str, Mask] = field(default_factory=dict)
    kept: Mapping[str, Mask] = field(default_factory=dict)
    auto: Mask = field(init=False)
    whole: Mask = field(init=False)

    def fill(self) -> None:
        """Choose the columns; refuse the rows for which that is impossible."""
        if self.kind == "insert":
            self._fill_insert()
            return
        changed: Mapping[str, Mask] = {}
        if self.kind == "update":
            changed = self._changed()
            self.set = {c: rows for c, rows in changed.items() if c not in self.facts.generated}
            self._refuse_unwritable()
            nothing = ~_any(self.set.values(), self.every) & self.reasons.none()
            self.whole = nothing & _any([self.auto, *self.kept.values()], self.every)
            self.reasons.add(self.whole, KEPT)
            self.reasons.add(nothing, NO_CHANGE)
        self._fill_where(changed)

    def refuse_gone(self, fate: Fate) -> None:
        """Refuse the rows whose statements use columns that have changed since.

        A generated column that is computed in another way since guards no row: what it is computed
        from does.
        """
        self.dropped = frozenset(fate.dropped)
        for column in (
            self.facts.generated - fate.generated.keys() - {*fate.dropped, *self.facts.key}
        ):
            if column in fate.gone:
                self.where.pop(column, None)
        for column, reason in fate.gone.items():
            standing = [part[column] for part in (self.set, self.where) if column in part]
            self.reasons.add(_any(standing, self.every), reason)

    def fill_added(self, fate: Fate) -> None:
        """Give restored rows the values that they would have in columns added since; rows without a
        key are found by these, too."""
        self.stamps = [name for name, added in fate.added.items() if added.column.on_update_now]
        for name, added in fate.added.items():
            if added.column.generated or (self.kind != "insert" and self.facts.key):
                continue
            if self.kind == "insert" and added.column.auto_increment:
                continue
            if added.column.auto_increment or added.value is LOST:
                self.alike = False
                why = f"column {name} was added later, and what the row would have in it is not"
                if self.kind == "insert":
                    self.reasons.add(self.every, f"{why} known {added.place}")
                continue
            cells = constant_cells(defined_field(replace(added.column, name=name)), added.value,
                                   len(self.every))  # fmt: skip
            kind = (cells.field.metadata or {})[b"binlogkit:kind"].decode()
            self.facts = replace(self.facts, kinds={**self.facts.kinds, name: kind})
            if self.kind == "insert":
                self.new, self.set[name] = {**self.new, name: cells}, self.every
            elif _not_comparable(cells, kind).any():
                self.alike = False
            else:
                self.old, self.where[name] = {**self.old, name: cells}, self.every

    def refuse_unsure(self) -> None:
        """Refuse statements that would differ if a column had another character set."""
        for part, cells in ((self.set, self.new), (self.where, self.old)):
            for column in self.facts.unsure.keys() & part.keys():
                rows = part[column] & self._unsure(column, cells[column])
                self.reasons.add(rows, _supposed(self.facts.unsure[column]))

    def _unsure(self, column: str, cells: Cells) -> Mask:
        """Where a value is a different text in another character set that its column may have."""
        if column not in self.facts.unsure or not pa.types.is_string(cells.array.type):
            return np.zeros_like(self.every)
        return np.array(beyond_ascii(cells.array), np.bool_)

    def _fill_insert(self) -> None:
        self.set = {c: self.every for c in self.new if c not in self.facts.generated}
        missing = {c: self.new[c].missing for c in self.set}
        self._refuse_missing("not in the image", missing)
        self._refuse_unwritable()

    def _changed(self) -> dict[str, Mask]:
        """Where values differ; an undo needs every value before."""
        changed = {}
        for column, old in self.old.items():
            new, written = self.new[column], ~self.left.get(column, np.zeros_like(self.every))
            self.reasons.add(
                written & ~old.missing & new.missing,
                f"the value of {column} before the change is not in the image",
            )
            changed[column] = written & ~new.missing & (old.missing | old.differs(new))
        return changed

    def _fill_where(self, changed: Mapping[str, Mask]) -> None:
        """The columns that find and guard the row, and those that cannot be compared."""
        facts, old = self.facts, self.old
        self._refuse_missing("the key is not in the image", {c: old[c].missing for c in facts.key})
        inexact = [c for c in facts.key if facts.kinds[c] in _INEXACT]
        if inexact:
            self.reasons.add(self.every, f"the key cannot be compared: {', '.join(inexact)}")
        if not facts.key:
            missing = {c: cells.missing for c, cells in old.items()}
            self._refuse_missing("no key, and not in the image", missing)
        self.where = dict.fromkeys(facts.key, self.every)
        for column, cells in old.items():
            if column in facts.key:
                continue
            guards = ~cells.missing & ~self.forced
            if self.kind == "update" and facts.key:
                guards &= changed[column]
            left = guards & (
                _not_comparable(cells, facts.kinds[column]) | self._unsure(column, cells)
            )
            self.where[column], self.left_out[column] = guards & ~left, left
        if not facts.key:  # rows that are equal in the compared columns may still differ
            self._refuse_missing("no key, and not compared", self.left_out)
        nothing = ~_any(self.where.values(), self.every)
        self.reasons.add(nothing, "no column can be compared: ", *_names(self.left_out))
        self._refuse_unreadable(self.where, old)

    def _refuse_missing(self, what: str, missing: Mapping[str, Mask]) -> None:
        rows = _any(missing.values(), self.every)
        if rows.any():
            self.reasons.add(rows, f"{what}: ", *_names(missing))

    def _refuse_unwritable(self) -> None:
        """Refuse values that are not known, and those that no server accepts."""
        self._refuse_unreadable(self.set, self.new)
        for column, rows in self.set.items():
            if column in self.filled:
                null = rows & nulls([self.new[column]])
                self.reasons.add(null, f"column {printable(column)}{NOT_NULL}")
            if self.facts.kinds[column] != "enum":
                continue
            values, error = self.new[column].array, None
            if pa.types.is_integer(values.type):
                error = pc.equal(values, 0)
            elif column in self.unlabelled:
                error = pc.equal(values.cast(pa.string()), "")
            if error is not None:
                held = rows & np.array(error.fill_null(False), np.bool_)
                self.reasons.add(held, f"column {printable(column)}{ERROR_VALUE}")

    def _refuse_unreadable(self, columns: Mapping[str, Mask], cells: Mapping[str, Cells]) -> None:
        for column, rows in columns.items():
            for word, what in _NO_VALUES:
                if cells[column].special:
                    unreadable = rows & cells[column].holds(word)
                    self.reasons.add(unreadable, f"a value of {column} {what}")

    def statements(self, batch: pa.RecordBatch) -> Statements:
        """What the statements do."""
        table, seqs = table_of(batch), batch["seq"].to_numpy()
        files, positions = (batch[name].to_pylist() for name in ("file", "pos"))
        places = [*zip(files, positions, strict=True)]
        return Statements(
            table, self.kind, self.facts.key, self.old, self.new, self.set, self.where, seqs, places
        )

    def same(self) -> Iterator[tuple[str, Mask]]:
        """The columns that an update must leave as they are, and a server may set by itself."""
        there, facts = self.reasons.none(), self.facts
        for column in self.old if self.kind == "update" else ():
            if facts.kinds[column] in _STAMPS and column not in facts.generated | self.dropped:
                rows = there & ~self.set.get(column, np.zeros_like(there))
                if rows.any():
                    yield column, rows
        if self.kind == "update" and there.any():
            yield from ((column, there) for column in self.stamps)

    def struck(
        self, referring: Iterable[Reference], followed: Followed, seqs: Integers
    ) -> Iterator[tuple[Reference, Mask]]:
        """The foreign keys by which statements change or delete other rows, with how many may be
        there, and where.

        With a deleted row, others would be deleted or lose their reference; an update can have this
        effect, too. By a key that cascades updates, those that followed the row go back with it.
        """
        if self.kind == "delete":
            yield from ((key, self.every) for key in referring if key.on_delete != NO_ACTION)
        for key in referring if self.kind == "update" else ():
            if key.on_update not in ("SET NULL", "CASCADE") or key.child == key.parent:
                continue  # InnoDB refuses such changes within one table
            wanted = {column.lower() for column in key.referenced}
            touched = [rows for c, rows in self.set.items() if c.lower() in wanted]
            rows = _any(touched, self.every)
            counts = followed.by(key, seqs)
            for count in np.unique(counts[rows]).tolist():
                yield replace(key, rows=count), rows & (counts == count)

    def chosen(
        self, columns: Mapping[str, Mask], cells: Mapping[str, Cells], there: Mask | None = None
    ) -> list[Chosen]:
        """The columns with their cells, in some rows: by default in those that are not refused."""
        there, facts = self.reasons.none() if there is None else there, self.facts
        found = [
            Chosen(facts.kinds[c], c in facts.generated, cells[c], rows & there)
            for c, rows in columns.items()
        ]
        return [chosen for chosen in found if chosen.rows.any()]


def _supposed(*names: str) -> str:
    """Why there is no plan based on suppositions."""
    which = ", ".join(map(printable, names))
    return f"it rests on what is only supposed ({which}); suppose=, --suppose accept it by its name"


def _not_comparable(cells: Cells, kind: str) -> Mask:
    """Where a value cannot be in a condition (docs/traps.md, "Inexact values")."""
    rows = cells.holds("undecodable") | cells.holds("json_diff")
    if kind in _INEXACT:
        rows |= np.array(cells.array.is_valid(), np.bool_)
        rows[list(cells.special)] = True
    return rows


def _any(masks: Iterable[Mask], like: Mask) -> Mask:
    """The rows in any of the masks."""
    found = np.zeros_like(like)
    for mask in masks:
        found |= mask
    return found


def _names(columns: Mapping[str, Mask]) -> list[Part]:
    return separated([(rows, [column]) for column, rows in columns.items()], ", ")
