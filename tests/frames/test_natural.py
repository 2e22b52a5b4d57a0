"""What a pandas user does every day, on every frame that a log gives."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal, localcontext
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import binlogkit as bk
from binlogkit.errors import UsageError
from binlogkit.frames.fields.field import arrow_schema
from binlogkit.frames.fields.ledger import STATEMENT, TRANSACTION
from binlogkit.frames.natural import natural, plain
from binlogkit.log.audit import SECTIONS
from binlogkit_fixtures import golden

CASES = (
    ("8.0-row-full-metadata", "types"),
    ("8.0-row-partial-json", "json"),
    ("8.0-row-rows-query", "transactions"),
    ("5.7-mixed-full", "statements"),
)


@cache
def log_of(cell: str, scenario: str) -> bk.Log:
    return bk.open(list(golden.case(cell, scenario).binlogs))


def frames_of(log: bk.Log) -> Iterator[tuple[str, pd.DataFrame]]:
    """Every frame of a log, with and without rows."""
    for name, make in (
        ("rows", log.rows),
        ("events", log.events),
        ("transactions", log.transactions),
        ("statements", log.statements),
        ("boundaries", log.boundaries),
    ):
        yield name, make()
        yield f"{name}, empty", make(server_id=77)
    yield "tables", log.tables()
    yield "findings", log.verify().frame()
    audit = log.audit()
    for section in SECTIONS:
        yield f"audit {section}", audit.frame(section)
    for i, table in enumerate(log.table_names()):
        if table.startswith(("types.charsets", "types.collations", "types.wide")):
            continue  # texts, as in types.strings
        frames = {"": log.rows(table), ", empty": log.rows(table, server_id=77)}
        if table.endswith("decimals"):
            frames[", floats"] = log.rows(table, decimals="float")
        for name, frame in frames.items():
            # What all tables have is looked at once.
            yield f"rows {table}{name}", frame.filter(regex=r"^(before|after)") if i else frame
        yield f"state {table}", log.state(table).frame()


# ---- columns of a kind -------------------------------------------------------------------------


def of_each_type(frame: pd.DataFrame, columns: Iterable[str]) -> list[str]:
    """A column of each type, one with values where there is one."""
    found: dict[str, str] = {}
    for column in sorted(columns, key=lambda c: bool(frame[c].isna().all()), reverse=True):
        found[str(frame[column].dtype)] = column
    return list(found.values())


def every(frame: pd.DataFrame) -> list[str]:
    return [str(column) for column in frame.columns]


def texts(frame: pd.DataFrame) -> list[str]:
    return [c for c in every(frame) if isinstance(frame[c].dtype, pd.StringDtype)]


def numbers(frame: pd.DataFrame) -> list[str]:
    return [c for c in every(frame.select_dtypes(["number"])) if frame[c].dtype.kind != "m"]


def exact(frame: pd.DataFrame) -> list[str]:
    return [c for c in every(frame) if "decimal" in str(frame[c].dtype)]


def times(frame: pd.DataFrame) -> list[str]:
    return [c for c in every(frame) if frame[c].dtype.kind == "M"]


def durations(frame: pd.DataFrame) -> list[str]:
    return [c for c in every(frame) if frame[c].dtype.kind == "m"]


def readable(frame: pd.DataFrame) -> list[str]:
    """All but bytes, which pandas takes for UTF-8 when they are to be text."""
    return [c for c in every(frame) if not isinstance(_first(frame, c), bytes)]


Call = Callable[[pd.DataFrame, str], Any]


def _resampled(frame: pd.DataFrame, column: str) -> Any:
    return frame.resample("1D", on=column).size() if frame[column].nunique() == 1 else None


def _parquet(frame: pd.DataFrame, column: str) -> None:
    """Written and read again; decimals come back as pandas' own."""
    file = io.BytesIO()
    frame[[column]].to_parquet(file)
    file.seek(0)
    back = pd.read_parquet(file)[column]
    expected = frame[column]
    if isinstance(_first(frame, column), tuple):
        back = back.map(tuple, na_action="ignore")
    assert back.dropna().tolist() == expected.dropna().tolist()
    assert back.isna().equals(expected.isna())


