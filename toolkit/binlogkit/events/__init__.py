"""Room 2: raw event -> typed event; the only room that knows event layouts."""
