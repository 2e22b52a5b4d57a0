"""The parts of a binary JSON document."""

from __future__ import annotations

from binlogkit.rows.explain.documents import json_parts

STRING = b"\x0c\x02hi"
ARRAY = b"\x02\x01\x00\x07\x00\x05\x03\x00"  # [3]: count, size, the type and value of an entry


def test_a_documents_type_is_its_first_byte() -> None:
    parts, problem = json_parts(STRING, 40)
    assert not problem
    assert (parts[0].field, parts[0].start, parts[0].end) == ("json_type", 40, 41)
    assert (parts[0].value, parts[0].meaning) == (0x0C, "JSON string")
    assert parts[-1].value == '"hi"'
    assert parts[-1].end == 40 + len(STRING)


def test_an_array_is_read_to_its_end() -> None:
    parts, problem = json_parts(ARRAY, 0)
    assert not problem and parts[0].value == 0x02
    assert parts[-1].end == len(ARRAY)
    every = {part.field: part.value for one in parts for _, part in one.walk()}
    assert (every["count"], every["size"], every["[0]"]) == (1, 7, "3")


def test_what_is_cut_has_a_problem_and_no_document_has_no_parts() -> None:
    assert json_parts(b"", 7) == ([], "")
    parts, problem = json_parts(ARRAY[:-1], 0)
    assert problem and parts[-1].end == len(ARRAY) - 1
