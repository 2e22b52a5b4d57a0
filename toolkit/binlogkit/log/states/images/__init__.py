"""Changes outside the log, as row images show them."""
