"""Batches of changes, read as the replay needs them: images with handles, keys as Python values."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from binlogkit.analyses.point_in_time.live import ABSENT
from binlogkit.analyses.point_in_time.store import HIDDEN, Cell, Oddity, Store
from binlogkit.errors import UsageError
from binlogkit.frames.schema import CellState

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FILE", "POS", "SEQ", "Side", "plain_values", "read_sides"]

# The change that an image comes from, kept beside the image's own columns.
SEQ, FILE, POS = (HIDDEN + name for name in ("seq", "file", "pos"))

_NOT_KNOWN = frozenset({CellState.NOT_IN_IMAGE, CellState.JSON_DIFF})


@dataclass(frozen=True, slots=True)
class Side:
    """The images of one side of a batch: the first one's handle, which rows have one, identities.

    What an identity is, live.Rows says.
    """

    start: int
    present: list[bool]
    identities: list[Hashable | None]


def plain_values(column: pa.Array) -> list[Any]:
    """The column as hashable Python values that are equal where the column's values are.

    Temporal values become integers of their unit: ``datetime`` is slower and needs a time zone.
    """
    import pyarrow as pa

    if pa.types.is_date32(column.type) or pa.types.is_time32(column.type):
        return list(column.view(pa.int32()).to_pylist())
    if pa.types.is_temporal(column.type) and not pa.types.is_interval(column.type):
        return list(column.view(pa.int64()).to_pylist())
    return list(column.to_pylist())


def read_sides(batch: pa.RecordBatch, key: Sequence[str], store: Store) -> tuple[Side, Side]:
    """The images before and after of a batch; they are added to ``store``."""
    before = _read_side(batch, "before", key, store, None)
    return before, _read_side(batch, "after", key, store, before)


def _read_side(
    batch: pa.RecordBatch, side: str, key: Sequence[str], store: Store, before: Side | None
) -> Side:
    import pyarrow as pa

    images = batch[side]
    if not pa.types.is_struct(images.type):
        raise UsageError("typed changes are needed: before and after are text here")
    columns = dict(zip([f.name for f in images.type], images.flatten(), strict=True))
    places = [pa.field(SEQ, pa.int64()), pa.field(FILE, pa.string()), pa.field(POS, pa.int64())]
    where = [batch["seq"], batch["file"].cast(pa.string()), batch["pos"]]
    start = store.add([*images.type, *places], [*columns.values(), *where], len(images))
    odd = _oddities(batch, side, list(columns))
    store.odd.update({start + i: oddity for i, oddity in odd.items()})
    present = images.is_valid().to_pylist()
    if not key:
        return Side(start, present, _all_cells(columns, odd, store.columns()))
    if all(name in columns for name in key):
        return Side(start, present, _keys(columns, key, odd, before))
    return Side(start, present, [None] * len(present))


def _oddities(batch: pa.RecordBatch, side: str, names: list[str]) -> dict[int, Oddity]:
    """The images with anything but values and NULLs, by row number."""
    if f"{side}_state" not in batch.schema.names:
        return {}
    states = batch[f"{side}_state"]
    if states.null_count == len(states):
        return {}
    raws = batch["raw"].to_pylist() if "raw" in batch.schema.names else [None] * len(states)
    image = 0 if side == "before" else 1
    result = {}
    for i, row in enumerate(states.to_pylist()):
        if row is None:
            continue
        cells = {
            names[raw["column"]]: Cell(raw["bytes"], raw["text"])
            for raw in raws[i] or ()
            if raw["image"] == image
        }
        odd = {name: int(s) for name, s in zip(names, row, strict=True) if s > CellState.NULL}
        if odd:
            result[i] = Oddity(odd, cells)
    return result


def _keys(
    columns: dict[str, pa.Array], key: Sequence[str], odd: dict[int, Oddity], before: Side | None
) -> list[Hashable | None]:
    parts = [plain_values(columns[name]) for name in key]
    keys: list[Hashable | None] = list(parts[0] if len(parts) == 1 else zip(*parts, strict=True))
    for i, oddity in odd.items():
        if any(name in oddity.states for name in key):
            known = None if before is None else before.identities[i]
            keys[i] = _odd_key([part[i] for part in parts], key, oddity, known)
    return keys


def _odd_key(
    values: list[Any], key: Sequence[str], odd: Oddity, before: Hashable | None
) -> Hashable | None:
    """A key of which a part has no Arrow value or is not in the image.

    A minimal image after an update has only the parts that changed: the others are those of
    ``before``. None where they are not known.
    """
    known = before if isinstance(before, tuple) and len(before) == len(key) > 1 else None
    parts = []
    for i, (value, name) in enumerate(zip(values, key, strict=True)):
        state = odd.states.get(name)
        if state not in _NOT_KNOWN:
            parts.append(value if state is None else _odd_value(odd, name))
        elif known is None:
            return None
        else:
            parts.append(known[i])
    return parts[0] if len(parts) == 1 else tuple(parts)


def _odd_value(odd: Oddity, name: str) -> Hashable:
    cell = odd.raw.get(name, Cell(None, None))
    return ("without an Arrow value", cell.bytes, cell.text)


def _all_cells(
    columns: dict[str, pa.Array], odd: dict[int, Oddity], order: Sequence[str]
) -> list[Hashable | None]:
    """Each image's cells in the order of the table's columns."""
    length = len(next(iter(columns.values()))) if columns else 0
    absent = [ABSENT] * length
    parts = [plain_values(columns[name]) if name in columns else absent for name in order]
    result: list[Hashable | None] = list(zip(*parts, strict=True))
    for i, oddity in odd.items():
        cells = [part[i] for part in parts]
        for at, name in enumerate(order):
            state = oddity.states.get(name)
            if state in _NOT_KNOWN:
                cells[at] = ABSENT
            elif state is not None:
                cells[at] = _odd_value(oddity, name)
        result[i] = tuple(cells)
    return result
