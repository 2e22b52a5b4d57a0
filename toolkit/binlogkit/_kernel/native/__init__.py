"""The compiled kernel: an index of a log's events, and rows as columns.

Compiled by Cython from the Python files here, in pure-Python mode; ``layout.pxd`` has the structs
that they share. Every reader of bytes takes ``(p, end)`` and returns the new ``p``, or NULL with
the table's ``fault`` filled in; sizes are compared with what is left, and room is made before
anything is written.
"""

from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

_here = Path(__file__).parent
for _source in _here.glob("[a-z]*.py"):
    if not any((_here / f"{_source.stem}{suffix}").exists() for suffix in EXTENSION_SUFFIXES):
        raise ImportError(
            "binlogkit's compiled kernel is missing, or older than its sources: pip builds it when "
            "it installs binlogkit and a C compiler is there; in a source tree, "
            "`python setup.py build_ext --inplace` does"
        )
