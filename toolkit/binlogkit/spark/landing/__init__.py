"""Landing: logs become Delta tables, a folder for each table, each change once.

:mod:`.landing` is the way through; :mod:`.spans` says what lands together, :mod:`.writing` is what
tasks do, :mod:`.tables` commits, :mod:`.journal` remembers; :mod:`.shape` and :mod:`.masks` say
with which columns; :mod:`.reading`, :mod:`.restoring` (with :mod:`.ledger`, :mod:`.restored`) and
:mod:`.states` read what has landed.
"""

from binlogkit.spark.landing.door import land
from binlogkit.spark.landing.reading import landed
from binlogkit.spark.landing.restoring import Landing

__all__ = ["Landing", "land", "landed"]
