"""Golden binlogs from real MySQL servers: scenarios, matrix, capture, manifests."""
