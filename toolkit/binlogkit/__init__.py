"""Forensic analysis and test fixtures for MySQL binary logs."""
