"""Foreign keys in a script: the server checks them, or the script itself compares references.

Up to 9.5 InnoDB's cascades are not logged, and a script's statements cascade as those of the log
did. From 9.6 on the server logs cascaded changes: a script that undoes these, or makes them again,
would find them done already, or in an order that checks refuse. So it turns foreign_key_checks off
and compares, for each foreign key, the dangling references before and after (9.7.4; docs/traps.md,
"Cascades").
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from binlogkit.reports._literals import prepared_lines, quoted

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
    """The lines of a script that concern foreign keys: settings that are ``saved``, who ``checks``,
    reads ``before`` and ``after`` the statements, settings that are ``restored``.

    ``references``: those that the script must check; without any, the server checks.
    """
    keys = list(references)
    if not keys:
        return {"saved": "", "checks": _SERVER, "before": "", "after": "", "restored": ""}
    before, after = "", ""
    for number, key in enumerate(keys, 1):
        orphans = _orphans(key)
        before += prepared_lines(f"SET @bk_orphans_{number} = {orphans}")
        same = f"({orphans} <=> @bk_orphans_{number})"
        after += prepared_lines(f"SET @bk_orphans = @bk_orphans + 1 - {same}")
    return {
        "saved": _SAVED, "checks": _SCRIPT, "before": before, "after": after,
        "restored": _RESTORED,
    }  # fmt: skip


def _orphans(key: Reference) -> str:
    """The number of dangling references, and a checksum of them."""
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
