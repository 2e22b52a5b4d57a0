"""The compiled kernel: an index of a log's events, and rows as columns.

Compiled by Cython from the Python files here, in pure-Python mode; ``layout.pxd`` has the structs
that they share. Every reader of bytes takes ``(p, end)`` and returns the new ``p``, or NULL with
the table's ``fault`` filled in; sizes are compared with what is left, and room is made before
anything is written.
"""
