"""Room 5: frame -> frame with a declared schema; pure, no I/O, any engine."""
