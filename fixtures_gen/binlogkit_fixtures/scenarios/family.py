"""A family of column types: one table of the scenario ``types``, and the SQL that fills it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from binlogkit_fixtures.scenarios.model import ALWAYS, Condition

__all__ = ["DATABASE", "Column", "Family", "literal", "literals"]

DATABASE = "types"


@dataclass(frozen=True, slots=True)
class Column:
    """A column: name, type with attributes, and its values from the first row on."""

    name: str
    type: str
    values: Sequence[str]


@dataclass(frozen=True, slots=True)
class Family:
    """A table of columns that belong together; ``when``: in which versions its types exist."""

    table: str
    columns: Sequence[Column]
    when: Condition = ALWAYS

    def row(self, number: int) -> list[str]:
        """The literals of the row of that number, from 0."""
        return [c.values[number] if number < len(c.values) else "NULL" for c in self.columns]

    @property
    def height(self) -> int:
        """How many rows there are."""
        return max(len(c.values) for c in self.columns)

    def create(self) -> str:
        """CREATE TABLE."""
        columns = ",\n  ".join(f"`{c.name}` {c.type}" for c in self.columns)
        return f"CREATE TABLE {DATABASE}.{self.table} (id INT PRIMARY KEY,\n  {columns})"

    def insert(self) -> str:
        """One INSERT of all rows but the last."""
        rows = ",\n".join(f"({n + 1}, {', '.join(self.row(n))})" for n in range(self.height - 1))
        return f"INSERT INTO {DATABASE}.{self.table} VALUES\n{rows}"

    def insert_last(self) -> str:
        """The last row, by itself."""
        last = self.height
        values = ", ".join(self.row(last - 1))
        return f"INSERT INTO {DATABASE}.{self.table} VALUES ({last}, {values})"

    def update(self, target: int, source: int) -> str:
        """UPDATE row ``target`` (from 0) to the values of row ``source``."""
        names = [f"`{c.name}`" for c in self.columns]
        pairs = ", ".join(f"{n} = {v}" for n, v in zip(names, self.row(source), strict=True))
        return f"UPDATE {DATABASE}.{self.table} SET {pairs} WHERE id = {target + 1}"

    def delete(self, number: int) -> str:
        """DELETE the row of that number."""
        return f"DELETE FROM {DATABASE}.{self.table} WHERE id = {number + 1}"


def literal(value: str) -> str:
    """A string literal in a session without NO_BACKSLASH_ESCAPES."""
    for raw, escaped in (
        ("\\", "\\\\"),
        ("'", "\\'"),
        ("\0", "\\0"),
        ("\n", "\\n"),
        ("\x1a", "\\Z"),
    ):
        value = value.replace(raw, escaped)
    return f"'{value}'"


def literals(*values: str) -> list[str]:
    return [literal(value) for value in values]
