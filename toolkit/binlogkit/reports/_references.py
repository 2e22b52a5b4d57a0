"""What a script does about foreign keys: the server minds them, or the script looks itself.

Up to 9.5 InnoDB cascades below the log, and a script's statements cascade as those of the log did.
From 9.6 on the server logs what it does by a foreign key: a script that takes these changes back,
or makes them again, would meet them done already, or in an order that checks refuse. So it turns
foreign_key_checks off and compares, for each foreign key, the references that lead nowhere before
and after (9.7.4; docs/traps.md, "Cascades").
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from binlogkit.reports._literals import prepared, quoted

if TYPE_CHECKING:
    from binlogkit.analyses.references import Reference

_SERVER = """\
-- foreign_key_checks: a child without its parent is an error; what else cascades is looked for
SET SESSION foreign_key_checks = 1;
"""
_SCRIPT = """\
-- foreign_key_checks: what foreign keys did is in the log; references are compared in the end
SET SESSION foreign_key_checks = 0;
-- transaction_isolation: the comparison in the end sees what others have committed
SET SESSION transaction_isolation = 'READ-COMMITTED';
"""
_SAVED = "SET @bk_isolation = @@SESSION.transaction_isolation;\n"
_RESTORED = "SET SESSION transaction_isolation = @bk_isolation;\n"


def reference_lines(references: Iterable[Reference]) -> dict[str, str]:
    """The lines of a script that concern foreign keys: what is ``saved`` of the session, who
    ``checks``, what is read ``before`` and ``after`` the statements, what is ``restored``.

    ``references``: those that the script has to look after; the server does where there are none.
    """
    keys = list(references)
    if not keys:
        return {"saved": "", "checks": _SERVER, "before": "", "after": "", "restored": ""}
    before, after = "", ""
    for number, key in enumerate(keys, 1):
        orphans = _orphans(key)
        before += _lines(f"SET @bk_orphans_{number} = {orphans}")
        after += _lines(f"SET @bk_orphans = @bk_orphans + 1 - ({orphans} <=> @bk_orphans_{number})")
    return {
        "saved": _SAVED, "checks": _SCRIPT, "before": before, "after": after,
        "restored": _RESTORED,
    }  # fmt: skip


def _orphans(key: Reference) -> str:
    """The number of references that lead nowhere, and what tells them from others."""
    child, parent = (".".join(map(quoted, name)) for name in (key.child, key.parent))
    columns = [f"bk_child.{quoted(column)}" for column in key.columns]
    pairs = [
        f"bk_parent.{quoted(referenced)} = {column}"
        for column, referenced in zip(columns, key.referenced, strict=True)
    ]
    values = ", ".join(f"HEX({column})" for column in columns)
    there = " AND ".join(f"{column} IS NOT NULL" for column in columns)
    return (
        f"(SELECT CONCAT(COUNT(*), ' ', BIT_XOR(CRC32(CONCAT_WS('/', {values})))) FROM {child} "
        f"AS bk_child WHERE {there} AND NOT EXISTS (SELECT 1 FROM {parent} AS bk_parent WHERE "
        f"{' AND '.join(pairs)}))"
    )


def _lines(text: str) -> str:
    return "".join(f"{line};\n" for line in prepared(text))
