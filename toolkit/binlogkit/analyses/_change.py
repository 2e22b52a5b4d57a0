"""The place of a change in a log, as plans and dependences give it."""

#: The place of a change, as fields of a record.
CHANGE = (
    ("source", "string?", "the server's UUID, or the name the user gave"),
    ("file", "string", "file of the change"),
    ("pos", "int64", "position of its event"),
    ("inner", "int64?", "its number inside a payload, null outside"),
    ("row", "int64", "the change's number in its event"),
    ("gtid", "string?", "GTID of its transaction, null when anonymous"),
    ("timestamp", "seconds", "when its statement began"),
)
