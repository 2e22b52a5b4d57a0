"""What events say (``fields``) as JSON text, for many at once.

Of ordinary events of one form (``event_layouts.py``) the first is read and shown as
``event_records.py`` does it; its text, with the blanks that the others fill, is a template. Every
other event is read and shown by itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from binlogkit._kernel.native.templates import CONSTANT, END, HEX, TEXT, filled
from binlogkit.events.base import Event
from binlogkit.events.reader import EventParser
from binlogkit.frames.arrays import buffer
from binlogkit.frames.event_layouts import Blank, Layout, blank_value, layouts, spans_of
from binlogkit.frames.event_records import event_fields
from binlogkit.rows.window import LOOK, Stretch, Window

_Numbers = np.ndarray[Any, Any]
_MOST_KEPT = 4 << 20  # bytes of templates and of what they are found by
_MOST_TEXT = 16 << 20  # bytes of an array, which one text may exceed
_OFFSETS_END = np.iinfo(np.int32).max
_DIGITS = 20
_QUOTED = {HEX: '"0x', TEXT: '"'}
_GROWTH = {HEX: 2, TEXT: 6}  # characters of a byte at most


class EventTexts:
    """``compact``: JSON without blanks."""

    def __init__(self, *, compact: bool = False) -> None:
        self._comma, self._colon = separators = (",", ":") if compact else (", ", ": ")
        self._dump = json.JSONEncoder(ensure_ascii=False, separators=separators).encode
        self._templates = _Templates()
        self._version = ""

    def of(self, events: SingleEvents, places: _Numbers) -> Iterator[tuple[_Numbers, pa.Array]]:
        """The texts of some of a window's events, and of which each array is, in their order."""
        stretch, version = events.stretch, events.server_version
        if self._templates.kept > _MOST_KEPT or self._version != version:
            self._templates, self._version = _Templates(), version
        starts = stretch.entries["offset"][places]
        ends = starts + stretch.entries["size"][places] - stretch.tail
        firsts = self._ordinary(events, places, starts, ends)
        made = self._templates.with_others()
        for k in np.flatnonzero(firsts < 0).tolist():
            firsts[k] = self._add(made, event_fields(events[int(places[k])]), {})
        rows = np.stack([starts, ends, firsts], axis=1)
        lengths, growth = np.array(made.lengths, np.int64)[firsts].T
        shares = np.cumsum(lengths + growth * (ends - starts)) // _MOST_TEXT
        for some in np.split(np.arange(len(rows)), np.flatnonzero(np.diff(shares)) + 1):
            if len(some):
                yield places[some], made.filled(stretch, rows[some])

    def _ordinary(
        self, events: SingleEvents, places: _Numbers, starts: _Numbers, ends: _Numbers
    ) -> _Numbers:
        """The template of each event, -1 where it has none; packed events are not ordinary."""
        stretch = events.stretch
        firsts = np.full(len(places), -1, np.int64)
        if stretch.raws is not None:
            return firsts
        entries = stretch.entries[places]
        plain = entries["notes"] & LOOK == 0
        with memoryview(stretch.data) as view:
            data = np.frombuffer(view, np.uint8)
            for code in np.unique(entries["type"][plain]).tolist():
                here = np.flatnonzero(plain & (entries["type"] == code))
                for some, layout in layouts(code, data, starts[here], ends[here]):
                    these = here[some]
                    known = self._templates.known.setdefault((code, layout), {})
                    keys = _keys(view, starts[these].tolist(), ends[these].tolist(), layout)
                    firsts[these] = [
                        known[key] if key in known
                        else self._learn(known, key, events, int(places[k]), layout)
                        for k, key in zip(these.tolist(), keys, strict=True)
                    ]  # fmt: skip
            del data
        return firsts

    def _learn(
        self, known: dict[bytes, int], key: bytes, events: SingleEvents, i: int, layout: Layout
    ) -> int:
        """A template by one event; -1 where its record does not have what is in the blanks."""
        said, stored, first = event_fields(events[i]), events.stored(i), -1
        if all(said.get(blank.name) == blank_value(blank, stored) for blank in layout):
            first = self._add(self._templates, said, {blank.name: blank for blank in layout})
        self._templates.kept += len(key)
        known[key] = first
        return first

    def _add(self, templates: _Templates, said: dict[str, object], blanks: dict[str, Blank]) -> int:
        """A template more: the text of ``said`` with blanks."""
        parts: list[str | Blank] = []
        text = ""
        for i, (name, value) in enumerate(said.items()):
            text += f"{self._comma if i else '{'}{self._dump(name)}{self._colon}"
            blank = blanks.get(name)
            if blank is None:
                text += self._dump(value)
            elif blank.kind in _QUOTED:
                parts += [text + _QUOTED[blank.kind], blank]
                text = '"'
            else:
                parts += [text, blank]
                text = ""
        return templates.add([*parts, text + "}"])


