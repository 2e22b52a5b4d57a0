"""The columns of every record and frame, declared once, in ``fields.json``.

Arrow, pandas, JSON and Spark schemas, the records' keys and docs/records.md are made from these.
"""
