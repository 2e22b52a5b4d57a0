"""Events in the base64 of ``BINLOG '…'`` statements, or bare, in any amount of other text.

mysqlbinlog writes a statement's table maps and rows, and the format description, so (5.1 to 9.7;
base64_output AUTO); all else, GTIDs, queries and XIDs, it prints as SQL and comments, which is not
read back: those events are not there. Where a text has no such statement, as an article, any run of
base64 that is an event by its header and length counts; one that is quoted again, byte for byte, is
the same event and given once.
"""

from __future__ import annotations

import binascii
import re
from collections import deque
from collections.abc import Iterator
from enum import Enum
from typing import BinaryIO

from binlogkit.constants import HEADER_LENGTH
from binlogkit.sources.framing import Framer, Framing
from binlogkit.sources.loose_events import LooseEvent, LoosePlace, Piece
from binlogkit.sources.plausible import begins_event
from binlogkit.sources.raw import parse_header
from binlogkit.sources.text.scanner import TextWindow

_QUOTE = (
    r"""\\*['"`]|\xe2\x80[\x98-\x9f]|\u2018|\u2019|\u201c|\u201d"""
    r"|&(?:#0*3[49]|#x0*2[27]|apos|quot|[lr][sd]quo);"
)
_GAP = r"(?:\s|\\[nrt]|\\(?=[\r\n])|(?<=\n)[ \t]*[>#|][>#| \t]*)"
STATEMENT = re.compile(rf"\bBINLOG{_GAP}*(?:{_QUOTE})", re.IGNORECASE)
_TOKEN = re.compile(rf"(?P<chars>[A-Za-z0-9+/]+)|(?P<pad>=+)|(?P<gap>{_GAP}+)|(?P<quote>{_QUOTE})")
HOLDS_EVENTS = re.compile(rf"{STATEMENT.pattern}{_GAP}*[A-Za-z0-9+/]{{20}}", re.IGNORECASE)
_HEADER_CHARS = 26  # of base64 hold 19 bytes
_GROUP = 4
_CHARS = re.compile(r"[A-Za-z0-9+/]+")
_SHORT_LINE = 16  # characters: less is no line of base64, unless it is the last
_RUN_END = re.compile(r"[A-Za-z0-9+/]*\Z")
_RUN = re.compile(rf"(?<![A-Za-z0-9+/=])[A-Za-z0-9+/]{{{_HEADER_CHARS},}}")
_GO_ON = re.compile(rf"(?P<quote>{_QUOTE})|(?<![A-Za-z0-9+/])(?P<chars>[A-Za-z0-9+/]{{26,}})")
_IN_SIGHT = 1 << 16  # characters after damage in which a statement's next event is looked for
_LONGEST_TOKEN = 256  # of those that are not base64 itself; runs may be cut anywhere

_COMMENT = re.compile(
    r"^# at (?P<at>\d{1,19})\r?$"
    r"|\t(?P<payload>Transaction_Payload)\t"
    r"|^# (?P<start>Start) of compressed events"
    r"|^# (?P<end>End) of compressed events"
    r"|\t(?P<rows>Table_map|Write_rows|Update_rows|Delete_rows|Update_rows_partial):",
    re.MULTILINE | re.IGNORECASE,
)


class _State(Enum):
    OUTSIDE = "outside"
    STATEMENT = "in a BINLOG statement"
    BARE = "in bare base64"


