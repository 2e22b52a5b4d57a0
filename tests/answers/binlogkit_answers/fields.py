"""The fields of each part that answers are compared by: a field that is new changes no digest.

Left out are sentences (``meaning``, ``found``, ``problem``, ``evidence``), which say in words what
the fields beside them say, numbers that only order (``seq``, ``tx`` of rows, ``step``), and
``source``, a name that nobody gives these logs.
"""

from __future__ import annotations

__all__ = ["FIELDS"]

_PLACE = "file pos end_pos inner"
_ROW = f"""{_PLACE} row timestamp commit_timestamp server_id gtid thread_id xid xa db table op
    query before after"""
_FINDING = "grade code file pos end_pos inner event type gtid"
_PLAN = "file pos inner row gtid timestamp db table kind set where limit_one refused note"
_STATE = "values unknown"

#: Names by part.
FIELDS: dict[str, frozenset[str]] = {
    part: frozenset(names.split())
    for part, names in {
        "rows": _ROW,
        "generic": _ROW,
        "batches": f"{_ROW} before_state after_state raw",
        "columns": "pos inner row before after",
        "events": f"""{_PLACE} size timestamp type code server_id flags checksum gtid fields""",
        "transactions": """tx file pos end_file end_pos gtid server_id thread_id xid xa timestamp
            end_timestamp commit_timestamp original_commit_timestamp outcome resolved_file
            resolved_pos events size inserts updates deletes rows tables statements format
            compressed last_committed sequence_number first_query""",
        "statements": f"""{_PLACE} timestamp server_id gtid thread_id db query kind exec_time
            error_code""",
        "boundaries": f"""{_PLACE} tx timestamp commit_timestamp gtid db table action new_db
            new_table columns key reason statement sql_mode""",
        "tables": """db table schema_version position column mysql_type kind nullable unsigned
            charset collation labels key key_kind generated visible name_origin sign_origin
            charset_origin labels_origin assumed""",
        "verify.findings": _FINDING,
        "verify.rows": _FINDING,
        "verify.files": """file kind server_version server_id events size ok bad none ended
            damages""",
        "audit": """file size sha256 server_version events first_timestamp last_timestamp ok bad
            none next status transactions committed rolled_back prepared cut open rows inserts
            updates deletes db table first_file first_pos last_file last_pos minute pos end_file
            end_pos gtid thread_id timestamp end_timestamp outcome first_query duration server_id
            query tables inner kind exec_time error_code format statements limit grade
            code event type""",
        "state": _STATE,
        "state.findings": "finding determined count file pos",
        "undo": _PLAN,
        "redo": _PLAN,
    }.items()
}
