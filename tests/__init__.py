"""A package, so that the tests can import what they share, and no other package of that name."""
