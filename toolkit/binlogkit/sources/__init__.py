"""Room 1: path, bytes, socket -> raw events; the only room that opens, decrypts, connects."""
