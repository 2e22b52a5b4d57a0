"""Events in text: BINLOG statements, base64, hexdumps."""
