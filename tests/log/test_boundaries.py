"""What else than row changes happens to tables, as the front door tells it."""

from __future__ import annotations

import binlogkit as bk
from binlogkit_fixtures.writer.rare import RARE


def test_an_incident_is_one() -> None:
    told = bk.open(RARE["5.6-incident"].data).boundaries().to_dict("records")
    incidents = [b for b in told if b["action"] == "incident"]
    assert incidents
    for incident in incidents:
        assert incident["reason"].startswith("LOST_EVENTS")
        assert incident["db"] == incident["table"] == incident["statement"] == ""
