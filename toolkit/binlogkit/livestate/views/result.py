"""A query's result, and the state of its groups, by what each step takes and gives."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from datetime import UTC, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from operator import itemgetter
from typing import Any

from binlogkit.errors import UndeterminedError
from binlogkit.livestate.views.engine import QueryEngine
from binlogkit.livestate.views.plan import Ordering, QueryPlan, ResultColumn

Row = tuple[Any, ...]
_EXACT = Context(prec=100)
_FEW = 16  # one change in so many rows is put at its place


class _Group:
    """The state of one group: ``count``: of its rows; ``sums``, ``counts``: by inner column, of
    values that are not NULL; ``values``: how often each value is there, where that is needed."""

    __slots__ = ("count", "counts", "shown", "sums", "values")

    def __init__(self) -> None:
        self.count = 0
        self.sums: dict[int, Any] = {}
        self.counts: dict[int, int] = {}
        self.values: dict[int, Counter[Any]] = {}
        self.shown: Row | None = None


class Result:
    """A plan's result: ``rows``: how often each is there."""

    def __init__(self, plan: QueryPlan) -> None:
        self.plan = plan
        self.rows: Counter[Row] = Counter()
        self._sorted: list[Row] = []  # of a limited result, whose order distinguishes all rows
        self._groups: dict[Row, _Group] = {}
        self._folds = any("lower(" in sql for sql in plan.compared)
        self._spelled: dict[Row, Row] = {}
        self._places = {inner: i for i, inner in enumerate(plan.group or ())}
        self._sums = sorted({o.inner for o in plan.outputs if o.how in ("sum", "avg")})
        self._counts = sorted({o.inner for o in plan.outputs if o.how == "count" and o.inner >= 0})
        self._values = sorted(
            {o.inner for o in plan.outputs if o.how in ("min", "max", "count distinct")}
        )
        if plan.one_row:
            group = self._groups[()] = _Group()
            group.shown = self._output((), group)
            if group.shown is not None:
                self.rows[group.shown] = 1
                self._sorted = [group.shown]

    @property
    def asks(self) -> int:
        """How many queries :meth:`take` asks."""
        return 1 + len(self._values)

    def take(self, engine: QueryEngine) -> Counter[Row]:
        """Fold what the engine holds as ``d``; what changed in the result."""
        found: Counter[Row] = Counter()
        if self.plan.group is None:
            names = ", ".join(f"x{o.inner}" for o in self.plan.outputs)
            sql = f"SELECT {names}, SUM(w) n FROM d GROUP BY ALL HAVING SUM(w) <> 0"
            for *values, weight in engine.query(sql):
                row = tuple(map(_shown, self.plan.outputs, values))
                found[row] += int(weight)
        else:
            touched = self._take_groups(engine)
            for key in sorted(touched, key=lambda key: self._groups[key].count > 0):
                self._changed(key, found)
        for row, weight in found.items():
            left = self.rows[row] + weight
            if left < 0:
                raise UndeterminedError(self.plan.sql, (f"{row!r} went, and was not there",))
            if left:
                self.rows[row] = left
            else:
                del self.rows[row]
        if self.plan.limited:
            self._sort(found)
        return Counter({row: weight for row, weight in found.items() if weight})

    def _take_groups(self, engine: QueryEngine) -> list[Row]:
        group = self.plan.group
        assert group is not None
        size, touched = len(group), dict[Row, None]()
        by = [f"x{i}" for i in group]
        parts = [*by, "SUM(w) n"]
        for i in self._sums:
            exact = f"CAST(x{i} AS {self._wide(i)})"
            parts.append(f"SUM(CASE WHEN w > 0 THEN {exact} ELSE -{exact} END)")
        for i in sorted({*self._sums, *self._counts}):
            parts.append(f"SUM(CASE WHEN x{i} IS NULL THEN 0 ELSE w END)")
        grouping = f" GROUP BY {', '.join(by)}" if by else ""
        for line in engine.query(f"SELECT {', '.join(parts)} FROM d{grouping}"):
            if line[size] is None:  # no rows at all, without groups
                continue
            key, rest = tuple(line[:size]), list(line[size:])
            state = self._groups.setdefault(key, _Group())
            touched[key] = None
            state.count += int(rest.pop(0))
            for i in self._sums:
                state.sums[i] = _EXACT.add(state.sums.get(i, Decimal(0)), Decimal(rest.pop(0) or 0))
            for i in sorted({*self._sums, *self._counts}):
                state.counts[i] = state.counts.get(i, 0) + int(rest.pop(0))
        for i in self._values:
            names = ", ".join([*by, f"x{i}"])
            sql = f"SELECT {names}, SUM(w) FROM d WHERE x{i} IS NOT NULL GROUP BY {names}"
            for *names_of, value, weight in engine.query(sql):
                values = self._groups[tuple(names_of)].values.setdefault(i, Counter())
                values[value] += int(weight)
                if not values[value]:
                    del values[value]
        return list(touched)

    def _wide(self, inner: int) -> str:
        kind = self.plan.kinds[inner]
        return f"DECIMAL(38, {kind.scale})" if kind.scale else "HUGEINT"

    def _check_spelling(self, key: Row, *, there: bool) -> None:
        """UndeterminedError: texts of a group are spelled in several ways."""
        if not self._folds:
            return
        small = tuple(v.lower() if isinstance(v, str) else v for v in key)
        other = self._spelled.get(small)
        if there and other is not None and other != key:
            doubt = (
                f"{key!r} and {other!r} are one group, which the server shows as one or the other"
            )
            raise UndeterminedError(self.plan.sql, (doubt,))
        if there:
            self._spelled[small] = key
        elif other == key:
            del self._spelled[small]

    def _changed(self, key: Row, found: Counter[Row]) -> None:
        """Note what became of a group."""
        group = self._groups[key]
        before = group.shown
        there = bool(group.count) or self.plan.one_row
        group.shown = self._output(key, group) if there else None
        self._check_spelling(key, there=there)
        if not there:
            del self._groups[key]
        if before == group.shown:
            return
        if before is not None:
            found[before] -= 1
        if group.shown is not None:
            found[group.shown] += 1

    def _output(self, key: Row, group: _Group) -> Row | None:
        """A group's row; None: HAVING leaves it out."""
        plan = self.plan
        found = tuple(
            _shown(o, key[self._places[o.inner]]) if o.how == "value" else _aggregate(o, group)
            for o in plan.outputs
        )
        if plan.having is not None and plan.having(found) is not True:
            return None
        return tuple(
            one if o.make is None else o.make(found)
            for o, one in zip(plan.columns, found, strict=False)
        )

    def ordered(self) -> list[Row]:
        """The rows as the query shows them."""
        if not self.plan.limited:
            return self._in_order()
        first, limit = self.plan.offset, self.plan.limit
        last = None if limit is None else first + limit
        for place in (first, last):
            self._check_tie(place)
        return self._sorted[first:last]

    def _check_tie(self, place: int | None) -> None:
        """UndeterminedError: chance decides which rows a limit leaves out."""
        rows = self._sorted
        if not place or place >= len(rows):
            return
        key, row = self._key(rows[place]), rows[place]
        for way in (reversed(rows[:place]), iter(rows[place:])):
            for other in way:
                if self._key(other) != key:
                    break
                if other != row:
                    doubt = f"the order does not distinguish {other!r} from {row!r}"
                    raise UndeterminedError(self.plan.sql, (doubt,))

    def _in_order(self) -> list[Row]:
        found = [row for row, count in self.rows.items() for _ in range(count)]
        for one in reversed(self.plan.order):
            found.sort(key=lambda row: _sort_key(one, row[one.output]), reverse=one.descending)
        return found

    def _sort(self, changed: Counter[Row]) -> None:
        """Keep all rows of a limited result in order: few changes at their places, many at once."""
        if len(changed) > len(self._sorted) // _FEW:
            self._sorted = self._in_order()
            return
        for row, weight in sorted(changed.items(), key=itemgetter(1)):
            at = bisect_left(self._sorted, self._key(row), key=self._key)
            self._sorted[at : at - min(weight, 0)] = [row] * max(weight, 0)

    def _key(self, row: Row) -> tuple[Any, ...]:
        return tuple(
            _Down(_sort_key(one, row[one.output])) if one.descending
            else _sort_key(one, row[one.output])
            for one in self.plan.order
        )  # fmt: skip


