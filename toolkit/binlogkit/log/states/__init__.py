"""Rows that a log shows: tables as of a point, forwards or back, what differs, lives of rows."""
