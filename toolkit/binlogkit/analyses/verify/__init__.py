"""Whether logs are whole: structure, checksums, positions, transactions, continuity.

:class:`Verifier` is fed with the events and the damage of one file after the other and gives
findings (``frames.fields.ledger.FINDING``), each graded and with what it means for the data
(:data:`CODES`). By topic: :mod:`.file_facts`, :mod:`.rows_checks`, :mod:`.transaction_checks`,
:mod:`.series`.
"""

from binlogkit.analyses.verify.file_facts import FileFacts
from binlogkit.analyses.verify.finding import CODES, Finding, Grade, Place
from binlogkit.analyses.verify.series import Joint
from binlogkit.analyses.verify.verifier import Verifier

__all__ = ["CODES", "FileFacts", "Finding", "Grade", "Joint", "Place", "Verifier"]
