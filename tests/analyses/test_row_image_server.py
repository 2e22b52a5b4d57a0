"""The columns of row images on real servers: predicted from the definitions, read from the log."""

from __future__ import annotations

from pathlib import Path

import pytest

import binlogkit as bk
from binlogkit.analyses.row_image import ImageColumns, image_columns
from binlogkit.rows.ddl.catalog import Catalog
from binlogkit_fixtures.servers import Server
from tests.analyses.image_cases import STATEMENTS, STATEMENTS_8, tables
from tests.servers import each_server

pytestmark = pytest.mark.server


server = each_server()


@pytest.mark.parametrize("row_image", ["MINIMAL", "NOBLOB", "FULL"])
@pytest.mark.gate(3)
def test_every_image_is_as_predicted(server: Server, row_image: str, tmp_path: Path) -> None:
    modern = not server.version.startswith("5")
    catalog = Catalog(server.version)
    server.query("DROP DATABASE IF EXISTS i")
    server.query("FLUSH BINARY LOGS")
    file = server.binlog_names()[-1]
    statements = [*STATEMENTS, *(STATEMENTS_8 if modern else [])]
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute(f"SET binlog_format = ROW, binlog_row_image = {row_image}")
        for statement in ("CREATE DATABASE i", "USE i", *tables(modern)):
            cursor.execute(statement)
            catalog.apply(statement, default_db="i", explicit_defaults_for_timestamp=modern)
        for statement, _ in statements:
            cursor.execute(statement)
    found = list(bk.open(str(server.copy_binlog(file, tmp_path))).row_records())

    predicted = [(text, change) for text, changes in statements for change in changes]
    assert len(found) == len(predicted)
    for (text, change), row in zip(predicted, found, strict=True):
        assert (row["table"], row["op"]) == (change.table, change.op), text
        definition = catalog.table("i", change.table)
        assert definition is not None
        logged = ImageColumns(
            *(None if image is None else tuple(image) for image in (row["before"], row["after"]))
        )
        assert logged == image_columns(
            definition, row_image, change.op, change.specified,
            triggers=change.triggers, after_duplicate=change.after_duplicate,
        ), text  # fmt: skip
