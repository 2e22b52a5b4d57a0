"""Undo and redo of a part of a log: plans, and the proof of their script on a server."""
