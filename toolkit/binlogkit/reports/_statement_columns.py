"""The lines of a script for many plans at once: like _statements.py, but by the column."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.analyses.undoing.plans import Chosen, Chunk, PlanColumns, Reasons
from binlogkit.errors import UsageError
from binlogkit.frames.text_columns import Mask, Part, bytes_of, hex_texts, joined, separated, words
from binlogkit.reports._literal_columns import conditions, literals
from binlogkit.reports._literals import PREPARED, SAFE, escaped, identifier, quoted
from binlogkit.reports._references import WRITES, Acted
from binlogkit.reports._statements import (
    CHECKS,
    COUNTED,
    COUNTED_OR_SAME,
    FORMS,
    INEXACT,
    LONG_STATEMENT,
    NO_STATEMENT,
    NO_VALUE,
    READ,
    TOO_LONG,
    counts_guarded,
    counts_referring,
    kept,
    names_of,
    origin,
    reads,
    sentence,
    unreferred,
)


def chunk_lines(chunk: Chunk, first: int) -> tuple[bytes, Counter[str], int, int, set[Acted]]:
    """The lines of a chunk, whose plans are numbered from ``first``; the reasons of those that are
    refused, how many are skipped, how many statements write a row, and what they act on."""
    made, refused, skipped, written, acted = [], Counter[str](), 0, 0, set[Acted]()
    for places, plans in chunk:
        reasons = _reasons(plans)
        texts = reasons.texts
        if plans.skipped is not None and plans.skipped.any():
            skipped += int(plans.skipped.sum())
            texts = texts.filter(pa.array(~plans.skipped))
        for one in texts.drop_null().value_counts().to_pylist():
            refused[one["values"]] += one["counts"]
        written += reasons.texts.null_count if plans.kind != "delete" else 0
        if reasons.texts.null_count:
            there = reasons.none()
            columns = plans.set if plans.kind == "update" else ()
            names = ["", *(c.name for c in columns if (c.rows & there).any())]
            acted |= {(*plans.table, plans.kind, name) for name in names}
            writes = [*((c.name, c.rows) for c in plans.set), *plans.keep]
            acted |= {(*plans.table, WRITES, n) for n, rows in writes if (rows & there).any()}
        made.append(_lines(plans, reasons, pa.array(places + first).cast(pa.string())))
    texts, order = made[0], chunk[0][0]
    if len(made) > 1:
        texts, order = pa.concat_arrays(made), np.concatenate([places for places, _ in chunk])
    if (np.diff(order) < 0).any():
        texts = texts.take(pa.array(np.argsort(order)))
    return bytes_of(texts).tobytes(), refused, skipped, written, acted


def _lines(plans: PlanColumns, reasons: Reasons, number: pa.StringArray) -> pa.StringArray:
    rows, there = len(number), reasons.none()
    lines: list[Part] = ["-- ", number, ": ", *_origin(plans), "\n"]
    refused = said = None
    if not there.all():
        reason = words(reasons.texts, lambda text: escaped(text or "").rstrip())
        how: Part = NO_STATEMENT[0]
        if plans.skipped is not None and plans.skipped.any():
            how = pc.if_else(pa.array(plans.skipped), *reversed(NO_STATEMENT))
        parts: list[Part] = [*lines, "-- ", number, how, reason, "\n"]
        refused = joined(parts, rows)
        if not there.any():
            return refused
    before, after = (_prepared(parts, plans) for parts in _reads(plans))
    keys = [key.record for key, _ in plans.unreferred]
    own = counts_referring(".".join(map(quoted, plans.table)), keys, _where(plans))
    for read in (_prepared(own, plans), before):
        lines += [*read, ";\n"] if read else []
    same = pa.array(_same_is_well(plans))
    counted = pc.if_else(same, COUNTED_OR_SAME[0], COUNTED[0])
    lines += [*_run(_statement(plans), plans), ";\n", counted, number, f"{COUNTED[1]}\n"]
    lines += _guarded(plans)
    if after:
        lines += [*after, f";\n{READ[0]}", number, READ[1], number, f"{READ[2]}\n"]
    said = joined(lines, rows)
    return said if refused is None else pc.if_else(pc.is_null(reasons.texts), said, refused)


def _origin(plans: PlanColumns) -> list[Part]:
    """What the statements do and which changes they belong to, for their comments."""
    texts: dict[str, Part] = {}
    for name, form in FORMS.items():
        if name in ("pos", "row"):
            texts[name] = plans.changes[name].cast("string")
        elif name != "note":
            texts[name] = words(plans.changes[name], partial(_shown, form))
    note = words(plans.note, partial(_shown, FORMS["note"]))  # it would end the line
    texts["note"] = note.rstrip() if isinstance(note, str) else pc.ascii_rtrim(note, " ")
    return origin(plans.kind, texts)


def _shown(form: Callable[[Any], str], value: Any) -> str:
    return escaped(form(value))


def _reasons(plans: PlanColumns) -> Reasons:
    """Why plans are refused, including values that SQL cannot express."""
    reasons = Reasons(plans.refused)
    there = reasons.none()
    if not there.any():
        return reasons
    for name in plans.table:
        _refuse_name(name, there, reasons)
    if plans.kind == "insert" and not plans.set:
        reasons.add(there, NO_VALUE)
    for column in (*plans.set, *plans.where):
        _refuse_name(column.name, column.rows, reasons)
    for name, rows in plans.keep:
        _refuse_name(name, rows, reasons)
    for key, rows in plans.unreferred:
        for name in names_of([key.record]):
            _refuse_name(name, rows, reasons)
    return reasons


def _refuse_name(name: str, rows: Mask, reasons: Reasons) -> None:
    try:
        identifier(name)
    except UsageError as exc:
        reasons.add(rows, str(exc))


def _statement(plans: PlanColumns) -> list[Part]:
    """The parts of the statements."""
    every = np.ones(len(plans.limit_one), np.bool_)
    names = [quoted(column.name) for column in plans.set]
    values = [(every, [literals(column)]) for column in plans.set]
    if plans.kind == "update":
        values = [
            (column.rows, [f"{name} = ", *value])
            for column, name, (_, value) in zip(plans.set, names, values, strict=True)
        ]
        values += [(rows, [kept(name)]) for name, rows in plans.keep]
    table = ".".join(map(quoted, plans.table))
    alone = _alone(plans, table)
    limit: Part = " LIMIT 1" if plans.limit_one.all() else ""
    if plans.limit_one.any() and not limit:
        limit = pc.if_else(pa.array(plans.limit_one), " LIMIT 1", "")
    return sentence(
        plans.kind, table, names, separated(values, ", "), [*_where(plans), *alone], limit
    )


def _where(plans: PlanColumns) -> list[Part]:
    return separated([(column.rows, conditions(column)) for column in plans.where], " AND ")


def _alone(plans: PlanColumns, table: str) -> list[Part]:
    """The conditions that only so many rows refer to those of the statements."""
    parts: list[Part] = []
    for rows in {rows.tobytes(): rows for _, rows in plans.unreferred}.values():
        keys = [key.record for key, those in plans.unreferred if (those == rows).all()]
        text = "".join(f" AND {term}" for term in unreferred(table, keys))
        parts.append(text if rows.all() else pc.if_else(pa.array(rows), text, ""))
    return parts


def _guarded(plans: PlanColumns) -> list[Part]:
    """The lines that count the rows which statements left, since others refer to them."""
    if not plans.unreferred:
        return []
    table = ".".join(map(quoted, plans.table))
    counts = counts_guarded(table, _where(plans), _alone(plans, table))
    lines = joined([*_prepared(counts, plans), f";\n{CHECKS[1]}\n"], len(plans.limit_one))
    guarded = np.any([rows for _, rows in plans.unreferred], axis=0)
    return [lines if guarded.all() else pc.if_else(pa.array(guarded), lines, "")]


def _same_is_well(plans: PlanColumns) -> Mask:
    """The updates whose rows may hold already what they set."""
    if plans.kind != "update":
        return np.zeros(len(plans.limit_one), np.bool_)
    found = {column.name: column.rows for column in plans.where}
    compared = [c.rows & found[c.name] for c in plans.set if c.name in found]
    some = [plans.limit_one, *compared, *(rows for _, rows in plans.unreferred)]
    same: Mask = ~np.any(some, axis=0)
    return same


def _reads(plans: PlanColumns) -> tuple[list[Part], list[Part]]:
    """What reads the rows back; see :func:`binlogkit.reports._statements.reads`."""
    none = np.zeros(len(plans.limit_one), np.bool_)
    written: dict[str, Mask] = {}
    for column in plans.set:  # a crafted log may have two names that are the same to a server
        name = column.name.lower()
        written[name] = written.get(name, none) | column.rows
    kept = (
        replace(column, rows=column.rows & ~written.get(column.name.lower(), none))
        for column in plans.where
        if not column.generated
    )
    columns = [*kept, *map(_comparable, plans.set)]
    terms = [(column.rows, conditions(column)) for column in columns if column.rows.any()]
    anything = ~np.any([none, *(rows for rows, _ in terms)], axis=0)
    terms.append((anything, ["TRUE"]))
    table = ".".join(map(quoted, plans.table))
    return reads(plans.kind, table, separated(terms, " AND "), bool(plans.limit_one.any()))


def _comparable(column: Chosen) -> Chosen:
    """A column in the rows whose value can be in a condition."""
    if column.kind not in INEXACT:
        return column
    null = np.array(column.cells.array.is_null(), np.bool_)
    null[list(column.cells.special)] = False
    return replace(column, rows=column.rows & null)


def _run(statement: list[Part], plans: PlanColumns) -> list[Part]:
    """What runs the statements, with a note if they are long."""
    most = sum(
        len(p) if isinstance(p, str) else pc.max(pc.binary_length(p)).as_py() for p in statement
    )
    if most <= LONG_STATEMENT:
        return _prepared(statement, plans)
    rows = len(plans.limit_one)
    text = joined(statement, rows)
    size = pc.utf8_length(text)
    long = joined(["-- ", size.cast("string"), f"{TOO_LONG}\n"], rows)
    return [pc.if_else(pc.greater(size, LONG_STATEMENT), long, ""), *_prepared([text], plans)]


def _prepared(statement: list[Part], plans: PlanColumns) -> list[Part]:
    """What runs the statements: see :func:`binlogkit.reports._literals.prepared`."""
    names = "".join(
        [*plans.table, *(column.name for column in (*plans.set, *plans.where)),
         *(name for name, _ in plans.keep),
         *names_of(key.record for key, _ in plans.unreferred)]
    )  # fmt: skip
    if not statement or re.fullmatch(SAFE, names):
        return statement
    text = joined(statement, len(plans.limit_one))
    odd = pc.invert(pc.match_substring_regex(text, f"^{SAFE}$"))
    stored = pc.binary_join_element_wise(PREPARED[0], hex_texts(text.filter(odd)), PREPARED[1], "")
    return [pc.replace_with_mask(text, odd, stored)]
