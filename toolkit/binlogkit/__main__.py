"""``python -m binlogkit``: the command line."""

from __future__ import annotations

from binlogkit.cli import main

if __name__ == "__main__":
    main()
