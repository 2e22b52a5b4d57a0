"""What asks a running server: following, capturing and snapshots of it, and comparing with it."""
