"""The Arrow types that Spark's transport needs, on every version of PySpark."""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Any

from pyspark.sql.pandas.types import to_arrow_schema

from binlogkit.spark.masks import MASK

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

# Before PySpark 4.2 timestamps were always UTC.
_UTC: dict[str, Any] = (
    {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}
)


def wanted_schema(schema: StructType) -> pa.Schema:
    """The types that the batches of a source with these columns must have; with their masks."""
    import pyarrow as pa

    found = to_arrow_schema(schema, **_UTC)
    masks = [(one.metadata or {}).get("mask") for one in schema]
    return pa.schema(
        one.with_metadata(None if mask is None else {MASK: mask})
        for one, mask in zip(found, masks, strict=True)
    )
