"""The main job from beginning to end, on real servers: ``make demo``.

Plays scenarios on MySQL 5.7 and 8.0 across binlog_format and binlog_row_image, captures the logs,
decodes them, audits an incident, rebuilds a table as it was before it and holds that against what
the server said then, compares every log with mysqlbinlog, prints the SQL that undoes the one bad
statement, and writes the evidence report. Where no server or no mysqlbinlog is available it runs on
the golden logs and their recorded truth, and says so.
"""
