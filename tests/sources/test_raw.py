"""An event's header."""

from __future__ import annotations

import pytest

from binlogkit.sources.raw import flag_names, parse_header


@pytest.mark.parametrize(
    ("flags", "names"),
    [
        (0, []),
        (0x0001, ["IN_USE"]),
        (0x0008 | 0x0080 | 0x0200, ["SUPPRESS_USE", "IGNORABLE", "MTS_ISOLATE"]),
        (0x0020 | 0x0400 | 0x8000, ["ARTIFICIAL", 0x0400, 0x8000]),
    ],
)
def test_flags_have_the_server_s_names_or_are_numbers(flags: int, names: list[str | int]) -> None:
    """``LOG_EVENT_…_F`` in the server's log_event.h."""
    assert flag_names(flags) == names


def test_headers_of_both_lengths() -> None:
    """13 bytes before 4.0, 19 since; the manual's "Binlog Event Header"."""
    data = bytes.fromhex("01000000 02 03000000 04000000 05000000 0600")
    assert parse_header(data, 13) == parse_header(data[:13], 13)
    short, long = parse_header(data, 13), parse_header(data, 19)
    assert (short.log_pos, short.flags, short.length) == (0, 0, 13)
    assert (long.log_pos, long.flags, long.length) == (5, 6, 19)
    assert (long.timestamp, long.type_code, long.server_id, long.size) == (1, 2, 3, 4)
