"""What the fields of table maps, rows events and status variables mean; see fields.py."""

from __future__ import annotations

from binlogkit.events.explain import values as say
from binlogkit.events.explain.fields import FIELDS, Field

__all__ = ["EXTRA_ROW_TYPES", "OPTIONAL_METADATA", "STATUS_VARS"]

F = Field

#: Codes of ``Query_event_status_vars`` in the server's sources, ``statement_events.h``.
STATUS_VARS = {
    0: "FLAGS2", 1: "SQL_MODE", 2: "CATALOG", 3: "AUTO_INCREMENT", 4: "CHARSET", 5: "TIME_ZONE",
    6: "CATALOG_NZ", 7: "LC_TIME_NAMES", 8: "CHARSET_DATABASE", 9: "TABLE_MAP_FOR_UPDATE",
    10: "MASTER_DATA_WRITTEN", 11: "INVOKER", 12: "UPDATED_DB_NAMES", 13: "MICROSECONDS",
    14: "COMMIT_TS", 15: "COMMIT_TS2", 16: "EXPLICIT_DEFAULTS_FOR_TIMESTAMP",
    17: "DDL_LOGGED_WITH_XID", 18: "DEFAULT_COLLATION_FOR_UTF8MB4", 19: "SQL_REQUIRE_PRIMARY_KEY",
    20: "DEFAULT_TABLE_ENCRYPTION", 21: "CASCADE_TRIGGERS (Percona: DDL_SKIP_REWRITE)",
    128: "HRNOW of MariaDB (Percona's cluster: WSREP_SKIP_READONLY_CHECKS)",
    129: "XID of MariaDB", 130: "GTID_FLAGS3 of MariaDB", 131: "COLLATIONS of MariaDB",
}  # fmt: skip
#: Types of ``Optional_metadata_field_type`` in the server's sources, ``rows_event.h``.
OPTIONAL_METADATA = {
    1: "SIGNEDNESS", 2: "DEFAULT_CHARSET", 3: "COLUMN_CHARSET", 4: "COLUMN_NAME",
    5: "SET_STR_VALUE", 6: "ENUM_STR_VALUE", 7: "GEOMETRY_TYPE", 8: "SIMPLE_PRIMARY_KEY",
    9: "PRIMARY_KEY_WITH_PREFIX", 10: "ENUM_AND_SET_DEFAULT_CHARSET",
    11: "ENUM_AND_SET_COLUMN_CHARSET", 12: "COLUMN_VISIBILITY", 13: "VECTOR_DIMENSIONALITY",
}  # fmt: skip
EXTRA_ROW_TYPES = {0: "NDB's own", 1: "the partition"}

_TABLE_ID = F("stands for the table from here on in this log; the rows events name it")
_COUNT = F("columns of the table")

FIELDS["TableMap"] = {
    "table_id": _TABLE_ID,
    "flags": F("", bits=say.TABLE_FLAGS),
    "db_length": F("bytes of the database's name"),
    "db": F("the database"),
    "db_end": F("the NUL after the name"),
    "table_length": F("bytes of the table's name"),
    "table": F("the table"),
    "table_end": F("the NUL after the name"),
    "column_count": _COUNT,
    "column_types": F("a byte for each column"),
    "metadata_length": F("bytes of the types' metadata"),
    "metadata": F("what the types need besides: lengths, digits, real types"),
    "null_bits": F("which columns may be NULL, from the lowest bit on"),
    "optional_metadata_type": F("", "8.0.1", codes=OPTIONAL_METADATA),
    "optional_metadata_length": F("its bytes", "8.0.1"),
    "optional_metadata": F("its value", "8.0.1"),
    "unsigned": F("which numeric columns are unsigned, from the highest bit on"),
    "default_charset": F("collation of most character columns, then those that have another"),
    "columns_charset": F("collation of a character column", says=say.collation),
    "column_names_length": F("bytes of the name"),
    "column_names": F("name of a column"),
    "set_labels_count": F("labels of a SET column"),
    "set_labels_length": F("bytes of the label"),
    "set_labels": F("a label of the SET"),
    "enum_labels_count": F("labels of an ENUM column"),
    "enum_labels_length": F("bytes of the label"),
    "enum_labels": F("a label of the ENUM"),
    "geometry_types": F(
        "which geometries a column takes",
        codes={
            0: "geometry", 1: "point", 2: "linestring", 3: "polygon", 4: "multipoint",
            5: "multilinestring", 6: "multipolygon", 7: "geometrycollection",
        },
    ),
    "primary_key": F("column of the primary key, counted from 0; with prefixes its length follows"),
    "enum_and_set_default_charset": F("collation of most ENUM and SET columns, then the others'"),
    "enum_and_set_columns_charset": F("collation of an ENUM or SET column", says=say.collation),
    "visible": F("which columns are visible, from the highest bit on", "8.0.23"),
    "vector_dimensions": F("dimensions of a VECTOR column", "9.0.0"),
}  # fmt: skip

