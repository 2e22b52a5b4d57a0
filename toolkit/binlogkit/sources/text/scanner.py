"""A text seen through a window that moves forward, with the position of its content.

Texts are bytes of unknown encoding: each byte is one character here (latin-1), so that an index is
a byte offset. A text with the mark of UTF-16, as PowerShell's ``>`` writes it, is decoded first;
offsets are then those of its characters.
"""

from __future__ import annotations

import codecs
from typing import BinaryIO

from binlogkit.errors import DamageError

CHUNK = 1 << 18
_MARKS = {
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
    codecs.BOM_UTF8: "latin-1",
}


def decoder_of(head: bytes) -> tuple[int, codecs.IncrementalDecoder]:
    """The length of the mark that a text begins with, and what decodes the rest."""
    for mark, encoding in _MARKS.items():
        if head.startswith(mark):
            return len(mark), codecs.getincrementaldecoder(encoding)("replace")
    return 0, codecs.getincrementaldecoder("latin-1")()


class TextWindow:
    """``text[at:]`` is what is to be read next; :meth:`more` lengthens it at its end."""

    def __init__(self, name: str, file: BinaryIO) -> None:
        self.name = name
        self.text = ""
        self.at = 0
        self.ended = False
        self._file = file
        self._decoder: codecs.IncrementalDecoder | None = None
        self._line = 1
        self._column = 1
        self._offset = 0

    @property
    def left(self) -> int:
        """How many characters are there to be read."""
        return len(self.text) - self.at

    def more(self) -> bool:
        """Read on; False when the text is at its end."""
        while not self.ended:
            chunk = self._file.read(max(CHUNK, self.left))
            self.ended = not chunk
            if self._decoder is None:
                mark, self._decoder = decoder_of(chunk)
                chunk, self._offset = chunk[mark:], mark
            part = self._decoder.decode(chunk, final=self.ended)
            if part:
                self.text, self.at = self.text[self.at :] + part, 0
                return True
        return False

    def skip_to(self, index: int) -> str:
        """Move to ``text[index]``; what is passed is returned."""
        passed = self.text[self.at : index]
        self._line, self._column = self._place(passed)
        self._offset += len(passed)
        self.at = index
        return passed

    def damage(self, reason: str, ahead: int = 0) -> DamageError:
        """Damage ``ahead`` of here: its offset in the text, line and column in words."""
        line, column = self._place(self.text[self.at : self.at + ahead])
        where = f"line {line}, column {column} of the text"
        return DamageError(self.name, self._offset + ahead, f"{where}: {reason}")

    def _place(self, passed: str) -> tuple[int, int]:
        """Line and column, from 1, after what is passed."""
        breaks = passed.count("\n")
        column = len(passed) - passed.rindex("\n") if breaks else self._column + len(passed)
        return self._line + breaks, column
