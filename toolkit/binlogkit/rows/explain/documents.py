"""Binary JSON and partial JSON updates, byte by byte.

The structure is read by ``_kernel/json_binary.py``'s own frames and scalars. A document need not
be dense: the server updates in place and leaves what it does not need any more, and a crafted one
may use bytes twice; each byte is shown once, where it is first.
"""

from __future__ import annotations

from collections.abc import Callable

from binlogkit._kernel.json_binary import MAX_DEPTH, Container, InvalidJson, counted, scalar_text
from binlogkit._kernel.json_diff import parse_diffs
from binlogkit.errors import DamageError
from binlogkit.events.explain.cursor import Recorder
from binlogkit.events.explain.parts import Detail, FieldPart, fill, grouped

_TYPES = {
    0x00: "object", 0x01: "large object", 0x02: "array", 0x03: "large array", 0x04: "literal",
    0x05: "int16", 0x06: "uint16", 0x07: "int32", 0x08: "uint32", 0x09: "int64", 0x0A: "uint64",
    0x0B: "double", 0x0C: "string", 0x0F: "opaque",
}  # fmt: skip
_LARGEST_CONTAINER = 0x03
_COUNTED = {0x0C: 0, 0x0F: 1}  # where the length stands
_FIXED = {0x04: 1, 0x05: 2, 0x06: 2, 0x07: 4, 0x08: 4, 0x09: 8, 0x0A: 8, 0x0B: 8}
_INLINED = {2: (0x04, 0x05, 0x06), 4: (0x04, 0x05, 0x06, 0x07, 0x08)}
_OPERATIONS = ("replace", "insert", "remove")
_UNUSED = "not used: left over from an update in place, or nothing's"

# Keys and values in the order of their bytes: where each begins, its entry, what reads it.
_Waiting = list[tuple[int, FieldPart, Callable[[], FieldPart]]]


def json_parts(data: bytes, base: int) -> tuple[list[FieldPart], str]:
    """The parts of a document that begins at ``base`` of its event, and what is wrong with it."""
    if not data:
        return [], ""
    kind = FieldPart("json_type", base, base + 1, data[0], _type(data[0]))
    whole = FieldPart("document", base, base + len(data), parts=[kind])
    problem = ""
    try:
        whole.parts.append(_value("value", data[0], memoryview(data)[1:], base + 1, 0))
    except InvalidJson as error:
        problem = str(error)
    fill(whole, "rest" if problem else "unused", "not read" if problem else _UNUSED, problem)
    return whole.parts, problem


def _type(kind: int) -> str:
    return f"JSON {_TYPES.get(kind, 'of an unknown type')}"


def _value(name: str, kind: int, data: memoryview, at: int, depth: int) -> FieldPart:
    """A value that ``data`` begins with, at ``at`` of the event."""
    if kind <= _LARGEST_CONTAINER:
        return _container(name, kind, Container.read(kind, data), at, depth + 1)
    text = scalar_text(kind, data)
    if kind not in _COUNTED:
        return FieldPart(name, at, at + _FIXED[kind], text, _type(kind))
    start, stop = counted(data, _COUNTED[kind])
    part = FieldPart(name, at, at + stop, text, _type(kind))
    if _COUNTED[kind]:
        part.parts.append(FieldPart("opaque_type", at, at + 1, data[0], "its type as a column"))
    length_at = at + _COUNTED[kind]
    part.parts.append(
        FieldPart("length", length_at, at + start, stop - start, "bytes, in groups of 7 bits")
    )
    part.parts.append(FieldPart("content", at + start, at + stop, bytes(data[start:stop])))
    return part


def _container(name: str, kind: int, frame: Container, at: int, depth: int) -> FieldPart:
    if depth > MAX_DEPTH:
        raise InvalidJson(f"deeper than {MAX_DEPTH} containers")
    width = frame.width
    members = "members" if frame.keyed else "elements"
    part = FieldPart(name, at, at + len(frame.data), None, _type(kind))
    part.parts = [
        FieldPart("count", at, at + width, frame.count, members),
        FieldPart("size", at + width, at + 2 * width, len(frame.data), "bytes of the container"),
    ]
    waiting: _Waiting = []
    names = [frame.key(i) if frame.keyed else f"[{i}]" for i in range(frame.count)]
    if frame.keyed:
        part.parts += [_key_entry(frame, i, names[i], at, waiting) for i in range(frame.count)]
    part.parts += [_entry(frame, i, names[i], at, depth, waiting) for i in range(frame.count)]
    reached = at + frame.header
    for start, entry, read in sorted(waiting, key=lambda item: item[0]):
        if start < reached:
            entry.details.append(Detail("shared", start, "bytes that are shown already"))
            continue
        value = read()
        part.parts.append(value)
        reached = value.end
    fill(part, "unused", _UNUSED)
    return part


def _key_entry(frame: Container, i: int, name: str, at: int, waiting: _Waiting) -> FieldPart:
    width = frame.width
    p, offset, length = frame.key_entry(i)
    entry = FieldPart(f"key entry {i}", at + p, at + p + width + 2, None, f"of the key {name!r}")
    entry.parts = [
        FieldPart("offset", at + p, at + p + width, offset, "of the key in the container"),
        FieldPart("length", at + p + width, at + p + width + 2, length, "bytes of the key"),
    ]
    start = at + offset
    if length:
        waiting.append(
            (start, entry, lambda: FieldPart("key", start, start + length, name, "a key"))
        )
    return entry


def _entry(
    frame: Container, i: int, name: str, at: int, depth: int, waiting: _Waiting
) -> FieldPart:
    """The entry of a value, which itself waits for its turn in the order of the bytes."""
    kind, data = frame.entry(i)
    p = frame.values + i * (1 + frame.width)
    entry = FieldPart(f"value entry {i}", at + p, at + p + 1 + frame.width, None, f"of {name}")
    entry.parts = [FieldPart("json_type", at + p, at + p + 1, kind, _type(kind))]
    if kind in _INLINED[frame.width]:
        value = FieldPart(name, at + p + 1, entry.end, scalar_text(kind, data), "the value itself")
        entry.parts.append(value)
        return entry
    offset = len(frame.data) - len(data)
    entry.parts.append(FieldPart("offset", at + p + 1, entry.end, offset, "of the value"))
    start = at + offset
    waiting.append((start, entry, lambda: _value(name, kind, data, start, depth)))
    return entry


def diff_parts(data: bytes, base: int) -> tuple[list[FieldPart], str]:
    """The parts of a cell of JSON differences that begins at ``base``, and what is wrong."""
    try:
        diffs = parse_diffs(data)
    except ValueError as error:
        return [], str(error)
    cursor = Recorder(data, base=base)
    try:
        for diff in diffs:
            operation = cursor.uint(1, "operation")
            cursor.parts[-1].meaning = _OPERATIONS[operation]
            cursor.text(cursor.packed("path_length"), "path")
            cursor.parts[-1].meaning = "where in the document"
            if diff["value"] is None:
                continue
            start = cursor.pos
            value = cursor.sub(cursor.packed("value_length"), "value")
            part = cursor.parts[-1]
            part.value, part.meaning = diff["value"], f"what is put there, from byte {start}"
            part.parts, _ = json_parts(value.data, part.start)
    except DamageError as error:
        return cursor.parts, error.reason
    for part in cursor.parts:
        if part.field.endswith("_length"):
            part.meaning = "bytes that follow"
        elif part.field == "value":
            part.meaning = "what is put there"
    return grouped(cursor.parts, "operation", lambda _: "difference"), ""
