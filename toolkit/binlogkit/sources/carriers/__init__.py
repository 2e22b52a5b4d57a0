"""From what a user names to the logs it holds.

Each :class:`Carrier` can be opened as often as needed, so that a log can be read twice without
keeping it. What it holds is recognised by its bytes, not by its name.
"""

from __future__ import annotations

from binlogkit.sources.carriers.carrier import Carrier, shown
from binlogkit.sources.carriers.named import Source, read_schema_text, resolve
from binlogkit.sources.carriers.urls import natural_key

__all__ = ["Carrier", "Source", "natural_key", "read_schema_text", "resolve", "shown"]
