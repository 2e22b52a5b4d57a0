"""Whose changes are chosen, and what later ones depend on them: sentences for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from binlogkit.analyses.undoing.dependents.chains import KINDS

if TYPE_CHECKING:
    from binlogkit.analyses.point_in_time.boundary import Boundary
    from binlogkit.analyses.undoing.dependents.found import Dependences

_SUM = "changes"
_LISTED = 10  # transactions, connections and changes that are listed
_DONE = {
    "refuse": "refused",
    "skip": "skipped",
    "force": "undone whatever their rows have become",
    "merge": "refused",
}


def chosen(changes: Sequence[pa.RecordBatch]) -> tuple[str, ...]:
    """Which transactions and connections made the changes, in sentences; if few, with their
    counts."""
    names = ["tx", "gtid", "thread_id"]
    parts = [pa.Table.from_batches([batch.select(names)]) for batch in changes]
    if not sum(part.num_rows for part in parts):
        return ()
    facts = [part.group_by(names).aggregate([([], "count_all")]) for part in parts]
    schema = pa.schema(
        [("tx", "int64"), ("gtid", "string"), ("thread_id", "int64"), (_SUM, "int64")]
    )
    plain = [fact.rename_columns(schema.names).cast(schema) for fact in facts]
    found = pa.concat_tables(plain).group_by(names).aggregate([(_SUM, "sum")])
    rows = found.rename_columns(schema.names).sort_by("tx").to_pylist()
    rows.sort(key=lambda row: row[_SUM], reverse=True)
    threads = {row["thread_id"] for row in rows}
    lines = [
        f"{_counted(sum(row[_SUM] for row in rows), 'change')} of "
        f"{_counted(len({row['tx'] for row in rows}), 'transaction')} on "
        f"{_counted(len(threads), 'connection')}"
    ]
    if len(rows) > _LISTED:
        return (*lines, f"the connections are the threads {_listed(threads)}")
    for row in rows:
        gtid = f"GTID {row['gtid']}" if row["gtid"] else "a transaction without GTID"
        thread = "a thread not known" if row["thread_id"] is None else f"thread {row['thread_id']}"
        lines.append(f"{_counted(row[_SUM], 'change')} of {gtid} on {thread}")
    return tuple(lines)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _listed(threads: set[int | None]) -> str:
    known = sorted(thread for thread in threads if thread is not None)
    more = ["\N{HORIZONTAL ELLIPSIS}"] if len(threads) > _LISTED or None in threads else []
    return ", ".join([*map(str, known[:_LISTED]), *more])


def dependent(found: Dependences, mode: str, added: Dependences | None) -> tuple[str, ...]:
    """What depends on the chosen changes, in sentences, and what is done about it.

    ``added``: what the mode cascade undoes as well.
    """
    lines = []
    if added is not None and added.dependents.num_rows:
        lines += [f"{_sums(added)}: undone as well", *_each(added.dependents)]
        if kept := found.conflicts.num_rows:
            verb = "is" if kept == 1 else "are"
            lines.append(
                f"{_counted(kept, 'change')} {verb} refused: not all that depends on such a change "
                "can be undone"
            )
    elif found.dependents.num_rows:
        later = [one for one in found.later.values() if not one.auto and one.kept.any()]
        rows = np.unique(np.concatenate([np.zeros(0, np.int64), *(o.seqs[o.kept] for o in later)]))
        kept = sum(int(one.kept.sum()) for one in later)
        hard = len(set(found.conflicting.tolist()) - set(found.overwritten.tolist()))
        soft = found.conflicts.num_rows - hard
        # What the mode cascade does not undo with the others is refused.
        counts = [(found.conflicts.num_rows, "refuse" if mode == "cascade" else mode)]
        if mode == "force":
            counts = [(soft, "force"), (hard, "refuse")]
        done = ", ".join(
            f"{_counted(n, 'chosen change')} {'is' if n == 1 else 'are'} {_DONE[how]}"
            for n, how in counts
            if n
        )
        if kept:
            which = f"{_counted(kept, 'column')} of {_counted(len(rows), 'chosen change')}"
            done = ", ".join(filter(None, [f"{which} {'is' if kept == 1 else 'are'} kept", done]))
        lines += [f"{_sums(found)}: {done or 'nothing is kept'}", *_each(found.dependents)]
    else:
        lines.append("no later change in the log depends on the chosen ones")
    return (*lines, "no log shows which later statements read these rows")


def _sums(found: Dependences) -> str:
    table = found.dependents
    kinds = Counter(table["reason"].to_pylist()).most_common()
    counts = ", ".join(f"{count} {KINDS[kind]}" for kind, count in kinds)
    verb = "depends" if table.num_rows == 1 else "depend"
    return f"{_counted(table.num_rows, 'later change')} {verb} on the chosen ones ({counts})"


def _each(table: pa.Table) -> list[str]:
    """The first changes."""
    lines = [
        f"{KINDS[row['reason']]}: {row['op']} of {row['db']}.{row['table']}, "
        f"{row['file']}:{row['pos']}"
        f"{'' if row['inner'] is None else '/' + str(row['inner'])} row {row['row']}"
        f"{', GTID ' + row['gtid'] if row['gtid'] else ''}"
        for row in table.slice(0, _LISTED).to_pylist()
    ]
    more = table.num_rows - _LISTED
    return [*lines, f"and {more} more"] if more > 0 else lines


def definition_lines(drop: Boundary, events: Sequence[Boundary]) -> list[str]:
    """How a dropped table was created: the log's statements, in order."""
    name, found = drop.name, list[str]()
    for event in reversed([e for e in events if e.seq < drop.seq]):
        if event.action == "rename" and event.new_name == name:
            name = event.name
        elif event.name != name or event.action not in ("create", "alter"):
            continue
        found.append(f"{event.file} at {event.pos}: {event.statement}")
        if event.action == "create" and not event.conditional:
            break
    else:
        found.append("the statements that created it are not in the log")
    table = ".".join(drop.name)
    head = f"{table}, dropped in {drop.file} at {drop.pos}, must be created first, as in the log"
    return [f"{head}:", *reversed(found)]
