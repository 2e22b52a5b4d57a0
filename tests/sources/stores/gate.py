"""A proxy in front of a store's server: it notes what is asked for and what came, and can fail.

The faults are injected here, on the wire; the server behind it is a real one.
"""

from __future__ import annotations

import http.client
import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

_HOP = {"connection", "transfer-encoding", "content-length", "keep-alive"}


@dataclass(slots=True)
class Request:
    """One request: its method, path with query, Range header, and how many bytes were answered."""

    method: str
    path: str
    range: str | None
    sent: int = 0


@dataclass(slots=True)
class Gate:
    """What went through; ``cut``: answers with a range that end after half, ``status``: what each
    request for an object is answered instead, ``lost``: of how many objects, whose path ends so,
    the writing is done and the answer lost."""

    port: int = 0
    behind: int = 0
    requests: list[Request] = field(default_factory=list)
    cut: int = 0
    status: int | None = None
    lost: dict[str, int] = field(default_factory=dict)

    @property
    def endpoint(self) -> str:
        """Its URL."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def server(self) -> str:
        """The server's own URL, for what holds the interpreter while it waits for an answer."""
        return f"http://127.0.0.1:{self.behind}"

    def ranges(self) -> list[tuple[int, int]]:
        """First and last byte of each ranged request that was answered."""
        asked = [r.range for r in self.requests if r.method == "GET" and r.range]
        pairs = (text.removeprefix("bytes=").split("-") for text in asked)
        return [(int(first), int(last)) for first, last in pairs]

    def forget(self) -> None:
        """Begin to count anew."""
        self.requests.clear()
        self.cut, self.status = 0, None
        self.lost.clear()

    def loses(self, method: str, path: str) -> bool:
        """Whether the answer to a request gets lost."""
        for end, times in self.lost.items():
            if method == "PUT" and times and path.endswith(end):
                self.lost[end] -= 1
                return True
        return False


@contextmanager
def gate_to(port: int) -> Iterator[Gate]:
    """A gate to the server at ``port`` of this machine."""
    gate = Gate(behind=port)

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *arguments: Any) -> None:
            """Nothing on standard error."""

        def _pass(self) -> None:
            note = Request(self.command, self.path, self.headers.get("Range"))
            gate.requests.append(note)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if gate.status is not None and self.command in ("GET", "HEAD"):
                self.send_response(gate.status)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            behind = http.client.HTTPConnection("127.0.0.1", port)
            headers = {k: v for k, v in self.headers.items() if k.lower() != "connection"}
            behind.request(self.command, self.path, body, headers)
            answer = behind.getresponse()
            data = answer.read()
            behind.close()
            if gate.loses(self.command, self.path.partition("?")[0]):
                self.close_connection = True
                return
            self.send_response(answer.status)
            for key, value in answer.getheaders():
                if key.lower() not in _HOP:
                    self.send_header(key, value)
            claimed = answer.getheader("Content-Length") if self.command == "HEAD" else None
            self.send_header("Content-Length", claimed or str(len(data)))
            self.end_headers()
            if gate.cut and note.range:
                gate.cut -= 1
                data = data[: len(data) // 2]
                self.close_connection = True
            note.sent = len(data)
            self.wfile.write(data)

        do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    gate.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield gate
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
