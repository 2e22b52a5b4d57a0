"""Live state: tables and queries that are kept up to date from a log as it is written."""
