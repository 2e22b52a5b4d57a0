"""The keyring of a server with ``binlog_encryption``: a file of its own data folder.

Manual, "Keyring Component Installation": a manifest ``mysqld.my`` in the data folder names the
components, ``component_keyring_file.cnf`` beside it where the keys are kept. The program's own
manifest must send the server there (debian.py, ``encrypting_mysqld``).
"""

from __future__ import annotations

import json
from pathlib import Path

from binlogkit_fixtures.servers.base import ServerSpec

__all__ = ["COMPONENT", "KEYRING", "encrypts", "write_manifests"]

COMPONENT = "component_keyring_file"
#: The keyring's name in the data folder.
KEYRING = "keyring"


def encrypts(spec: ServerSpec) -> bool:
    """Whether a server of this order encrypts its logs."""
    return (spec.option("binlog-encryption") or "").upper() in ("ON", "1", "TRUE")


def write_manifests(data: Path) -> None:
    """Make a data folder one whose server keeps its keys in it."""
    content = {
        "mysqld.my": {"components": f"file://{COMPONENT}"},
        f"{COMPONENT}.cnf": {"path": str(data / KEYRING), "read_only": False},
    }
    for name, value in content.items():
        (data / name).write_text(json.dumps(value), encoding="utf-8")
