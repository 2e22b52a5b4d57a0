"""Forensic analysis and test fixtures for MySQL binary logs.

>>> import binlogkit as bk
>>> log = bk.open("binlog.000012")  # or a list, a glob, a folder, an index file, bytes, a URL

Importing does no work: pandas, pyarrow, PySpark and matplotlib load when they are used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from binlogkit import errors as errors
    from binlogkit.analyses import conformance as conformance
    from binlogkit.analyses import logging_rules as logging_rules
    from binlogkit.analyses import point_in_time as point_in_time
    from binlogkit.analyses import row_image as row_image
    from binlogkit.analyses.undoing import undo as undo
    from binlogkit.events.gtid_set import GtidSet as GtidSet
    from binlogkit.livestate.live import live as live
    from binlogkit.log import Batch as Batch
    from binlogkit.log import Log as Log
    from binlogkit.log import open_log as open
    from binlogkit.log.explain import Explanation as Explanation
    from binlogkit.log.index.touched import touched as touched
    from binlogkit.log.opening import audit as audit
    from binlogkit.log.opening import explain as explain
    from binlogkit.log.opening import index as index
    from binlogkit.log.opening import suspects as suspects
    from binlogkit.log.opening import verify as verify
    from binlogkit.log.server.capture import capture as capture
    from binlogkit.log.server.follow_servers import follow as follow
    from binlogkit.log.server.snapshot import snapshot as snapshot
    from binlogkit.reports import plots as plot
    from binlogkit.reports import sql as sql
    from binlogkit.rows.filters import Filters as Filters
    from binlogkit.sources.sample import sample as sample

__version__ = "0.1.0"

__all__ = [
    "Batch",
    "Explanation",
    "Filters",
    "GtidSet",
    "Log",
    "audit",
    "capture",
    "conformance",
    "errors",
    "explain",
    "follow",
    "index",
    "live",
    "logging_rules",
    "open",
    "plot",
    "point_in_time",
    "row_image",
    "sample",
    "snapshot",
    "sql",
    "suspects",
    "touched",
    "undo",
    "verify",
]

_HOMES = {
    "Batch": ("binlogkit.log", "Batch"),
    "Explanation": ("binlogkit.log.explain", "Explanation"),
    "Filters": ("binlogkit.rows.filters", "Filters"),
    "GtidSet": ("binlogkit.events.gtid_set", "GtidSet"),
    "Log": ("binlogkit.log", "Log"),
    "audit": ("binlogkit.log.opening", "audit"),
    "capture": ("binlogkit.log.server.capture", "capture"),
    "conformance": ("binlogkit.analyses.conformance", None),
    "errors": ("binlogkit.errors", None),
    "explain": ("binlogkit.log.opening", "explain"),
    "follow": ("binlogkit.log.server.follow_servers", "follow"),
    "index": ("binlogkit.log.opening", "index"),
    "live": ("binlogkit.livestate.live", "live"),
    "logging_rules": ("binlogkit.analyses.logging_rules", None),
    "open": ("binlogkit.log", "open_log"),
    "plot": ("binlogkit.reports.plots", None),
    "point_in_time": ("binlogkit.analyses.point_in_time", None),
    "row_image": ("binlogkit.analyses.row_image", None),
    "sample": ("binlogkit.sources.sample", "sample"),
    "snapshot": ("binlogkit.log.server.snapshot", "snapshot"),
    "sql": ("binlogkit.reports.sql", None),
    "suspects": ("binlogkit.log.opening", "suspects"),
    "touched": ("binlogkit.log.index.touched", "touched"),
    "undo": ("binlogkit.analyses.undoing.undo", None),
    "verify": ("binlogkit.log.opening", "verify"),
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(home[0])
    value = module if home[1] is None else getattr(module, home[1])
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
