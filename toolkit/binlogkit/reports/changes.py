"""What a record of a row change, or of a transaction, did, in a few words.

They are a column, :data:`CHANGES`, of tables for people; the records themselves do not have it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from binlogkit.frames.fields.field import Fields, fields
from binlogkit.reports._values import cell_text
from binlogkit.reports.model import RowChange
from binlogkit.reports.output import Output

CHANGES = "changes"
_FIELD = fields((CHANGES, "string?", "what the record did, in a few words"))

_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?")
_OPERATIONS = ("insert", "update", "delete")


def with_changes(
    records: Iterable[Mapping[str, Any]],
    declared: Fields,
    output: Output,
    words: Callable[[Mapping[str, Any]], str],
) -> tuple[Iterable[Mapping[str, Any]], Fields]:
    """The records with the column CHANGES, and their declaration, where ``output`` shows it: as a
    table, or named among its columns. ``words``: makes the text of a record."""
    if output.format != "table" and CHANGES not in (output.columns or ()):
        return records, declared
    widened = ({**record, CHANGES: words(record) or None} for record in records)
    return widened, (*declared, *_FIELD)


def change_text(row: Mapping[str, Any], key: Sequence[str] = ()) -> str:
    """``id 150: status paid → refunded``: what an update changed; else the image's values.

    ``row``: a record with its images; ``key``: the columns of the table's key, if known. A column
    that is not in the image before (MINIMAL) has no value on the left.
    """
    before, after = row["before"], row["after"]
    if before is None or after is None:
        return ", ".join(_values(after or before or {}))
    changed = {n: v for n, v in after.items() if n not in before or before[n] != v}
    changed = dict(sorted(changed.items(), key=lambda one: _is_time(one[1])))
    where = {name: before[name] for name in key if name in before}
    return f"{', '.join(_values(where))}: " * bool(where) + ", ".join(_changes(before, changed))


def changes_of(rows: Iterable[Mapping[str, Any]], key: Sequence[str] = ()) -> list[RowChange]:
    """The changed cells of records with images, for a page; of a row that came or went all cells
    but those of its key."""
    return [_change(row, key) for row in rows]


def _change(row: Mapping[str, Any], key: Sequence[str]) -> RowChange:
    old, new = row["before"], row["after"]
    there: Mapping[str, Any] = old or new or {}
    name = ", ".join(_values({column: there[column] for column in key if column in there}))
    if old is None or new is None:
        columns = [column for column in there if column not in key]
    else:
        columns = [n for n, v in new.items() if n not in old or old[n] != v]
        columns.sort(key=lambda column: _is_time(new[column]))
    cells = [(column, _cell(old, column), _cell(new, column)) for column in columns]
    return RowChange(name, cells)


def _cell(image: Mapping[str, Any] | None, column: str) -> str | None:
    return None if image is None or column not in image else _value(image[column])


def operations_text(transaction: Mapping[str, Any]) -> str:
    """``2 inserts, 75 updates``: the row changes of a record of ``transactions``."""
    counts = ((transaction[f"{name}s"], name) for name in _OPERATIONS)
    return ", ".join(f"{n} {name}{'s' * (n != 1)}" for n, name in counts if n)


def _is_time(value: object) -> bool:
    """Such columns stand last: most are set by the server with every update."""
    return isinstance(value, str) and _TIME.fullmatch(value) is not None


def _changes(before: Mapping[str, Any], changed: Mapping[str, Any]) -> Iterator[str]:
    for name, value in changed.items():
        old = f"{_value(before[name])} " if name in before else ""
        yield f"{name} {old}→ {_value(value)}"


def _values(image: Mapping[str, Any]) -> Iterator[str]:
    return (f"{name} {_value(value)}" for name, value in image.items())


def _value(value: object) -> str:
    """As SQL and the other tables show it: NULL, and quotes around an empty text."""
    return "NULL" if value is None else cell_text(value) or "''"
