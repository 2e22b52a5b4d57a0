"""How an analysis declares what comes out of it.

A declaration stands above the function as a constant with the function's name in capitals; a test
holds every frame to it. A column (an image, a key) of the type ``as given`` keeps the input's.
"""

from __future__ import annotations

from binlogkit.frames.fields.field import Fields as Outputs
from binlogkit.frames.fields.field import fields as outputs

__all__ = ["Outputs", "outputs"]
