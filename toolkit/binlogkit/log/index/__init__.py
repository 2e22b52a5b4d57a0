"""What each log tells by itself, and what all of them tell together once that is known.

:mod:`.part` reads one log; :mod:`.joined` puts parts in order, without reading any.
"""

from binlogkit.log.index.joined import Joined, Known, Position
from binlogkit.log.index.part import Part, parts_of
from binlogkit.log.index.segments import Segment

__all__ = ["Joined", "Known", "Part", "Position", "Segment", "parts_of"]
