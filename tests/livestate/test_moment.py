"""Places in a server's logs, in order."""

from __future__ import annotations

from binlogkit.rows.series import in_order


def test_a_log_of_seven_digits_follows_those_of_six() -> None:
    places = [("binlog.000009", 4), ("binlog.999999", 4), ("binlog.999999", 120),
              ("binlog.1000000", 4)]  # fmt: skip
    mixed = places[::-1]
    assert sorted(mixed, key=in_order) == places
