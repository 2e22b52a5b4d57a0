"""How far a reading's data can be trusted: gaps, damage, order, clocks, found while logs are read.

:class:`Soundness` takes the windows of a reading and gives findings, each graded and with what it
means for the data (:data:`CODES`). By topic: :mod:`.file_checks`, :mod:`.statement_checks`,
:mod:`.transaction_checks`, :mod:`.gtid_checks`, :mod:`.series`.
"""

from binlogkit.rows.soundness.alone import Alone
from binlogkit.rows.soundness.continuity_checks import Joint
from binlogkit.rows.soundness.finding import CODES, FileFacts, Finding, Grade, Place
from binlogkit.rows.soundness.gaps import Gap, Gaps
from binlogkit.rows.soundness.soundness import Soundness

__all__ = [
    "CODES",
    "Alone",
    "FileFacts",
    "Finding",
    "Gap",
    "Gaps",
    "Grade",
    "Joint",
    "Place",
    "Soundness",
]
