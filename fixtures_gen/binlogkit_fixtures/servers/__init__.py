"""Real MySQL servers for fixtures and tests, in containers or as local processes.

::

    from binlogkit_fixtures.servers import ServerSpec, start

    spec = ServerSpec("8.0", {"binlog-format": "ROW", "gtid-mode": "ON",
                              "enforce-gtid-consistency": "ON",
                              "server-uuid": "3e11fa47-71ca-11e1-9e33-c80aa9429562"})
    with start(spec) as server:                     # runner="auto" | "docker" | "local"
        server.query("CREATE DATABASE shop")
        connection = server.connect(database="shop")    # a PyMySQL session of your own
        server.query("FLUSH BINARY LOGS")
        server.copy_binlog(server.binlog_names()[0], Path("out"))
        server.kill()                               # or stop(): files are readable until the end

Every server logs to ``binlog.000001`` … with server id 1, UTC, utf8mb4 and no performance schema,
listens on 127.0.0.1 with a random password, and is gone with its files after the ``with``, also
after Ctrl-C, at exit, and when the process is killed.

5.7 and 8.0 run under both runners; 5.6 as a local process from its registry, or, as 8.4 and 9, from
a program or an image that the user names. ``servers.mysqlbinlog`` has the judge: ``find()`` and
``ensure()``. ``python -m binlogkit_fixtures.servers.images`` builds images without a hub. What goes
wrong is a ``ServerError`` or ``OracleError`` that names the command which helps.

Settings, all in the environment: ``BINLOGKIT_RUNNER`` (docker, local);
``BINLOGKIT_MYSQLD_5_7``, ``_8_0``, ``_5_6``, ``_8_4``, ``_9`` (a mysqld of yours);
``BINLOGKIT_IMAGE_5_7``, … (an image of yours); ``BINLOGKIT_MYSQLBINLOG``;
``BINLOGKIT_MAVEN_REPOSITORY`` (a URL, instead of ``mvn``); ``BINLOGKIT_CACHE`` (a folder).
"""

from __future__ import annotations

from binlogkit_fixtures.servers.base import Server, ServerSpec
from binlogkit_fixtures.servers.choose import choose_runner, start

__all__ = ["Server", "ServerSpec", "choose_runner", "start"]
