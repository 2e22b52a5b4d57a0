"""Everything that the front door answers about many logs, as digests to compare later code with.

``inputs`` names the logs, ``questions`` asks, ``asking`` makes digests, ``differences`` judges;
``tests/answers/digest.py`` is the command line.
"""
