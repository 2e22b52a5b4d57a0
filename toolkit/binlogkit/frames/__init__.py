"""Room 4: column buffers -> Arrow -> pandas and Spark; the only room that knows dataframes."""