class BinlogText:
    """The events of a text, and the damage in it, as :class:`LooseEvents` takes them.

    ``bare``: whether base64 outside BINLOG statements counts.
    """

    def __init__(self, name: str, file: BinaryIO, *, bare: bool) -> None:
        self._window = TextWindow(name, file)
        self._bare = bare
        self._state = _State.OUTSIDE
        self._events = _Base64Events()
        self._comments = _PayloadComments()
        self._seen: set[int] = set()

    def __iter__(self) -> Iterator[Piece]:
        while self._window.more():
            while (pieces := self._step()) is not None:
                yield from pieces
        while self._window.left and (pieces := self._step()) is not None:
            yield from pieces
        if self._state is _State.BARE:
            yield from self._end()
        elif self._state is _State.STATEMENT:
            yield from self._end() or [
                self._window.damage("the text ends inside a BINLOG statement")
            ]

    def _step(self) -> list[Piece] | None:
        """What the next part of the window gives; None when more of the text is needed first."""
        return self._outside() if self._state is _State.OUTSIDE else self._inside()

    # ---- outside ------------------------------------------------------------------------

    def _outside(self) -> list[Piece] | None:
        window = self._window
        found = STATEMENT.search(window.text, window.at)
        run = self._first_run(found.start() if found else len(window.text))
        if run is not None:
            self._enter(_State.BARE, run)
            return []
        if found is not None:
            self._enter(_State.STATEMENT, found.end())
            return []
        self._pass(len(window.text) - (0 if window.ended else self._held_back()))
        return None

    def _enter(self, state: _State, index: int) -> None:
        self._pass(index)
        self._state = state

    def _held_back(self) -> int:
        """How much of the text's end may be the beginning of something."""
        text, left = self._window.text, self._window.left
        line = min(len(text) - text.rfind("\n") - 1, _LONGEST_TOKEN)
        tail = _RUN_END.search(text[-_HEADER_CHARS:]) if self._bare else None
        return min(left, max(line, len(tail[0]) if tail else 0))

    def _first_run(self, end: int) -> int | None:
        """Where bare base64 of an event begins before ``end``."""
        if not self._bare:
            return None
        for run in _RUN.finditer(self._window.text, self._window.at, end):
            if begins_event(_decoded(run[0])):
                return run.start()
        return None

    def _pass(self, index: int) -> None:
        self._comments.read(self._window.skip_to(index))

    # ---- inside -------------------------------------------------------------------------

    def _inside(self) -> list[Piece] | None:
        window = self._window
        if not window.left or (window.left < _LONGEST_TOKEN and not window.ended):
            return None
        token = _TOKEN.match(window.text, window.at)
        kind = token.lastgroup if token else None
        complete = self._state is _State.BARE and not self._events.left
        if kind == "quote" or (kind == "gap" and complete):
            pieces = self._end()
            window.skip_to(token.end() if token else window.at)
            return pieces
        if token is None:
            return self._end() if self._state is _State.BARE else self._bad_character()
        if kind == "gap" and self._events.left and self._another(token.end()):
            return self._cut(token.end())
        if kind == "pad":
            pieces = self._placed(self._events.pad())
        else:
            pieces = self._placed(self._events.feed(token[0] if kind == "chars" else ""))
        if not self._events.broken:
            window.skip_to(token.end())
            return pieces
        pieces.append(window.damage(self._events.broken))
        self._go_on(token.end())
        return pieces

    def _another(self, index: int) -> bool:
        """Whether what follows a gap does not continue the event that is begun."""
        run = _CHARS.match(self._window.text, index)
        if self._events.padded:
            return run is not None and begins_event(_decoded(run[0]))
        window = self._window
        sees_it = window.ended or index + _LONGEST_TOKEN < len(window.text)
        if self._state is _State.STATEMENT or not sees_it:
            return False
        return run is None or len(run[0]) < min(self._events.missing, _SHORT_LINE)

    def _cut(self, index: int) -> list[Piece]:
        """An event is cut, and what follows is not its rest."""
        pieces = self._placed(self._events.end())
        pieces.append(self._window.damage(self._events.broken))
        self._go_on(index)
        return pieces

    def _placed(self, events: Iterator[bytes]) -> list[Piece]:
        pieces: list[Piece] = []
        for data in events:
            if self._state is _State.BARE:
                if hash(data) in self._seen:
                    continue
                self._seen.add(hash(data))
            pieces.append(LooseEvent(data, self._comments.place_of(data)))
        return pieces

    def _end(self) -> list[Piece]:
        """Leave a run of base64; what was begun in it and is not whole is damage."""
        pieces = self._placed(self._events.end())
        if self._events.broken and not self._prose():
            pieces.append(self._window.damage(self._events.broken))
        self._state, self._events = _State.OUTSIDE, _Base64Events()
        return pieces

    def _bad_character(self) -> list[Piece]:
        """What is no base64 stands in a statement."""
        window = self._window
        pieces = self._placed(self._events.end())
        if self._prose():
            self._state, self._events = _State.OUTSIDE, _Base64Events()
            return pieces
        inside = f", and {self._events.broken}" if self._events.broken else ""
        what = f"{window.text[window.at]!r} is no base64{inside}"
        pieces.append(window.damage(what))
        self._go_on(window.at + 1)
        return pieces

    def _prose(self) -> bool:
        """Whether the text only mentions a BINLOG statement: nothing in it is long enough."""
        window = self._window
        if self._state is _State.BARE or self._events.taken >= _HEADER_CHARS:
            return False
        end = window.at + _LONGEST_TOKEN
        quote = re.compile(_QUOTE).search(window.text, window.at, end)
        return not _RUN.search(window.text, window.at, quote.start() if quote else end)

    def _go_on(self, index: int) -> None:
        """After damage: where the next event's base64 begins, or after the closing quote."""
        text = self._window.text
        self._events = _Base64Events()
        for found in _GO_ON.finditer(text, index, index + _IN_SIGHT):
            if found["quote"]:
                index = found.end()
                break
            if begins_event(_decoded(found["chars"])):
                self._window.skip_to(found.start())
                return
        self._window.skip_to(min(index, len(text)))
        self._state = _State.OUTSIDE