def _first(frame: pd.DataFrame, column: str) -> Any:
    there = frame[column].dropna()
    return there.iloc[0] if len(there) else None


def _pivoted(frame: pd.DataFrame, column: str) -> None:
    counted = frame.assign(one=1)
    made = counted.pivot_table(index=column, values="one", aggfunc="sum")
    assert not len(made) or made["one"].sum() == frame[column].count()


def _merged(frame: pd.DataFrame, column: str) -> None:
    few = frame[[column]].drop_duplicates().head(3)
    made = few.merge(few, on=column)
    assert made[column].dtype == frame[column].dtype and len(made) == len(few)


def _grouped(frame: pd.DataFrame, column: str) -> None:
    """No group without a row, whatever was filtered away before."""
    half = frame.iloc[: len(frame) // 2]
    for observed in (True, False):
        sizes = half.groupby(column, observed=observed, dropna=False).size()
        assert (sizes > 0).all() and sizes.sum() == len(half)


def _sorted(frame: pd.DataFrame, column: str) -> None:
    ordered = frame.sort_values([column])[column]
    assert ordered.dropna().is_monotonic_increasing
    assert ordered.isna().sum() == frame[column].isna().sum()


def _concatenated(frame: pd.DataFrame, column: str) -> None:
    both = pd.concat([frame, frame.head(0), frame])
    assert both[column].dtype == frame[column].dtype and len(both) == 2 * len(frame)


def _stays(frame: pd.DataFrame, column: str) -> None:
    for other in (frame.head(0), frame[frame[column].notna()], frame.shift(0), frame.copy()):
        assert other[column].dtype == frame[column].dtype


CALLS: dict[str, tuple[Callable[[pd.DataFrame], list[str]], Call]] = {
    "sort_values": (every, _sorted),
    "sort_values, last first": (every, lambda f, c: f.sort_values(c, ascending=False)),
    "drop_duplicates": (every, lambda f, c: f.drop_duplicates(c)),
    "duplicated": (every, lambda f, c: f.duplicated([c])),
    "unique": (every, lambda f, c: f[c].unique()),
    "nunique": (every, lambda f, c: f[c].nunique()),
    "value_counts": (every, lambda f, c: f[c].value_counts(dropna=False)),
    "groupby": (every, _grouped),
    "groupby agg": (every, lambda f, c: f.groupby(c).agg({c: ["count", "min", "max"]})),
    "merge": (every, _merged),
    "concat": (every, _concatenated),
    "isin": (every, lambda f, c: f[f[c].isin([_first(f, c)])]),
    "isna": (every, lambda f, c: f[f[c].isna() | f[c].notna()]),
    "dropna": (every, lambda f, c: f.dropna(subset=[c])),
    "equal": (every, lambda f, c: f[f[c] == _first(f, c)] if len(f[c].dropna()) else None),
    "shift": (every, lambda f, c: f[c].shift(1)),
    "ffill": (every, lambda f, c: f[c].ffill()),
    "map": (every, lambda f, c: f[c].map(str)),
    "astype str": (readable, lambda f, c: f[c].astype(str)),
    "set_index": (every, lambda f, c: f.set_index(c).sort_index()),
    "pivot_table": (every, _pivoted),
    "transform": (every, lambda f, c: f.groupby(c)[c].transform("count")),
    "describe": (every, lambda f, c: f[c].describe()),
    "to_list": (every, lambda f, c: f[c].tolist()),
    "repr": (every, lambda f, c: repr(f[c])),
    "to_html": (every, lambda f, c: f[[c]].head().to_html()),
    "to_csv": (every, lambda f, c: f[[c]].to_csv(index=False)),
    "to_parquet": (every, _parquet),
    "type": (every, _stays),
    "sample": (every, lambda f, c: f[[c]].sample(frac=0.5, random_state=1)),
    "where": (every, lambda f, c: f[c].where(f[c].notna())),
    "cumcount": (every, lambda f, c: f.groupby(c).cumcount()),
    "first and last": (every, lambda f, c: f.groupby(c)[c].agg(["first", "last"])),
    "query": (every, lambda f, c: f.query(f"`{c}` == `{c}`")),
    "str.contains": (texts, lambda f, c: f[f[c].str.contains("a", na=False)]),
    "str.len": (texts, lambda f, c: f[c].str.len().sum()),
    "str.upper": (texts, lambda f, c: f[c].str.upper().str.startswith("A")),
    "str.split": (texts, lambda f, c: f[c].str.split(".").str[0]),
    "str.extract": (texts, lambda f, c: f[c].str.extract(r"(\d+)")),
    "concatenated texts": (texts, lambda f, c: f[c] + "." + f[c]),
    "sum": (numbers, lambda f, c: f[c].sum()),
    "mean": (numbers, lambda f, c: f[c].mean()),
    "median": (numbers, lambda f, c: f[c].median()),
    "nlargest": (numbers, lambda f, c: f.nlargest(3, c)),
    "nsmallest": (numbers, lambda f, c: f[c].nsmallest(3)),
    "rank": (numbers, lambda f, c: f[c].rank()),
    "quantile": (numbers, lambda f, c: f[c].quantile(0.5)),
    "cumsum": (exact, lambda f, c: f[c].cumsum()),
    "cumsum of groups": (numbers, lambda f, c: f.groupby(c)[c].transform("count").cumsum()),
    "between": (numbers, lambda f, c: f[f[c].between(1, 5)]),
    "greater": (numbers, lambda f, c: f[f[c] > 3]),
    "arithmetic": (numbers, lambda f, c: f[c] * 2 + 1),
    "cut": (numbers, lambda f, c: pd.cut(f[c].astype("float64"), 3) if f[c].count() else None),
    "fillna": (numbers, lambda f, c: f[c].fillna(0)),
    "groupby sum": (numbers, lambda f, c: f.groupby(f[c] > 1)[c].sum()),
    "dt": (times, lambda f, c: (f[c].dt.hour, f[c].dt.date, f[c].dt.day_name())),
    "dt.floor": (times, lambda f, c: f.groupby(f[c].dt.floor("min")).size()),
    "dt.strftime": (times, lambda f, c: f[c].dt.strftime("%Y-%m-%d")),
    "resample": (times, _resampled),
    "difference": (times, lambda f, c: (f[c] - f[c].min()).dt.total_seconds().max()),
    "min and max": (times, lambda f, c: (f[c].min(), f[c].max())),
    "total_seconds": (durations, lambda f, c: f[c].dt.total_seconds().sum()),
    "sum of durations": (durations, lambda f, c: f[c].cumsum() + pd.Timedelta(1)),
}


def test_there_are_fifty_calls() -> None:
    assert len(CALLS) >= 50


# What numpy says of a column without a value, and of the largest doubles; and pandas of itself.
@pytest.mark.filterwarnings("ignore:.*(Mean of empty slice|encountered in):RuntimeWarning")
@pytest.mark.filterwarnings("ignore:(Datetime|Timedelta)Array.__init__:FutureWarning")
@pytest.mark.sampled(0, 1)
@pytest.mark.parametrize(("cell", "scenario"), CASES)
def test_everyday_calls(cell: str, scenario: str) -> None:
    failed = []
    for name, frame in frames_of(log_of(cell, scenario)):
        kept = frame.copy(deep=True)
        for call, (columns, do) in CALLS.items():
            for column in of_each_type(frame, columns(frame)):
                try:
                    do(frame, column)
                except Exception as error:  # noqa: BLE001 - of pandas, any
                    failed.append(f"{name}: {call} of {column} ({frame[column].dtype}): {error!r}")
        pd.testing.assert_frame_equal(frame, kept)
    assert not failed, f"{len(failed)}:\n" + "\n".join(failed)


def test_decimals_have_all_digits() -> None:
    frame = log_of("8.0-row-full-metadata", "types").rows("types.decimals")
    column: Any = frame["after.d65_30"]
    values = [value for value in column.tolist() if isinstance(value, Decimal)]
    with localcontext(prec=200):
        total = sum(values, Decimal())
        assert column.sum() == total
        groups: Any = frame.groupby("op")["after.d65_30"].sum()
        assert groups.sum() == total
    assert column.mean() == total / len(values)
    assert column.max() == max(values) and column.min() == min(values)
    assert column.sort_values().dropna().tolist() == sorted(values)
    assert (column == max(values)).sum() == values.count(max(values))
    ranks = column.rank(method="dense")
    assert ranks.max() == len(set(values)) and ranks[column.idxmax()] == ranks.max()


def test_decimals_as_floats() -> None:
    log = log_of("8.0-row-full-metadata", "types")
    frame = log.rows("types.decimals", decimals="float")
    assert frame["after.d65_30"].dtype == "float64"
    assert log.state("types.decimals").frame(decimals="float")["d65_30"].dtype == "float64"
    with pytest.raises(UsageError, match="decimals is exact or float, not 'double'"):
        log.rows("types.decimals", decimals="double")  # type: ignore[call-overload]
    with pytest.raises(UsageError, match="Arrow has them exact"):
        log.rows("types.decimals", engine="pyarrow", decimals="float")  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("type", "values", "digits", "sum_"),
    [
        (pa.decimal128(3, 2), ["9.99", "9.98", None], 1, "19.97"),
        (pa.decimal128(38, 0), ["9" * 38] * 20, 0, "1" + "9" * 37 + "80"),
        (pa.decimal128(10, 2), [None, None], 1, "0.00"),
    ],
)
def test_more_digits_than_the_column_has(
    type: pa.DataType, values: list[str | None], digits: int, sum_: str
) -> None:
    numbers = [None if value is None else Decimal(value) for value in values]
    frame = natural(pa.table({"d": pa.array(numbers, type), "k": ["a"] * len(values)}))
    assert frame["d"].sum() == Decimal(sum_) == frame.groupby("k")["d"].sum()["a"]
    with localcontext(prec=100):
        exact = [None if value is None else round(value, digits) for value in numbers]
        rounded = frame["d"].round(digits)
        assert [None if pd.isna(v) else v for v in rounded.tolist()] == exact
        doubled = (frame["d"] * 2 + 1).tolist()
        assert [None if pd.isna(v) else v for v in doubled] == [
            None if value is None else value * 2 + 1 for value in numbers
        ]


