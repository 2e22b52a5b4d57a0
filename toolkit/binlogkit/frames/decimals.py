"""DECIMAL columns in pandas: exact, and numbers to all that pandas does with numbers.

pandas' own Arrow decimals have no ``nlargest``, ``describe``, ``cumsum`` or plot, and cut a mean to
the column's digits; Python's in a column of objects are slow, and no numbers to pandas. This is the
same array of Arrow decimals with these gaps filled. What numpy is given are floats where floats
distinguish all values, so that their order is the decimals' own, else Python's Decimal objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal, localcontext
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pandas.api.extensions import ExtensionDtype, no_default

from binlogkit.frames.arrow_types import DECIMAL256_DIGITS, decimal_type

_EXACT_DOUBLE = 1 << 53  # integers up to here are doubles
_ALL_DIGITS = 1000  # more than Arrow has
_EXACT = ("add", "sub", "mul")
_ADDED: dict[str, Callable[[Any, Any], Any]] = {
    "cumsum": Decimal.__add__,
    "cumprod": Decimal.__mul__,
    "cummin": min,
    "cummax": max,
}


class DecimalDtype(ExtensionDtype):
    """The type of a column of decimals, named as pandas names Arrow's own."""

    type = Decimal
    kind = "O"
    na_value = pd.NA
    _is_numeric = True
    _metadata = ("pyarrow_dtype",)

    def __init__(self, pyarrow_dtype: Any) -> None:
        self.pyarrow_dtype = pyarrow_dtype

    @property
    def name(self) -> str:  # type: ignore[override]
        """For example ``decimal128(10, 2)[pyarrow]``."""
        return f"{self.pyarrow_dtype}[pyarrow]"

    @property
    def numpy_dtype(self) -> np.dtype[Any]:
        """That of single values."""
        return np.dtype(object)

    @classmethod
    def construct_array_type(cls) -> Any:
        """The array's class."""
        return DecimalArray

    @classmethod
    def construct_from_string(cls, string: str) -> DecimalDtype:
        """No name is this type's alone: TypeError."""
        raise TypeError(f"a {cls.__name__} is made from a column, not from {string!r}")

    def __from_arrow__(self, array: Any) -> DecimalArray:
        return DecimalArray(array.cast(self.pyarrow_dtype))

    def _get_common_dtype(self, dtypes: list[Any]) -> Any:
        """That which holds the values of several decimal columns; None with any other."""
        if not all(isinstance(dtype, DecimalDtype) for dtype in dtypes):
            return None
        kinds = [dtype.pyarrow_dtype for dtype in dtypes]
        scale = max(kind.scale for kind in kinds)
        precision = max(kind.precision - kind.scale for kind in kinds) + scale
        return DecimalDtype(decimal_type(precision, scale))