class _Base64Events:
    """Feed it characters; it gives the events that are complete.

    mysqlbinlog encodes each event by itself, header to checksum, breaks it into lines of 76
    characters and pads it (9.7.4); others encode several as one. So padding may stand anywhere, and
    what is between two paddings is decoded by itself.

    ``broken``: why the rest cannot be separated any more, else empty; ``taken``: how many
    characters were given; ``padded``: whether padding came last.
    """

    def __init__(self) -> None:
        self.broken = ""
        self.taken = 0
        self._chars = ""
        self.padded = False
        self._framer = Framer(Framing.BARE)

    @property
    def missing(self) -> int:
        """How many characters the event that is begun still needs, without padding."""
        return -(-self._framer.missing * _GROUP // 3) - len(self._chars)

    @property
    def left(self) -> bool:
        """Whether something is begun and not complete."""
        return bool(self._chars or self._framer.left)

    def feed(self, chars: str) -> Iterator[bytes]:
        """Base64 characters without padding."""
        self.taken += len(chars)
        self.padded = self.padded and not chars
        self._chars += chars
        whole = len(self._chars) - len(self._chars) % _GROUP
        data, self._chars = binascii.a2b_base64(self._chars[:whole]), self._chars[whole:]
        yield from self._framed(self._framer.feed(data))

    def pad(self) -> Iterator[bytes]:
        """Padding: what was fed up to here is decoded."""
        self.padded = True
        rest, self._chars = self._chars, ""
        if len(rest) == 1:
            self.broken = "the base64 text has one character too many, or lacks some"
            return
        data = binascii.a2b_base64(rest + "=" * (-len(rest) % _GROUP))
        yield from self._framed(self._framer.feed(data))

    def end(self) -> Iterator[bytes]:
        """The end of the run, padded or not; ``broken`` says when it ends inside an event."""
        yield from self.pad()
        if not self.broken:
            yield from self._framed(self._framer.end())

    def _framed(self, events: Iterator[bytes]) -> Iterator[bytes]:
        yield from events
        self.broken = self.broken or self._framer.broken


class _PayloadComments:
    """Where the events of a compressed payload stood, from mysqlbinlog's comments.

    mysqlbinlog prints a payload's events decompressed, with ``log_pos`` 0 and, in ``# at``, the
    payload's end; the payload's own ``# at``, before ``# Start of compressed events.``, is its
    place (9.7.4). Each event inside has its ``# at`` line, so they can be counted; those of table
    maps and rows are what a BINLOG statement then holds, in the same order.
    """

    def __init__(self) -> None:
        self._at = 0
        self._payload: int | None = None
        self._inside = False
        self._inner = -1
        self._waiting: deque[LoosePlace] = deque()

    def read(self, text: str) -> None:
        """Take in whole lines of text that stand outside BINLOG statements."""
        for found in _COMMENT.finditer(text):
            kind = found.lastgroup
            if kind == "at":
                self._at = int(found["at"])
                self._inner += self._inside
            elif kind == "payload":
                self._payload = self._at
            elif kind in ("start", "end"):
                self._inside = kind == "start" and self._payload is not None
                self._inner = -1
                self._waiting.clear()
            elif self._inside and self._payload is not None:
                self._waiting.append(LoosePlace(self._payload, self._at, self._inner))

    def place_of(self, event: bytes) -> LoosePlace | None:
        """The place of the next event, None where its own header has it or nothing does."""
        if parse_header(event, HEADER_LENGTH).log_pos != 0:
            return None
        return self._waiting.popleft() if self._waiting else None


def _decoded(chars: str) -> bytes:
    """The bytes that a run of base64 begins with."""
    whole = len(chars) - (len(chars) % _GROUP == 1)
    return binascii.a2b_base64(chars[:whole] + "=" * (-whole % _GROUP))
