"""Binary logs from a running server, by the replication protocol."""
