"""Room 0: the inner loops of rooms 1-3, called only by them."""
