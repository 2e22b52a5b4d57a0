"""Landing: logs become Delta tables, a folder for each table; each change lands once.

:mod:`.landing` is the main loop; :mod:`.spans` decides what lands together, :mod:`.writing` is the
tasks' work, :mod:`.tables` commits, :mod:`.journal` keeps the progress; :mod:`.shape`
defines the columns; :mod:`.reading`, :mod:`.restoring` (with :mod:`.ledger`, :mod:`.restored`) and
:mod:`.states` read landed tables. :mod:`.current_tables` (with :mod:`.current_rows`,
:mod:`.merging`) keeps the current rows, :mod:`.compaction` merges small files, :mod:`.standing`
says where a landing stands, :mod:`.expiry` lets changes expire, :mod:`.erasure` erases rows by key.
:mod:`.audit` (with :mod:`.activity`), :mod:`.images`, :mod:`.life` and :mod:`.touched` answer as
the logs do.
"""

from binlogkit.spark.landing.compaction import compact
from binlogkit.spark.landing.current_tables import current
from binlogkit.spark.landing.erasure import erase
from binlogkit.spark.landing.expiry import expire
from binlogkit.spark.landing.land_logs import keep_current, land
from binlogkit.spark.landing.reading import landed
from binlogkit.spark.landing.restoring import Landing
from binlogkit.spark.landing.standing import status
from binlogkit.spark.landing.touched import touched

__all__ = [
    "Landing",
    "compact",
    "current",
    "erase",
    "expire",
    "keep_current",
    "land",
    "landed",
    "status",
    "touched",
]
