"""JSON Schemas (2020-12) of the records that commands print, as data beside this module.

>>> from binlogkit.schemas import NAMES, load
>>> load("row")["title"]
'binlogkit row'

``audit``, ``event``, ``explain``, ``life``, ``row``, ``transaction``, ``state`` and ``status``: one
line of ``--format jsonl`` of the command of that name; ``difference``: of ``diff``; ``finding``: of
``verify``; ``table_state``: of ``state`` of several tables; ``decoded_row``: what ``conform --as
rows`` takes; ``plan``: one element of :meth:`binlogkit.Log.undo` and ``redo``. The files are
written by ``tools/make_schemas.py`` from the dataclasses and declarations of the code. The
fixtures' manifest has its own, ``binlogkit_fixtures/manifest.schema.json``.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from binlogkit.errors import UsageError, printable

__all__ = ["NAMES", "load"]

NAMES = (
    "audit", "decoded_row", "difference", "event", "explain", "finding", "life", "plan",
    "row", "state", "status", "table_state", "transaction",
)  # fmt: skip


def load(name: str) -> dict[str, Any]:
    """The schema of that name. UsageError: there is none."""
    if name not in NAMES:
        raise UsageError(f"no schema {printable(name)!r}; there are {', '.join(NAMES)}")
    text = files(__name__).joinpath(f"{name}.schema.json").read_text("utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema
