"""Fields that hold more than their parser reads: each is passed to the code that reads the rest."""

from __future__ import annotations

from collections.abc import Callable

from binlogkit.constants import event_type_name
from binlogkit.errors import DamageError, LimitError
from binlogkit.events.base import Body, parser_of
from binlogkit.events.explain.cursor import Recorder
from binlogkit.events.explain.parts import Detail, FieldPart, fill
from binlogkit.events.explain.shape import shaped
from binlogkit.events.format_description import FormatDescription
from binlogkit.events.group import TransactionContext
from binlogkit.events.gtid import PreviousGtids
from binlogkit.events.gtid_set import GtidSet
from binlogkit.events.payload import TransactionPayload, inner_events
from binlogkit.events.variables import UserVar
from binlogkit.sources.raw import RawEvent

MOST_INNER = 1000  # events of a payload that are listed
_FIRST_TYPE = 1


def expand(part: FieldPart, raw: RawEvent, body: Body | None) -> None:
    """Take ``part`` of an event further apart, or say what its value means, where that is known."""
    known = _EXPANSIONS.get((type(body), part.field))
    if known is not None:
        known(part, raw, body)


def _post_header_lengths(part: FieldPart, raw: RawEvent, body: Body) -> None:
    assert isinstance(body, FormatDescription)
    part.value = None
    part.parts = [
        FieldPart(event_type_name(code), part.start + i, part.start + i + 1, length, f"type {code}")
        for i, (code, length) in enumerate(enumerate(body.post_header_lengths, _FIRST_TYPE))
    ]


def _snapshot(part: FieldPart, raw: RawEvent, body: Body) -> None:
    assert isinstance(body, TransactionContext)
    recorder = Recorder(body.snapshot_version, raw.file, raw.pos, base=part.start)
    try:
        part.value = str(GtidSet.read(recorder))
    except DamageError as error:
        part.problem = error.reason
    part.parts = shaped(recorder.parts, "gtid_set", {})
    fill(part)


def _previous(part: FieldPart, raw: RawEvent, body: Body) -> None:
    assert isinstance(body, PreviousGtids)
    part.value = body.gtid_set
    part.meaning = "the transactions in the logs before this one"


def _payload(part: FieldPart, raw: RawEvent, body: Body) -> None:
    assert isinstance(body, TransactionPayload)
    at = count = 0
    try:
        for event in inner_events(raw, body):
            if event.inner is not None and event.inner < MOST_INNER:
                read = "" if parser_of(event.header.type_code) else ", a type that is not read"
                part.details.append(
                    Detail(
                        f"{raw.pos}/{event.inner}",
                        event_type_name(event.header.type_code),
                        f"{event.header.size} bytes at {at} of the payload unpacked{read}",
                    )
                )
            at += event.header.size
            count += 1
        if count > MOST_INNER:
            part.details.append(Detail("…", f"{count - MOST_INNER} more", ""))
    except (DamageError, LimitError) as error:
        part.problem = error.reason if isinstance(error, DamageError) else str(error)


def _user_value(part: FieldPart, raw: RawEvent, body: Body) -> None:
    assert isinstance(body, UserVar)
    decoded = body.decoded
    part.value = part.value if decoded is None else decoded


_EXPANSIONS: dict[tuple[type, str], Callable[[FieldPart, RawEvent, Body], None]] = {
    (FormatDescription, "post_header_lengths"): _post_header_lengths,
    (TransactionContext, "snapshot_version"): _snapshot,
    (TransactionPayload, "payload"): _payload,
    (UserVar, "value"): _user_value,
    (PreviousGtids, "body"): _previous,
}
