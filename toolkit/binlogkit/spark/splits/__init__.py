"""What one task of Spark reads: which part of which log, and what comes of it."""
