"""Room 3: table maps and row images -> row changes; the only room that knows column types."""