FIELDS["RowsEvent"] = {
    "table_id": F("the table of the last TABLE_MAP_EVENT with this id"),
    "flags": F("", bits=say.ROWS_FLAGS),
    "extra_length": F("bytes of extra data, these two included", "5.6.2"),
    "extra_data": F("extra data"),
    "extra_type": F("whose extra data", codes=EXTRA_ROW_TYPES),
    "ndb_length": F("bytes of NDB's data, this and the next one included"),
    "ndb_format": F("its format"),
    "ndb": F("NDB's own data"),
    "partition_id": F("the partition that the rows are in", "8.0.16"),
    "source_partition_id": F("the partition that the rows were in", "8.0.16"),
    "column_count": _COUNT,
    "columns_present": F("which columns the image holds, from the lowest bit on"),
    "columns_present_after": F("which columns the after image holds, from the lowest bit on"),
    "rows": F("the rows, one after the other"),
    "value_options": F("", "8.0.3", bits={1: ("PARTIAL_JSON", "JSON columns may be differences")}),
    "partial_bits": F("which of the table's JSON columns are differences", "8.0.3"),
    "null_bitmap": F("which of the columns present are NULL, from the lowest bit on"),
}
FIELDS["EarlyRows"] = {
    **{name: FIELDS["RowsEvent"][name] for name in ("table_id", "flags", "column_count")},
    "columns_present": FIELDS["RowsEvent"]["columns_present"],
    "rows": F("how they are stored neither the event nor its table map tells before 5.1.18"),
}

FIELDS["status_vars"] = {
    "status_var_code": F("", codes=STATUS_VARS),
    "flags2": F("", bits=say.FLAGS2),
    "sql_mode": F("", bits=say.SQL_MODE),
    "catalog": F("always std"),
    "catalog_length": F("bytes of the name"),
    "catalog_end": F("the NUL after the name"),
    "auto_increment_increment": F("auto_increment_increment of the session", "5.0.2"),
    "auto_increment_offset": F("auto_increment_offset of the session", "5.0.2"),
    "client_collation": F("character_set_client", "5.0.3", say.collation),
    "connection_collation": F("collation_connection", "5.0.3", say.collation),
    "server_collation": F("collation_server", "5.0.3", say.collation),
    "time_zone": F("time_zone of the session", "5.0.3"),
    "time_zone_length": F("bytes of the name"),
    "lc_time_names": F("number of the locale in lc_time_names; 0 is en_US", "5.0.25"),
    "database_collation": F("collation_database", "5.0.36", say.collation),
    "table_map_for_update": F("a bit for each table that the UPDATE changes", "5.0.54"),
    "source_data_written": F("bytes of the event as a source of 4.x sent it", "5.1.37"),
    "invoker_user": F("the user of CURRENT_USER() or of the definer", "5.5.3"),
    "invoker_user_length": F("bytes of the name"),
    "invoker_host": F("the host of CURRENT_USER() or of the definer", "5.5.3"),
    "invoker_host_length": F("bytes of the name"),
    "updated_dbs_count": F("databases that the statement changes; 254: too many to list", "5.6.3"),
    "updated_dbs": F("a database that the statement changes"),
    "microseconds": F("fraction of the second in which the statement began", "5.6.4"),
    "commit_seq_no": F("5.7.2 to 5.7.4: order of commits"),
    "explicit_defaults_for_timestamp": F("the setting of that name", "8.0.2"),
    "ddl_xid": F("number of a DDL statement that commits by itself", "8.0.3"),
    "utf8mb4_collation": F("default_collation_for_utf8mb4", "8.0.11", say.collation),
    "sql_require_primary_key": F("the setting of that name", "8.0.13"),
    "default_table_encryption": F("the setting of that name", "8.0.16"),
    "enable_cascade_triggers": F("whether cascades fire triggers", "9.7"),
    "ddl_skip_rewrite": F("a setting of Percona's server"),
    "wsrep_skip_readonly_checks": F("a setting of Percona's cluster"),
    "mariadb_xid": F("number of a DDL statement"),
    "mariadb_gtid_flags3": F("flags of MariaDB's ALTER in two phases"),
    "mariadb_sa_seq_no": F("the ALTER that ends"),
    "mariadb_collations_count": F("character sets whose default collation the session sets"),
    "mariadb_charset": F("a character set, by its default collation", says=say.collation),
    "mariadb_collation": F("its collation in the session", says=say.collation),
    "status_vars": F("a setting that this version does not know, and what follows it"),
}
FIELDS["extra_data"] = FIELDS["RowsEvent"]
