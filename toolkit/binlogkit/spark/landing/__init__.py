"""Landing: logs become Delta tables, a folder for each table, each change once.

:mod:`.landing` is the way through; :mod:`.spans` says what lands together, :mod:`.writing` is what
tasks do, :mod:`.tables` commits, :mod:`.journal` remembers, :mod:`.reading` reads, :mod:`.shape` and :mod:`.masks` say
with which columns.
"""

from binlogkit.spark.landing.door import land
from binlogkit.spark.landing.reading import landed

__all__ = ["land", "landed"]
