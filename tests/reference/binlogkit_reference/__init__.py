"""Logs read event by event in Python, slowly and plainly: what the compiled road is tested against.

It frames events with ``sources/log_reader.py``, parses them with ``events/``, decodes rows with
``images.py`` and knows tables by ``rows/table_history.py``; nothing of the kernel's scan, of
packs, windows and slots is used.
"""

from tests.reference.binlogkit_reference.batches import record_batch
from tests.reference.binlogkit_reference.changes import ColumnBatch, read_windows
from tests.reference.binlogkit_reference.walk import Step, Walk

__all__ = ["ColumnBatch", "Step", "Walk", "read_windows", "record_batch"]
