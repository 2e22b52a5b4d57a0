"""Which logs of a landing changed what, from its ledger alone: no log and no table is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from binlogkit.errors import InputError, UsageError
from binlogkit.log.index.touched import touched as touched_by
from binlogkit.spark.landing.journal import has_erased, read_terms
from binlogkit.spark.landing.landing import LEDGER
from binlogkit.spark.landing.landing_path import LandingPath
from binlogkit.spark.landing.store import place_of

if TYPE_CHECKING:
    import pyarrow as pa

    from binlogkit.rows.where import WhereArg


def touched(
    out: str | Path | LandingPath,
    *,
    table: str | Sequence[str] | None = None,
    op: str | Sequence[str] | None = None,
    where: WhereArg = None,
    minutes: bool = False,
    ledger: str | Path | None = None,
    target_options: Mapping[str, str] | None = None,
) -> pa.Table:
    """Like :func:`binlogkit.touched`, of the logs that the ledger of a landing knows.

    It counts all that they hold, also what has not landed or was rolled back. UsageError: besides,
    ``where`` of a ledger without the keys of rows: columns are masked, or rows were erased;
    InputError: nothing has landed there.
    """
    place = place_of(out, ledger, target_options)
    place.check_local()
    terms = read_terms(place)
    if not terms:
        raise InputError(str(out), "nothing has landed there")
    masked = any(one.masks for one in terms)
    if where is not None and (masked or has_erased(place)):
        why = "columns are masked" if masked else "rows were erased"
        raise UsageError(
            f"the ledger of {place} keeps no keys of rows, since {why}: leave out where"
        )
    return touched_by(place.local / LEDGER, table=table, op=op, where=where, minutes=minutes)
