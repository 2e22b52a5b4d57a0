"""Hostile input by the million: targets, their seeds, a mutator that knows framing.

``tools/fuzz.py`` runs a target under atheris (coverage-guided); ``tests/fuzz`` runs a slice of each
with a mutator of its own and a fixed seed. See docs/hostile-input.md.
"""