class _Templates:
    """``known``: the first steps of templates, by type and layout, and by the bytes outside of the
    blanks; ``lengths``: at its first step, the bytes that a template's text has at most, and how
    many more for each byte of the event; ``kept``: bytes held."""

    def __init__(self) -> None:
        self.known: dict[tuple[int, Layout], dict[bytes, int]] = {}
        self.lengths: list[tuple[int, int]] = []
        self.kept = 0
        self._steps: list[tuple[int, int, int]] = []
        self._words: list[bytes] = []
        self._size = 0

    def with_others(self) -> _Templates:
        """The same, to add texts of single events to."""
        made = _Templates()
        made.lengths, made._steps = [*self.lengths], [*self._steps]
        made._words, made._size = [*self._words], self._size
        return made

    def add(self, parts: list[str | Blank]) -> int:
        """Take a template; its first step."""
        first, before = len(self._steps), self._size
        for part in parts:
            if isinstance(part, Blank):
                self._steps.append((part.kind, part.at, part.width))
                continue
            stored = part.encode()
            self._steps.append((CONSTANT, self._size, len(stored)))
            self._words.append(stored)
            self._size += len(stored)
        self._steps.append((END, 0, 0))
        self.kept += self._size - before
        most = self._size - before + _DIGITS * len(parts)
        growth = max((_GROWTH.get(p.kind, 0) for p in parts if isinstance(p, Blank)), default=0)
        self.lengths += [(most, growth)] * (len(self._steps) - first)
        return first

    def filled(self, stretch: Stretch, rows: _Numbers) -> pa.Array:
        """The texts of rows; large strings, where they are more than a string array can hold."""
        steps = np.array(self._steps, np.int64)
        offsets, texts = filled(stretch.data, rows.data, steps.data, b"".join(self._words))
        where, kind = buffer(offsets), pa.large_string()
        if texts.size <= _OFFSETS_END:
            narrow = np.frombuffer(where, np.int64).astype(np.int32)
            where, kind = pa.py_buffer(narrow), pa.string()
        return pa.Array.from_buffers(kind, len(rows), [None, where, buffer(texts)], 0)


class SingleEvents:
    """The events of a window's stretch, as they are read one by one."""

    def __init__(self, window: Window, stretch: Stretch) -> None:
        self.stretch = stretch
        self.server_version = window.server_version
        self._file = window.carrier.name
        self._looked = {item.i: item.event for item in window.looked}
        # What cannot be read the reading has reported.
        self._parser = EventParser(lambda _: None, window.context)

    def __getitem__(self, i: int) -> Event:
        found = self._looked.get(i)
        return found or self._parser.parse(self.stretch.raw(i, self._file))

    def stored(self, i: int) -> bytes:
        """The bytes of an event without its checksum."""
        entry, tail = self.stretch.entries[i], self.stretch.tail
        start, end = int(entry["offset"]), int(entry["offset"]) + int(entry["size"]) - tail
        with memoryview(self.stretch.data) as whole:
            return bytes(whole[start:end])


def _keys(view: memoryview, starts: list[int], ends: list[int], layout: Layout) -> Iterator[bytes]:
    """The bytes of events outside of the blanks."""
    spans, pairs = spans_of(layout), zip(starts, ends, strict=True)
    if len(spans) == 1 and not spans[0][1]:
        return (bytes(view[start + spans[0][0] : end]) for start, end in pairs)
    return (
        b"".join([view[start + a : start + b if b else end] for a, b in spans])
        for start, end in pairs
    )
