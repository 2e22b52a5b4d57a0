"""A registered query, as its user has it."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import pandas as pd

    from binlogkit.livestate.moment import Moment
    from binlogkit.livestate.views.view import View, ViewChange


class QueryOwner(Protocol):
    """What a query asks of the live state that it belongs to."""

    @property
    def ended(self) -> bool:
        """Whether nothing is followed any more."""

    def holding(self) -> AbstractContextManager[Moment]:
        """Hold the moment still."""

    def check(self) -> None:
        """Raise what ended the following."""

    def drop(self, name: str) -> None:
        """Keep a query no more."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A query's rows as of one moment."""

    columns: list[str]
    rows: list[tuple[Any, ...]]
    moment: Moment

    def frame(self) -> pd.DataFrame:
        """The rows as pandas, values as Python has them."""
        import pandas as pd

        return pd.DataFrame(self.rows, columns=self.columns, dtype=object)


class KeptQuery:
    """A query whose result is kept up to date; ``sql``, ``name``.

    What it shows is the result at the end of the transaction that ``live.moment`` names. Each
    question raises why the query cannot be kept, where it cannot any more.
    """

    def __init__(self, live: QueryOwner, view: View, news: threading.Condition) -> None:
        self._live, self._view, self._news = live, view, news
        self.sql, self.name = view.sql, view.name

    @property
    def columns(self) -> list[str]:
        """The result's columns."""
        assert self._view.plan is not None
        return self._view.plan.names()

    def rows(self) -> list[tuple[Any, ...]]:
        """The rows, in the query's order where it has one."""
        with self._live.holding():
            return list(self._view.shown_rows())

    def records(self) -> list[dict[str, Any]]:
        """The rows as dicts."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows()]

    def frame(self) -> pd.DataFrame:
        """The rows as pandas, values as Python has them."""
        import pandas as pd

        return pd.DataFrame(self.rows(), columns=self.columns, dtype=object)

    def lookup(self, **values: Any) -> list[tuple[Any, ...]]:
        """The rows that have these values of some columns, compared as Python does: from an index,
        which the first lookup of these columns makes."""
        with self._live.holding():
            return self._view.find(values)

    def drop(self) -> None:
        """Keep it no more."""
        self._live.drop(self.name)

    def changes(
        self, timeout: float | None = None, *, beginning: bool = False
    ) -> Iterator[ViewChange]:
        """The result's changes from this call on, each with the transaction's end that it is as of;
        ends with the following, or where nothing comes for ``timeout`` seconds.

        ``beginning``: the rows as they are now come first, as a change. One at a time can be gone
        through; changes that nobody takes are kept.
        """
        from binlogkit.livestate.views.view import ViewChange

        with self._live.holding() as moment:
            self._view.keep_changes()
            rows = Counter(self._view.shown_rows()) if beginning else Counter[Any]()
        first = [ViewChange(tuple(rows.items()), moment)] if beginning else []
        return chain(first, self._changes(timeout))

    def _changes(self, timeout: float | None) -> Iterator[ViewChange]:
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            with self._news:
                found = list(self._view.take_changes())
                if not found:
                    self._view.shown_rows()
                    self._live.check()
                    left = None if until is None else until - time.monotonic()
                    if self._live.ended or (left is not None and left <= 0):
                        return
                    self._news.wait(1.0 if left is None else min(left, 1.0))
            if found:
                yield from found
                until = None if timeout is None else time.monotonic() + timeout


def json_value(value: Any) -> Any:
    """A value as records have it (docs/records.md)."""
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat(" ")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, timedelta):
        return _time_text(value)
    if isinstance(value, bytes):
        return f"0x{value.hex().upper()}"
    return value


def _time_text(value: timedelta) -> str:
    micros = value // timedelta(microseconds=1)
    sign, micros = ("-", -micros) if micros < 0 else ("", micros)
    seconds, fraction = divmod(micros, 1_000_000)
    text = f"{sign}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{text}.{fraction:06}" if fraction else text
