"""A state as the last image of every key: for full images whose key never changes.

The same expression on every engine (SPARK.md, "State as of a position"): the change with the
highest ``seq`` per key, without those that are deletes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw

from binlogkit.analyses._frames import (
    Lazy,
    finish,
    image_fields,
    is_spark,
    records,
    with_empty_lists,
)
from binlogkit.analyses.point_in_time.result import STATE
from binlogkit.errors import UsageError

__all__ = ["last_images", "window_suffices"]


def window_suffices(changes: Lazy, key: Sequence[str], *, complete: bool) -> bool:
    """Whether every image is full and plain, no update changes the key, and all adds up.

    ``complete``: the changes begin with the table empty. Two looks at all of the changes, but no
    more than aggregates; where something contradicts, the sequential form says what.
    """
    columns = changes.collect_schema()
    if not key or not isinstance(columns["after"], nw.Struct):
        return False
    one, none = nw.lit(1), nw.lit(0)
    states = [name for name in ("before_state", "after_state") if name in columns]
    odd = nw.any_horizontal(*(~nw.col(name).is_null() for name in states), ignore_nulls=True)
    befores, afters = (image_fields(changes, image, key) for image in ("before", "after"))
    moved = nw.any_horizontal(
        *(b != a for b, a in zip(befores, afters, strict=True)), ignore_nulls=True
    )
    flags = changes.with_columns(
        _odd=nw.when(odd).then(one).otherwise(none) if states else none,
        _moved=nw.when(moved & (nw.col("op") == "update")).then(one).otherwise(none),
    )
    sums = records(flags.select(nw.col("_odd").sum(), nw.col("_moved").sum()))[0]
    return not sums["_odd"] and not sums["_moved"] and _adds_up(changes, key, complete)


def _adds_up(changes: Lazy, key: Sequence[str], complete: bool) -> bool:
    """Whether every key was inserted once more than deleted if its row lives, else as often.

    Without the table's beginning one insert may be missing.
    """
    keyed, names = _keyed(changes, key)
    step = nw.when(nw.col("op") == "insert").then(nw.lit(1)).otherwise(nw.lit(0))
    gone = nw.when(nw.col("op") == "delete").then(nw.lit(1)).otherwise(nw.lit(0))
    lives = nw.when(nw.col("op") == "delete").then(nw.lit(0)).otherwise(nw.lit(1))
    marked = keyed.with_columns(_came=step, _went=gone, _lives=lives)
    counted = marked.group_by(names).agg(
        nw.col("_came").sum(), nw.col("_went").sum(), nw.col("seq").max()
    )
    last = marked.select("seq", nw.col("_lives"))
    balance = counted.join(last, on="seq", how="left").with_columns(
        _balance=nw.col("_came") - nw.col("_went") - nw.col("_lives")
    )
    ends = records(
        balance.select(
            nw.col("_balance").min().alias("low"), nw.col("_balance").max().alias("high")
        )
    )[0]
    low = 0 if complete else -1
    return ends["low"] is None or (ends["low"] >= low and ends["high"] <= 0)


def _keyed(changes: Lazy, key: Sequence[str]) -> tuple[Lazy, list[str]]:
    """With the key as columns of its own, and their names."""
    names = [f"_key_{i}" for i in range(len(key))]
    befores, afters = (image_fields(changes, image, key) for image in ("before", "after"))
    deleted = nw.col("op") == "delete"
    keyed = changes.with_columns(
        nw.when(deleted).then(before).otherwise(after).alias(name)
        for before, after, name in zip(befores, afters, names, strict=True)
    )
    return keyed, names


def last_images(changes: Lazy, key: Sequence[str], like: Any) -> Any:
    """The rows as of the end of ``changes`` (STATE), by key; ``like``: the frame they come from."""
    if not key:
        raise UsageError("the window form needs a key")
    keyed, names = _keyed(changes, key)
    deleted = nw.col("op") == "delete"
    seqs = keyed.group_by(names).agg(nw.col("seq").max()).select("seq")
    if is_spark(like):
        last = keyed.join(seqs, on="seq", how="semi").filter(~deleted)
    else:
        # Not max().over(key): Narwhals 2.28 gives it in the order of an Arrow join, which has
        # none beyond 32 k rows; and Arrow joins no frame with a struct in it.
        wanted = [row["seq"] for row in records(seqs)]
        last = keyed.filter(nw.col("seq").is_in(wanted)).filter(~deleted)
    columns = changes.collect_schema()
    missing = [c for c in ("after_state", "raw") if c not in columns]
    if missing:
        raise UsageError(f"the frame has no column {', '.join(missing)}")
    shaped = last.sort(*names).with_columns(
        values=nw.col("after"), value_state=nw.col("after_state"), raw=nw.col("raw")
    )
    declared = tuple(output for output in STATE if output.name != "unknown")
    rows = finish(shaped, declared, like)
    return with_empty_lists(rows, "unknown", after="values")
