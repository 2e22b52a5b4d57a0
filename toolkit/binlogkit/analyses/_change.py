"""Where a change stands in a log, as plans and what depends on them tell it."""

#: Where a change stands, as fields of what is told of it.
CHANGE = (
    ("source", "string?", "the server's UUID, or the name the user gave"),
    ("file", "string", "file of the change"),
    ("pos", "int64", "position of its event"),
    ("inner", "int64?", "its number inside a payload, null outside"),
    ("row", "int64", "the change's number in its event"),
    ("gtid", "string?", "GTID of its transaction, null when anonymous"),
    ("timestamp", "seconds", "when its statement began"),
)
