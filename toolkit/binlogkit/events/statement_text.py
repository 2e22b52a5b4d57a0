"""The text of a statement, from bytes in the client's character set."""

from __future__ import annotations

from binlogkit._kernel.charsets import charset_of, decode

__all__ = ["statement_text"]


def statement_text(data: bytes, collation: int | None) -> tuple[str, bytes | None]:
    """The text of ``data``, and ``data`` itself where the text does not say it exactly.

    ``collation``: id of character_set_client's default collation from the event's status
    variables; without one UTF-8 is tried.
    """
    charset = charset_of(collation) if collation is not None else "utf8mb4"
    if charset in ("utf8mb3", "utf8", "utf8mb4", "binary", None):
        try:
            return data.decode("utf-8"), None
        except UnicodeDecodeError:
            return data.decode("utf-8", "backslashreplace"), data
    try:
        text = decode(charset, data)
    except UnicodeDecodeError:
        return data.decode("ascii", "backslashreplace"), data
    return text, None if text.encode() == data else data
