"""What a state begins with beside the log: snapshots, dumps, earlier states."""
