"""What each log says by itself, and what all of them say together.

:mod:`.part` reads one log; :mod:`.joined` puts parts in order, without reading logs; :mod:`.kept`
keeps parts in a folder.
"""

from binlogkit.log.index.joined import Joined, Position
from binlogkit.log.index.kept import Index, Updated
from binlogkit.log.index.part import Part, parts_of
from binlogkit.log.index.segments import Segment

__all__ = ["Index", "Joined", "Part", "Position", "Segment", "Updated", "parts_of"]
