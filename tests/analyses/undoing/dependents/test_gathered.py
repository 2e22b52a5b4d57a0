"""Tables of changes among which dependences are looked for."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest

from binlogkit.analyses.undoing.dependents.gathered import Gathered

Make = Callable[..., pa.Table]


@pytest.mark.parametrize(
    ("columns", "key", "kept"),
    [("id", ("id",), ("id",)), (("id", "n"), ("id",), ("id",)), ("n", ("id",), ())],
    ids=["a key of all columns", "a key of some", "a key that is not there"],
)
def test_a_key_counts_where_all_of_it_is_known(
    make_changes: Make, columns: str | tuple[str, ...], key: tuple[str], kept: tuple[str]
) -> None:
    names = [columns] if isinstance(columns, str) else columns
    fields = [pa.field(n, pa.int64(), metadata={"binlogkit:kind": "integer"}) for n in names]
    changes = make_changes(fields, [("insert", None, dict.fromkeys(names, 1))], key=key)
    gathered = Gathered(changes.to_batches(), [])
    assert gathered.tables["shop", "orders"].key == kept
    assert gathered.size == 1
