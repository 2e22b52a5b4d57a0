"""What row images show of changes outside the log."""
