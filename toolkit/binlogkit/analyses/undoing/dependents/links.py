"""The chains of dependences between changes of tables (see the package)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial, reduce

import numpy as np

from binlogkit.analyses.point_in_time.codes import Flags, Integers, runs
from binlogkit.analyses.references import Reference
from binlogkit.analyses.undoing.dependents.chains import (
    CHILD,
    DELETED,
    PARENT,
    SAME_ROW,
    UNIQUE,
    UNKNOWN,
    Links,
)
from binlogkit.analyses.undoing.dependents.events import TableChanges, changed_unit, exchanged
from binlogkit.analyses.undoing.dependents.values import (
    ValueColumn,
    beginning,
    compared,
    exact_codes,
    joined,
)
from binlogkit.constants import TableId


def of_rows(events: TableChanges, units: Iterable[Sequence[str]]) -> Iterator[Links]:
    """Dependences between changes of the same row; ``units``: columns that count as one."""
    every, life = np.arange(events.size), events.life
    number = events.first + every
    update = events.was & events.now
    inserts, deletes = ~events.was & events.now, events.was & ~events.now
    names = dict.fromkeys(name for part in events.parts for name in part.after)
    columns = [(name,) for name in names if name not in events.generated]
    finds = changed_unit(events, events.key)
    yield Links.of(SAME_ROW, life, every, number, inserts, update)
    yield Links.of(SAME_ROW, life, every, number, update, finds, ())
    yield Links.of(SAME_ROW, life, every, number, finds, update, ())
    yield Links.of(DELETED, life, every, number, events.now, deletes)
    for unit in (*columns, *(unit for unit in units if len(unit) > 1)):
        which = np.flatnonzero(changed_unit(events, unit))
        if len(which):
            both = np.ones(len(which), bool)
            yield Links.of(SAME_ROW, life[which], which, number[which], both, both, unit)
    yield from _of_layouts(events, update, update, life)
    one, all_of = np.zeros(events.size, np.int64), np.ones(events.size, bool)
    yield Links.of(UNKNOWN, one, every, number, events.unplaced, all_of)
    yield Links.of(UNKNOWN, one, every, number, all_of, events.unplaced)


def _of_layouts(
    events: TableChanges, after: Flags, before: Flags | None = None, chain: Integers | None = None
) -> Iterator[Links]:
    """Changes after an ALTER may depend on those before it: columns may have other names since."""
    every = np.arange(events.size)
    chain = np.zeros(events.size, np.int64) if chain is None else chain
    before = events.now if before is None else before
    layouts = list(dict.fromkeys(frozenset(part.after) for part in events.parts))
    for layout in layouts if len(layouts) > 1 else ():
        mine, number = events.of_layout(layout), events.first + every
        yield Links.of(UNKNOWN, chain, every, number, before & mine, after & ~mine)


def of_moves(events: TableChanges) -> Iterator[Links]:
    """Changes of rows that get another key later: by their own key the row is not found then.

    Of rows whose key has other names since, or is in no image, any that goes may be the one.
    """
    every, one = np.arange(events.size), np.zeros(events.size, np.int64)
    number, moved = events.first + every, changed_unit(events, events.key)
    yield Links.of(SAME_ROW, events.life, every, number, events.now, moved)
    goes = moved | (events.was & (~events.now | events.unplaced))
    yield Links.of(SAME_ROW, one, every, number, events.unplaced, goes)
    yield Links.of(SAME_ROW, one, every, number, events.now, events.was & events.unplaced)


def of_unique(
    events: TableChanges, key: Sequence[str], lengths: Sequence[int | None]
) -> Iterator[Links]:
    """A change that uses a value of a unique key depends on the one that freed it.

    ``lengths``: how much of each column the key holds; None for all.
    """
    if not set(key) <= set(events.columns):
        return
    columns = [
        (beginning(before, length), beginning(after, length))
        for (before, after), length in zip(map(events.full, key), lengths, strict=True)
    ]
    collations = [events.collations.get(name) for name in key]
    number = events.first + np.arange(events.size)
    yield from _matched(UNIQUE, columns, collations, number, exchanged(events, key), key)


def _matched(
    kind: int,
    columns: Sequence[tuple[ValueColumn, ValueColumn]],
    collations: Sequence[str | None],
    number: Integers,
    flags: tuple[Flags, Flags],
    key: Sequence[str],
) -> Iterator[Links]:
    """Chains of values of a key that changes free and use."""
    gives_up, takes = flags
    both = [compared(joined(pair), name) for pair, name in zip(columns, collations, strict=True)]
    size = len(number)
    missing = reduce(np.logical_or, (column.missing for column in both))
    null = reduce(np.logical_or, (column.null for column in both))
    side = np.concatenate([gives_up, takes])
    at = np.arange(2 * size)
    after = at >= size
    order = 2 * (at % size) + after
    which = np.flatnonzero(side & ~missing & ~null)
    codes = exact_codes(both)[which]
    taking = after[which]
    yield Links.of(kind, codes, order[which], number[which % size], ~taking, taking, key)
    lacks, some = missing & ~null, ~null
    give, take = np.append(gives_up, np.zeros(size, bool)), np.append(np.zeros(size, bool), takes)
    yield from _unknown(kind, order, np.append(number, number), give, take, lacks, some, key, key)


def _unknown(
    maybe: int, order: Integers, number: Integers, source: Flags, target: Flags, lacks: Flags,
    some: Flags, columns: Sequence[str] | None = None, by: Sequence[str] | None = None,
) -> Iterator[Links]:  # fmt: skip
    """Places that may depend on any before them, since one of the two values is not known.

    ``lacks``: where the value is not known; ``some``: where it is not NULL, or not known;
    ``maybe``, ``columns``, ``by``: see :class:`Links`.
    """
    for before, after in ((source & lacks, target & some), (source & some, target & lacks)):
        which = np.flatnonzero(before | after)
        one = np.zeros(len(which), np.int64)
        yield Links.of(
            UNKNOWN, one, order[which], number[which], before[which], after[which], columns, by,
            maybe,
        )  # fmt: skip


def of_expression(events: TableChanges, read: Sequence[str], *, elsewhere: bool = False) -> Links:
    """A change may use a value of a unique key over an expression that an earlier one freed.

    ``read``: the key's columns; nobody here computes its values. ``elsewhere``: only where that is
    another row's change.
    """
    gives_up, takes = exchanged(events, read)
    if elsewhere and takes.any():
        last = np.flatnonzero(takes)[-1]
        own = events.life == events.life[last]
        others = np.flatnonzero(takes & ~own).max(initial=-1)
        gives_up = gives_up & (np.where(own, others, last) > np.arange(events.size))
    one, number = np.zeros(events.size, np.int64), events.first + np.arange(events.size)
    return Links.of(UNKNOWN, one, np.arange(events.size), number, gives_up, takes, read, read)


def of_reference(
    key: Reference, parent: TableChanges | None, child: TableChanges | None, *, struck: bool
) -> Iterator[Links]:
    """A reference depends on what it refers to; removing that depends on removed references.

    ``struck``: it is not known which of the child's rows were deleted or changed with the parent's.
    """
    if parent is None or child is None or not (
        set(key.referenced) <= set(parent.columns) and set(key.columns) <= set(child.columns)
    ):  # fmt: skip
        return
    goes, comes = exchanged(parent, key.referenced)
    leaves, refers = exchanged(child, key.columns)
    cells = [
        [table.full(name) for name in names]
        for table, names in ((parent, key.referenced), (child, key.columns))
    ]
    collations = [
        either(parent.collations.get(p), child.collations.get(c))
        for p, c in zip(key.referenced, key.columns, strict=True)
    ]
    # Places: the parent's before, after, the child's before, after.
    columns = [
        compared(joined([*p, *c]), name) for p, c, name in zip(*cells, collations, strict=True)
    ]
    missing = reduce(np.logical_or, (column.missing for column in columns))
    null = reduce(np.logical_or, (column.null for column in columns))
    codes = exact_codes(columns)
    numbers = [table.first + np.arange(table.size) for table in (parent, child)]
    number = np.concatenate([n for n in numbers for _ in range(2)])
    seq = np.concatenate([t.seq for t in (parent, child) for _ in range(2)])
    known = ~(missing | null)
    sides = [goes, comes, leaves, refers]
    zeros = [np.zeros_like(side) for side in sides]

    def chains(kind: int, before: int, after: int, flags: list[Flags]) -> Iterator[Links]:
        sources, targets = list(zeros), list(zeros)
        sources[before], targets[after] = flags[before], flags[after]
        source, target = np.concatenate(sources), np.concatenate(targets)
        which = np.flatnonzero((source | target) & known)
        of, by = ((key.referenced, key.columns)[place > 1] for place in (before, after))
        yield Links.of(
            kind, codes[which], seq[which], number[which], source[which], target[which], of, by
        )
        lacks = missing & ~null
        yield from _unknown(kind, seq, number, source, target, lacks, ~null, of, by)

    yield from chains(CHILD, 1, 3, sides)
    yield from chains(PARENT, 2, 0, sides)
    if struck:
        yield from chains(UNKNOWN, 3, 0, [goes, comes, leaves, child.now])
        # A row whose reference, and key with it, may have followed the parent's.
        yield from chains(UNKNOWN, 1, 2, [goes, comes & parent.was, child.was, refers])


def of_distant(
    above: TableChanges, child: TableChanges, referenced: Iterable[Sequence[str]]
) -> Links:
    """Deleting rows of a table, or changing what others refer to (``referenced``), may delete or
    change any row of ``child``, by unlogged cascades."""
    size = child.size
    moved = [changed_unit(above, columns) for columns in referenced]
    strikes = above.was & np.logical_or.reduce([~above.now, *moved])
    number = np.append(child.first + np.arange(size), above.first + np.arange(above.size))
    before = np.append(child.now, np.zeros(above.size, bool))
    after = np.append(np.zeros(size, bool), strikes)
    one = np.zeros(len(number), np.int64)
    return Links.of(UNKNOWN, one, np.append(child.seq, above.seq), number, before, after)


def either(one: str | None, other: str | None) -> str | None:
    """The collation that treats more values as equal."""
    return other if one is not None and one.endswith("_bin") else one


def of_equal_rows(events: TableChanges, chosen: Flags, *, complete: bool) -> Iterator[Links]:
    """In a table without a key: removing a row depends on what left an equal one, if too few are
    there in the end.

    ``chosen``: which changes are undone; ``complete``: whether the log has the table's rows from
    its beginning.
    """
    yield from _of_layouts(events, events.was)
    size = events.size
    columns = [joined([events.cells(s, n) for s in ("before", "after")]) for n in events.columns]
    codes, at = exact_codes(columns), np.arange(2 * size)
    there, lacks = np.concatenate([events.was, events.now]), events.partial
    gives = at >= size
    order = 2 * (at % size) + gives
    every = np.ones(2 * size, bool)
    yield from _unknown(
        SAME_ROW, order, events.first + at % size, there & gives, there & ~gives, lacks, every
    )
    which = np.flatnonzero(there & ~lacks)
    which = which[np.lexsort((order[which], codes[which]))]
    if not len(which):
        return
    code = codes[which]
    first = runs(code)
    group = np.cumsum(first) - 1
    step = np.where(gives[which], 1, -1)
    total = np.cumsum(step)
    starts = np.flatnonzero(first)
    running = total - (total - step)[starts][group]
    lowest = np.minimum(np.minimum.reduceat(running, starts), 0)
    left = running[np.append(starts[1:], len(which)) - 1] - lowest
    mine = gives[which] & chosen[which % size]
    needed = np.bincount(group, mine, len(starts))
    scarce = (needed > left)[group]
    which, group = which[scarce], group[scarce]
    kind = SAME_ROW if complete else UNKNOWN
    change = events.first + which % size
    yield Links.of(kind, group, np.arange(len(which)), change, gives[which], ~gives[which])


def all_links(
    tables: Mapping[TableId, TableChanges], keys: Iterable[Reference], *, struck: bool
) -> list[Links]:
    """The chains between all changes of tables, except those of equal rows; ``struck``: whether
    foreign keys cascade without logging."""
    references, found = list(keys), list[Links]()
    for events in tables.values():
        if events.key:
            found += of_rows(events, units_of(events, references))
        for unique, lengths in events.uniques:
            found += of_unique(events, unique, lengths)
        found += map(partial(of_expression, events), events.expressions)
    for key in references:
        parent, child = tables.get(key.parent), tables.get(key.child)
        found += of_reference(key, parent, child, struck=struck and key.cascades)
    for above, name in _distant(references) if struck else ():
        if above in tables and name in tables:
            by = [key.referenced for key in references if key.parent == above and key.cascades]
            found.append(of_distant(tables[above], tables[name], by))
    return [links for links in found if len(links.chain)]


def units_of(events: TableChanges, references: Iterable[Reference]) -> list[tuple[str, ...]]:
    """The columns of a table that count as one: those of its keys, and of foreign keys."""
    units = [key for key, _ in events.uniques]
    for key in references:
        units += [key.columns] * (key.child == events.name)
        units += [key.referenced] * (key.parent == events.name)
    return list(dict.fromkeys(map(tuple, units)))


def _distant(references: Iterable[Reference]) -> set[tuple[TableId, TableId]]:
    """Tables whose rows cascades may reach through another table, each with the table above."""
    near = {(key.parent, key.child) for key in references if key.cascades}
    found, far = near, set[tuple[TableId, TableId]]()
    while found:
        found = {(a, c) for a, b in found for parent, c in near if parent == b} - far
        far |= found
    return far
