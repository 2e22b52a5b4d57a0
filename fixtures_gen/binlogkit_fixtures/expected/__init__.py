"""What a decoder must make of a fixture's logs, as JSON lines: written, proved, packed up.

``lines``: the lines themselves; ``proofs``: how they are proved; ``index``: what a set holds;
``archive``: the set as an archive for projects that do not use Python.
"""
