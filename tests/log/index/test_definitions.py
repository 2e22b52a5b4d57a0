"""What an index keeps of tables' definitions is what was read, held once for all logs."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.constants import EventType
from binlogkit.errors import DamageError
from binlogkit.events.table_map import TableMap
from binlogkit.log.index import Index, Part, parts_of
from binlogkit.log.index.definitions import Bodies, definition_record
from binlogkit_fixtures import golden
from tests.answers.binlogkit_answers.inputs import Input, committed

INPUTS = committed()
LOG = golden.case("8.0-row-full", "transactions").binlogs[0]
_LENGTHS = 2 + 50 + 4 + 1  # offset of the post-header lengths in a format description


def _told(part: Part) -> list[Any]:
    return [
        (
            said.event, said.tx, said.body, said.raw.file, said.raw.pos, said.raw.end_pos,
            said.raw.inner, said.raw.version, said.raw.body, said.raw.header.timestamp,
            said.raw.header.type_code, said.raw.header.server_id,
        )
        for said in part.said
    ]  # fmt: skip


@pytest.mark.sampled(10, 24)
@pytest.mark.parametrize("name", sorted(INPUTS))
def test_what_is_kept_is_what_was_read(name: str, written: Callable[[Input], list[str]]) -> None:
    item = INPUTS[name]
    log = bk.open(written(item), on_damage="report", **item.options)
    Index("index").update(log.carriers, log.options)
    kept = Index("index").parts(log.carriers, log.options)
    read = parts_of(log.carriers, log.options, counting=True)
    assert [_told(part) for part in kept] == [_told(part) for part in read]


def test_logs_share_what_they_have_in_common(tmp_path: Path) -> None:
    for number in range(2):
        shutil.copy(LOG, tmp_path / f"binlog.{number + 1:06}")
    carriers = bk.open(tmp_path).carriers
    for carrier in carriers:  # each in a batch of its own
        Index(tmp_path / "index").update([carrier])
    one, other = Index(tmp_path / "index").besides([], ["transactions"], later=True)
    said_by_one, said_by_other = [*one.said], [*other.said]
    assert one.names != other.names and len(said_by_one) > 1
    for said, same in zip(said_by_one, said_by_other, strict=True):
        assert said.body is same.body and said.raw.body is same.raw.body
        assert (said.raw.file, same.raw.file) == (one.names[0], other.names[0])
    assert said_by_one[0].body == "8.0.31" and [*one.said] == said_by_one
    (facts,), (same_facts,) = one.alone.files, other.alone.files
    assert facts.checksums is same_facts.checksums and facts.servers is same_facts.servers
    assert facts.gtids.to_set() is one.gtids
    assert facts.name is one.names[0] is said_by_one[0].raw.file


def test_a_body_is_read_as_its_own_log_says() -> None:
    (part,) = parts_of(bk.open(LOG).carriers)
    records = [definition_record(said) for said in part.said]
    bodies = Bodies()
    known = [body for _, body in bodies.of_log(records)]
    assert known == [said.body for said in part.said]
    assert any(isinstance(body, TableMap) for body in known)
    lengths = bytearray(records[0]["body"])
    lengths[_LENGTHS + EventType.TABLE_MAP_EVENT - 1] = 6  # as up to 5.1.4: ids of 4 bytes
    with pytest.raises(DamageError):
        list(bodies.of_log([records[0] | {"body": bytes(lengths)}, *records[1:]]))
    assert [body for _, body in bodies.of_log(records)] == known
