"""Streams: ``spark.readStream.format("binlog")`` over logs that are being written."""
