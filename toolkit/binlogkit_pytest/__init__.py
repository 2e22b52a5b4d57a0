"""Golden binlogs of real servers as pytest fixtures; see plugin.py."""