class DecimalArray(pd.arrays.ArrowExtensionArray):
    """Arrow decimals; what they become that is none (a quotient of floats) is Arrow's own array."""

    _pa_array: Any

    def __new__(cls, values: Any) -> Any:
        if not pa.types.is_decimal(values.type):
            return pd.arrays.ArrowExtensionArray(values)
        return super().__new__(cls)

    def __init__(self, values: Any) -> None:
        super().__init__(values)
        self._dtype = DecimalDtype(values.type)

    @property
    def dtype(self) -> DecimalDtype:
        """The type: decimal digits, and how many of them are a fraction."""
        return self._dtype

    @classmethod
    def _from_sequence(
        cls, scalars: Iterable[Any], *, dtype: Any = None, copy: bool = False
    ) -> Any:
        kind = getattr(dtype, "pyarrow_dtype", None)
        if isinstance(scalars, pd.arrays.ArrowExtensionArray):
            values = scalars.__arrow_array__()
        else:
            values = _given(scalars, kind)
        return cls(values if kind is None else values.cast(kind))

    # ---- to numpy -----------------------------------------------------------------------

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return self.to_numpy(dtype=dtype)

    def _distinguishes(self) -> bool:
        """Whether no two different values are the same double."""
        most = pc.max(pc.abs(self._pa_array)).as_py()
        if most is None or most.scaleb(self._pa_array.type.scale) < _EXACT_DOUBLE:
            return True
        values = self._pa_array.unique()
        return bool(pc.count_distinct(values.cast(pa.float64())).as_py() == len(values.drop_null()))

    def to_numpy(
        self, dtype: Any = None, copy: bool = False, na_value: Any = no_default
    ) -> np.ndarray[Any, Any]:
        """The values as floats, or as Decimal objects; by default see above."""
        wanted = np.dtype(float if self._distinguishes() else object) if dtype is None else dtype
        if np.dtype(wanted).kind != "f":
            return super().to_numpy(dtype=wanted, copy=copy, na_value=na_value)
        values: np.ndarray[Any, Any] = self._pa_array.cast(pa.float64()).to_numpy().astype(wanted)
        if not (na_value is no_default or pd.isna(na_value)):
            values[self.isna()] = na_value
        return values

    def map(self, mapper: Any, na_action: Any = None) -> Any:
        """What a function makes of each value, a Decimal."""
        return pd.Series(self.to_numpy(object)).map(mapper, na_action).to_numpy()

    def astype(self, dtype: Any, copy: bool = True) -> Any:
        """As another type; texts have all digits."""
        wanted = pd.api.types.pandas_dtype(dtype)
        if wanted.kind in "US" or wanted == np.dtype(str) or isinstance(wanted, pd.StringDtype):
            texts = [_text(value) for value in self._pa_array.to_pylist()]
            made: Any = pd.array(texts, dtype="string")
            return made if isinstance(wanted, pd.StringDtype) else made.to_numpy(object)
        if wanted.kind == "f" and isinstance(wanted, np.dtype):
            return self.to_numpy(dtype=wanted)
        return super().astype(dtype, copy)

    def _formatter(self, boxed: bool = False) -> Callable[[Any], str]:
        return lambda value: _text(value) or "<NA>"

    # ---- what is done with numbers --------------------------------------------------------

    def _cmp_method(self, other: Any, op: Any) -> Any:
        return pd.array(super()._cmp_method(other, op), dtype="boolean")  # type: ignore[misc]

    def _places(self) -> np.ndarray[Any, Any]:
        """Numbers in the order of the values, the same for equal ones."""
        encoded = self._pa_array.combine_chunks().dictionary_encode()
        order = np.full(len(encoded.dictionary) + 1, np.nan)
        order[pc.sort_indices(encoded.dictionary).to_numpy()] = np.arange(len(order) - 1)
        places: np.ndarray[Any, Any] = order[encoded.indices.fill_null(len(order) - 1).to_numpy()]
        return places

    def _rank(self, **how: Any) -> Any:
        return pd.Series(self._places()).rank(**how).to_numpy()

    def _arith_method(self, other: Any, op: Any) -> Any:
        """Sums and products have all digits; whole numbers count as long as they are."""
        if isinstance(other, (int, np.integer)) and op.__name__.removeprefix("r") in _EXACT:
            other = Decimal(int(other))
        try:
            return super()._arith_method(other, op)  # type: ignore[misc]
        except pa.ArrowInvalid:  # more digits than decimal128 has
            kind = self._pa_array.type  # with room for as many as Arrow has
            wide = DecimalArray(self._pa_array.cast(pa.decimal256(kind.precision, kind.scale)))
            made: Any = super(DecimalArray, wide)
            return made._arith_method(other, op)

    def round(self, decimals: int = 0, *args: Any, **more: Any) -> DecimalArray:
        """Rounded; Arrow alone makes something else of 9.99 as DECIMAL(3, 2)."""
        kind = self._pa_array.type
        room = self._pa_array.cast(decimal_type(kind.precision + 1, kind.scale))
        return DecimalArray(pc.round(room, ndigits=decimals))

    def _accumulate(self, name: str, *, skipna: bool = True, **more: Any) -> DecimalArray:
        values = self._pa_array.to_pylist()
        there = [value for value in values if value is not None]
        if not skipna and len(there) < len(values):
            there = there[: values.index(None)]
            values = [*there, *[None] * (len(values) - len(there))]
        with localcontext(prec=_ALL_DIGITS):
            sums = iter(list(accumulate(there, _ADDED[name])))
        made = [None if value is None else next(sums) for value in values]
        return DecimalArray(_given(made, None if there else self._pa_array.type))

    def _reduce(
        self, name: str, *, skipna: bool = True, keepdims: bool = False, **more: Any
    ) -> Any:
        """A sum has all digits (Arrow's, of 38, are wrong where there are more); a mean is exact to
        Python's 28."""
        values = self._pa_array
        count = len(self) - values.null_count
        if name == "prod" and skipna and not keepdims and count > more.get("min_count", 0) - 1:
            with localcontext(prec=_ALL_DIGITS):
                return prod(values.drop_null().to_pylist(), start=Decimal(1))
        if name not in ("sum", "mean") or not (skipna or count == len(self)):
            return super()._reduce(name, skipna=skipna, keepdims=keepdims, **more)
        kind = pa.decimal256(DECIMAL256_DIGITS, values.type.scale)
        made: Any = pc.sum(values.cast(kind), min_count=more.get("min_count", 0)).as_py()
        if name == "mean":
            made = made / count if count else None
        if keepdims:
            return DecimalArray(_given([made], None if made is not None else values.type))
        return pd.NA if made is None else made

    # ---- groups ---------------------------------------------------------------------------

    def _groupby_op(self, *, how: str, ids: Any, ngroups: int, min_count: int, **more: Any) -> Any:
        """What groups have: numbers of all digits; floats where a root or a middle is asked for."""
        given = {"how": how, "ids": ids, "ngroups": ngroups, "min_count": min_count, **more}
        if how in _ADDED:
            made = np.full(len(self), None, object)
            for rows in self._rows_of_groups(ids):
                sums = self.take(rows)._accumulate(how, skipna=more.get("skipna", True))
                made[rows] = sums.to_numpy(object)
            return DecimalArray(_given(made, None if len(made) else self._pa_array.type))
        if how not in ("sum", "mean", "min", "max"):
            floats = self._places() if how == "rank" else self.to_numpy(float)
            if how in ("first", "last"):
                floats = np.where(self.isna(), np.nan, np.arange(len(self)))
            numbers: Any = pd.array(floats, dtype="Float64")
            found = numbers._groupby_op(**given)
            if how not in ("first", "last"):
                return found
            return self.take(found.to_numpy(int, na_value=-1), allow_fill=True)
        kind = pa.decimal256(DECIMAL256_DIGITS, self._pa_array.type.scale)
        table = pa.table({"group": pa.array(ids), "value": self._pa_array.cast(kind)})
        wanted = [("value", "sum" if how == "mean" else how), ("value", "count")]
        groups, found, counts = table.group_by("group").aggregate(wanted).to_pydict().values()
        result: list[Decimal | None] = [Decimal(0) if how == "sum" and min_count < 1 else None]
        result *= ngroups
        for group, value, count in zip(groups, found, counts, strict=True):
            if group >= 0 and count >= max(min_count, 1):
                result[group] = value / count if how == "mean" else value
        return DecimalArray(_given(result, None if any(result) else self._pa_array.type))

    @staticmethod
    def _rows_of_groups(ids: Any) -> list[np.ndarray[Any, Any]]:
        order = np.argsort(ids, kind="stable")
        rows = np.split(order, np.flatnonzero(np.diff(ids[order])) + 1)
        return [some for some in rows if len(some) and ids[some[0]] >= 0]


def _given(values: Iterable[Any], kind: Any = None) -> Any:
    """Values as an Arrow array; what is missing in pandas is null."""
    return pa.array([None if pd.isna(value) else value for value in values], kind)


def _text(value: Any) -> str | None:
    return None if value is None or value is pd.NA else format(value, "f")
