"""The walk over an event's bytes: each part with its offset, bytes, value and meaning."""
