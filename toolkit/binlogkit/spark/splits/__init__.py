"""The work of one Spark task: a part of a log, and its output."""
