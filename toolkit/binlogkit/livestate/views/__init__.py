"""Queries over live tables: compiled from MySQL's SQL, kept up to date by changes."""
