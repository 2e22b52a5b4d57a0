"""What an investigator looks at first: the most suspicious changes of a log, ranked.

The rules are data (``rules.toml``); what is usual follows from the log (:mod:`.units`). By topic:
:mod:`.counted` (row changes by their numbers), :mod:`.words` (by their images), :mod:`.stated`
(statements and gaps), :mod:`.jobs` (what shows that a job did it), :mod:`.ranked` (all together).
"""

from binlogkit.analyses.suspects.ranked import candidates, ranked, read_first
from binlogkit.analyses.suspects.rules import SUSPECTS, Suspect, rules
from binlogkit.analyses.suspects.words import Images

__all__ = ["SUSPECTS", "Images", "Suspect", "candidates", "ranked", "read_first", "rules"]
