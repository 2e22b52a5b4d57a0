"""Streams: ``spark.readStream.format("binlog")`` over logs that grow."""
