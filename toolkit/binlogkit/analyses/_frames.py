"""Frames of any engine, as Narwhals sees them: pyarrow and PySpark; pandas' become Arrow's.

The only place in this room that asks which engine a frame belongs to. In Arrow, times are integers
as in a log. For a pandas frame the result is a pandas frame, with pandas' times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar, cast

import narwhals as nw
import pyarrow as pa
from narwhals.typing import IntoFrame

from binlogkit.errors import UsageError
from binlogkit.frames.arrow_types import carried_schema
from binlogkit.frames.fields.field import Fields, arrow_type
from binlogkit.frames.fields.ledger import BOUNDARY, STATEMENT, TRANSACTION
from binlogkit.frames.fields.rows import BATCH

FrameT = TypeVar("FrameT")
Lazy = nw.LazyFrame[Any]

#: The input of analyses, besides the frames of this room.
_GIVEN = (*BATCH, *TRANSACTION, *STATEMENT, *BOUNDARY)
_DECLARED_TYPES: dict[str, nw.dtypes.DType] = {
    "seconds": nw.Int64(),
    "string": nw.String(),
    "int64": nw.Int64(),
    "float64": nw.Float64(),
    "boolean": nw.Boolean(),
}


def is_spark(frame: object) -> bool:
    """Whether ``frame`` is a PySpark DataFrame (classic or Connect)."""
    return type(frame).__module__.startswith("pyspark.")


def is_frame(value: object) -> bool:
    """Whether ``value`` is a frame of a known engine, not an iterable of batches."""
    return type(value).__module__.partition(".")[0] in ("pandas", "pyspark") or (
        type(value).__module__.partition(".")[0] == "pyarrow"
        and type(value).__name__ in ("Table", "RecordBatch")
    )


def lazy(frame: IntoFrame, needed: Iterable[str] = ()) -> Lazy:
    """``frame`` as a Narwhals LazyFrame with plain strings.

    UsageError when a ``needed`` column is missing or the frame belongs to no known engine.
    """
    try:
        result: Lazy = nw.from_native(plain_engine(frame)).lazy()
    except TypeError as exc:
        raise UsageError(f"not a frame of a known engine: {type(frame).__name__}") from exc
    schema = result.collect_schema()
    missing = [name for name in needed if name not in schema]
    if missing:
        raise UsageError(f"the frame has no column {', '.join(missing)}")
    categories = [name for name, dtype in schema.items() if dtype in (nw.Categorical, nw.Enum)]
    if not categories:
        return result
    return result.with_columns(nw.col(*categories).cast(nw.String))


def ordered(frame: IntoFrame, needed: Iterable[str] = ()) -> Lazy:
    """Like :func:`lazy`, with the column ``seq`` (int64): the global order of the log.

    The ledger of transactions has ``tx`` instead. A frame with neither is in log order already, if
    its engine keeps order. Spark does not: UsageError.
    """
    result = lazy(frame, needed)
    columns = result.collect_schema()
    if "seq" in columns:
        return result
    if "tx" in columns and "outcome" in columns:
        return result.with_columns(seq=nw.col("tx"))
    if is_spark(frame):
        raise UsageError("a Spark frame has no order: the column seq is needed")
    numbered = result.collect().with_row_index("seq")
    return numbered.with_columns(nw.col("seq").cast(nw.Int64)).lazy()


def finish(result: Lazy, declared: Fields, like: FrameT, kept: Sequence[str] = ()) -> FrameT:
    """The native frame of ``result`` with the ``declared`` columns in order and type.

    ``like``: the frame that it was made from, of the same engine; ``kept``: columns named by the
    caller (a key's) that come first, as they are.
    """
    if not is_spark(like):
        table = _declared(nw.to_native(result), declared, kept)
        return from_arrow(table, like, declared)
    columns = [nw.col(name) for name in kept]
    for output in declared:
        dtype = _DECLARED_TYPES.get(output.type)
        column = nw.col(output.name)
        columns.append(column if dtype is None else column.cast(dtype))
    native = nw.to_native(result.select(*columns))
    if not isinstance(native, type(like)):
        raise AssertionError(f"{type(native).__name__} made from {type(like).__name__}")
    return native


def _declared(table: pa.Table, declared: Fields, kept: Sequence[str]) -> pa.Table:
    """The columns of an Arrow table in order and type.

    Not by an expression for each: that took a third of the audit of a small log.
    """
    columns = {name: table[name] for name in kept}
    for output in declared:
        column, known = table[output.name], output.type in _DECLARED_TYPES
        columns[output.name] = column.cast(arrow_type(output.type)) if known else column
    return pa.table(columns)


def image_fields(rows: Lazy, image: str, names: Sequence[str]) -> list[nw.Expr]:
    """Columns of an image (``before`` or ``after``), ENUM labels as plain strings.

    UsageError for generic changes, whose images are text, and for a name the table does not have.
    """
    dtype = rows.collect_schema()[image]
    if not isinstance(dtype, nw.Struct):
        raise UsageError("typed changes are needed: before and after are text here")
    types = {field.name: field.dtype for field in dtype.fields}
    unknown = [name for name in names if name not in types]
    if unknown:
        raise UsageError(f"the table has no column {', '.join(unknown)}")
    fields = [nw.col(image).struct.field(name) for name in names]
    return [
        field.cast(nw.String) if types[name] in (nw.Categorical, nw.Enum) else field
        for field, name in zip(fields, names, strict=True)
    ]


def records(frame: Lazy) -> list[dict[str, Any]]:
    """The rows as dictionaries of Python values; for small results only."""
    return list(frame.collect("pyarrow").to_native().to_pylist())


def is_pandas(frame: object) -> bool:
    """Whether ``frame`` is a pandas DataFrame."""
    return type(frame).__module__.partition(".")[0] == "pandas"


def plain_engine(frame: Any) -> Any:
    """The frame; a pandas frame as an Arrow table."""
    return to_arrow(frame) if is_pandas(frame) else frame


def to_arrow(frame: Any, declared: Fields = _GIVEN) -> pa.Table:
    """Any engine's frame as an Arrow table (a Spark frame is collected).

    ``declared``: empty for a frame of a table's own columns.
    """
    if isinstance(frame, pa.Table):
        return frame
    if isinstance(frame, pa.RecordBatch):
        return pa.Table.from_batches([frame])
    if is_spark(frame):
        return frame.toArrow()
    if is_pandas(frame):
        from binlogkit.frames.natural import plain

        return plain(frame, declared)
    raise UsageError(f"not a frame of a known engine: {type(frame).__name__}")


def from_arrow(table: pa.Table, reference: FrameT, declared: Fields = ()) -> FrameT:
    """``table`` as a frame of ``reference``'s engine (of its session, for Spark).

    ``declared``: its known columns.
    """
    if is_spark(reference):
        return cast("FrameT", _to_spark(table, reference))
    if isinstance(reference, (pa.Table, pa.RecordBatch)):
        return cast("FrameT", table)
    if is_pandas(reference):
        from binlogkit.frames.natural import natural

        return cast("FrameT", natural(table, declared))
    raise UsageError(f"not a frame of a known engine: {type(reference).__name__}")


def _to_spark(table: pa.Table, reference: Any) -> Any:
    schema = carried_schema(table.schema)
    if not table.num_rows:  # PySpark 4.3 makes no frame of columns without a chunk
        from pyspark.sql.pandas.types import from_arrow_schema

        return reference.sparkSession.createDataFrame([], from_arrow_schema(schema))
    return reference.sparkSession.createDataFrame(table.cast(schema))


def canonical_schema(frame: Any) -> pa.Schema:
    """The Arrow schema of a Spark frame of changes; image columns have the types that they have in
    a log, if the data source ``binlog`` says what they are."""
    from pyspark.sql.pandas.types import to_arrow_schema

    schema = to_arrow_schema(frame.schema, timezone="UTC")
    for image in ("before", "after"):
        metadata = {one.name: one.metadata for one in frame.schema[image].dataType}
        children = [_canonical(one, metadata[one.name] or {}) for one in schema.field(image).type]
        at = schema.get_field_index(image)
        schema = schema.set(at, pa.field(image, pa.struct(children)))
    return schema


def _canonical(field: pa.Field, facts: dict[str, str]) -> pa.Field:
    from binlogkit.frames.arrow_types import column_field
    from binlogkit.rows.defined import column_of, described

    known = described(field.name, facts) if facts else None
    if known is None:
        return field
    own = {f"binlogkit:{name}".encode(): text.encode() for name, text in facts.items()}
    return pa.field(field.name, column_field(column_of(known)).type, metadata=own)


def map_arrow(
    frame: Any,
    function: Callable[[pa.RecordBatch], pa.RecordBatch],
    schema: pa.Schema,
    declared: Fields,
    *,
    like: FrameT,
    sort: str,
) -> FrameT:
    """``function`` over the frame's record batches, for rows that do not depend on each other.

    ``schema``: of the result, whose columns are ``declared``; it is sorted by the column ``sort``
    and has the engine of ``like``. In Spark the workers run it.
    """
    if is_spark(frame):
        return cast("FrameT", _map_spark(frame, function, schema, sort))
    batches = [function(batch) for batch in to_arrow(frame).to_batches()]
    return from_arrow(pa.Table.from_batches(batches, schema).sort_by(sort), like, declared)


def _map_spark(frame: Any, function: Callable[[Any], Any], schema: Any, sort: str) -> Any:
    from pyspark.sql.pandas.types import from_arrow_schema

    carried = carried_schema(schema)

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            yield function(batch).cast(carried)

    return frame.mapInArrow(run, from_arrow_schema(carried)).sort(sort)
