"""Room 6: results -> text, JSON, HTML, SQL, plots; knows no bytes, computes nothing."""
