"""Rows by a log: tables as of a point, forwards or backwards, differences, and lives of rows."""
