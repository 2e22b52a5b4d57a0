"""The starting points of states: snapshots, dumps, earlier states."""