@pytest.mark.slow
def test_the_same_types_with_and_without_a_table() -> None:
    for cell, scenario in CASES:
        log = log_of(cell, scenario)
        everything = log.rows()
        for table in log.table_names():
            frame, empty = log.rows(table), log.rows(table, server_id=77)
            shared = [column for column in everything if column in frame]
            assert len(shared) == len(everything.columns) - 2  # but the images
            assert frame[shared].dtypes.equals(everything[shared].dtypes)
            assert empty.dtypes.equals(frame.dtypes) and not len(empty)


def test_pictures(tmp_path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    log = log_of("8.0-row-rows-query", "transactions")
    prices = log_of("8.0-row-full-metadata", "types").rows("types.decimals")
    drawn: list[Any] = [
        log.transactions().plot(x="timestamp", y="size"),
        log.rows().groupby("table").size().plot.bar(),
        prices["after.d10_2"].plot(),
    ]
    for number, axes in enumerate(drawn):
        axes.figure.savefig(tmp_path / f"{number}.png")
    assert {path.stat().st_size > 1000 for path in tmp_path.iterdir()} == {True}


def test_there_and_back() -> None:
    """What analyses make of a pandas frame is what the log has in Arrow."""
    log = log_of("8.0-row-full-metadata", "types")
    for name, declared in (("transactions", TRANSACTION), ("statements", STATEMENT)):
        make = getattr(log, name)
        assert plain(make(), declared).cast(arrow_schema(declared)).equals(make(engine="pyarrow"))
