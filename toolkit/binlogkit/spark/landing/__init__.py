"""Landing: logs become Delta tables, a folder for each table, each change once.

:mod:`.landing` is the way through; :mod:`.spans` says what lands together, :mod:`.writing` is what
tasks do, :mod:`.tables` commits, :mod:`.journal` remembers; :mod:`.shape` and :mod:`.masks` say
with which columns; :mod:`.reading`, :mod:`.restoring` (with :mod:`.ledger`, :mod:`.restored`) and
:mod:`.states` read what has landed. :mod:`.current_tables` (with :mod:`.current_rows`,
:mod:`.merging`) keeps the rows that there are now, :mod:`.compaction` makes few files of many.
"""

from binlogkit.spark.landing.compaction import compact
from binlogkit.spark.landing.current_tables import current, keep_current
from binlogkit.spark.landing.door import land
from binlogkit.spark.landing.reading import landed
from binlogkit.spark.landing.restoring import Landing

__all__ = ["Landing", "compact", "current", "keep_current", "land", "landed"]
