"""Golden binlogs of real servers for pytest; see plugin.py."""

from binlogkit_pytest.same_rows import RowsDiffer, assert_same_rows

__all__ = ["RowsDiffer", "assert_same_rows"]