class _Down:
    """A key by which the greatest comes first."""

    __slots__ = ("key",)

    def __init__(self, key: tuple[int, Any]) -> None:
        self.key = key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Down) and self.key == other.key

    def __lt__(self, other: _Down) -> bool:
        return other.key < self.key

    def __hash__(self) -> int:
        return hash(self.key)


def _sort_key(one: Ordering, value: Any) -> tuple[int, Any]:
    """NULL is the least."""
    if value is None:
        return (0, 0)
    return (1, value.lower() if one.folded else value)


def _aggregate(output: ResultColumn, group: _Group) -> Any:
    inner = output.inner
    if output.how == "made":
        return None
    if output.how == "count":
        return group.count if inner < 0 else group.counts.get(inner, 0)
    if output.how == "count distinct":
        return len(group.values.get(inner, ()))
    if output.how in ("min", "max"):
        values = group.values.get(inner)
        if not values:
            return None
        return _shown(output, min(values) if output.how == "min" else max(values))
    count = group.counts.get(inner, 0)
    if not count:
        return None
    total = group.sums[inner]
    if output.how == "avg":
        total = _EXACT.divide(total, Decimal(count))
    # AVG has four digits more (div_precision_increment), rounded half up as MySQL's decimals are.
    return total.quantize(Decimal(1).scaleb(-output.kind.scale), ROUND_HALF_UP, _EXACT)


def _shown(output: ResultColumn, value: Any) -> Any:
    """A value as a frame of the table has it."""
    if value is None:
        return None
    kind = output.kind.name
    if kind == "timestamp":
        return value.replace(tzinfo=UTC)
    if kind == "time":
        return timedelta(microseconds=value)
    if kind == "boolean":
        return int(value)
    if kind == "quotient" and isinstance(value, int):
        return _EXACT.scaleb(Decimal(value), -output.kind.scale)
    return value
