"""What storage engines let the server log (``ha_table_flags`` of 5.7, 8.0 and 9.7)."""

from __future__ import annotations

from dataclasses import dataclass, replace

_READ_COMMITTED = ("READ-COMMITTED", "READ-UNCOMMITTED")


@dataclass(frozen=True, slots=True)
class Engine:
    """A storage engine.

    ``row``, ``statement``: capable of that format (HA_BINLOG_ROW_CAPABLE, HA_BINLOG_STMT_CAPABLE);
    ``self_logging``: writes its own events (HA_HAS_OWN_BINLOGGING, NDB);
    ``transactional``: its changes are undone by ROLLBACK.
    """

    name: str
    row: bool = True
    statement: bool = True
    self_logging: bool = False
    transactional: bool = True


INNODB = Engine("InnoDB")
_NONTRANSACTIONAL = ("MyISAM", "MEMORY", "CSV", "ARCHIVE", "MRG_MYISAM", "FEDERATED")
_KNOWN = {
    "INNODB": INNODB,
    "BLACKHOLE": Engine("BLACKHOLE"),
    "NDBCLUSTER": Engine("ndbcluster", statement=False, self_logging=True),
    "EXAMPLE": Engine("EXAMPLE", row=False, transactional=False),
    "PERFORMANCE_SCHEMA": Engine("PERFORMANCE_SCHEMA", transactional=False),
    **{name.upper(): Engine(name, transactional=False) for name in _NONTRANSACTIONAL},
}


def engine_of(name: str | None, isolation: str = "REPEATABLE-READ") -> Engine:
    """The engine of that name, InnoDB without one, as it stands in a transaction.

    Below REPEATABLE READ, InnoDB is not statement-capable (manual, "Setting The Binary Log
    Format"). A name that is not known: a transactional engine that can log both.
    """
    found = _KNOWN.get((name or "InnoDB").upper(), Engine(name or "InnoDB"))
    if found is INNODB and isolation.upper().replace(" ", "-") in _READ_COMMITTED:
        return replace(found, statement=False)
    return found
