"""Walks over the bytes of events, as text and as HTML."""
