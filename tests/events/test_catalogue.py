"""What is said of each type and flag covers all of them, and agrees with the parsers."""

from __future__ import annotations

from binlogkit.constants import EventFlag, EventType
from binlogkit.events import reader
from binlogkit.events.base import parser_of
from tests.docs.conftest import TOOL


def test_every_type_and_flag_has_its_facts() -> None:
    events, flags = TOOL.CATALOGUE["events"], TOOL.CATALOGUE["flags"]
    assert [EventType[name] for name in events] == list(EventType)
    assert [EventFlag[name] for name in flags] == list(EventFlag)
    assert all(facts["since"] and facts["meaning"] for facts in events.values())


def test_every_type_but_the_unknown_one_is_read() -> None:
    assert reader
    assert [code.name for code in EventType if parser_of(code) is None] == ["UNKNOWN_EVENT"]
