"""A real Chromium for tests of pages, driven over its DevTools protocol through a pipe.

The protocol: https://chromedevtools.github.io/devtools-protocol/; with ``--remote-debugging-pipe``
messages are JSON, each ended by a zero byte; the browser reads from descriptor 3 and writes to 4.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = (
    "--headless=new", "--no-sandbox", "--remote-debugging-pipe", "--disable-gpu", "--no-first-run",
    "--disable-background-networking", "--disable-dev-shm-usage", "--hide-scrollbars",
    "--force-color-profile=srgb", "--font-render-hinting=none",
)  # fmt: skip
_HIGHEST = 8000  # pixels of a picture
#: A sheet of A4 without its margins of 12 mm, in CSS pixels.
PAPER = (703, 1032)


def program() -> str | None:
    """The browser that is installed, None if none is."""
    return next(filter(None, map(shutil.which, _NAMES)), None)


class Browser:
    """A headless Chromium with one tab, and a profile of its own; ends with the block."""

    def __init__(self, path: str) -> None:
        self._profile = tempfile.TemporaryDirectory(prefix="binlogkit-browser-")
        (read, to_it), (from_it, write) = _pipe(), _pipe()
        shell = ["bash", "-c", f'exec "$0" "$@" 3<&{read} 4>&{write}']
        self._process = subprocess.Popen(
            [*shell, path, *_FLAGS, f"--user-data-dir={self._profile.name}", "about:blank"],
            pass_fds=(read, write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(read)
        os.close(write)
        self._to, self._from = os.fdopen(to_it, "wb"), os.fdopen(from_it, "rb")
        self._number, self._session, self._rest = 0, "", b""
        self.events: list[dict[str, Any]] = []

    def __enter__(self) -> Browser:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        self._to.close()  # which ends it
        self._process.wait(60)
        self._from.close()
        self._profile.cleanup()

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """One call of the protocol, its result."""
        self._number += 1
        said = {"id": self._number, "method": method, "params": params}
        if self._session:
            said["sessionId"] = self._session
        self._to.write(json.dumps(said).encode() + b"\0")
        self._to.flush()
        while (told := self._next()).get("id") != self._number:
            self.events.append(told)
        if "error" in told:
            raise RuntimeError(f"{method}: {told['error']}")
        result: dict[str, Any] = told["result"]
        return result

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            more = self._from.read1(1 << 20)
            if not more:
                raise RuntimeError("the browser has ended")
            self._rest += more
        message, _, self._rest = self._rest.partition(b"\0")
        told: dict[str, Any] = json.loads(message)
        return told

    def open(self, page: Path, width: int, height: int = 900, **media: str) -> None:
        """Show a file ``width`` pixels wide; ``media``: type (screen, print), scheme (light, dark).

        The waiting is for the load event.
        """
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height,
            deviceScaleFactor=1, mobile=width < 500,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": media.get("scheme", "light")}
        self.call(
            "Emulation.setEmulatedMedia", media=media.get("type", "screen"), features=[scheme]
        )
        self.events.clear()
        self.call("Page.navigate", url=page.resolve().as_uri())
        while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
            self.events.append(self._next())

    @property
    def requested(self) -> list[str]:
        """What the page made the browser fetch, itself among it."""
        sent = (e["params"] for e in self.events if e.get("method") == "Network.requestWillBeSent")
        return [one["request"]["url"] for one in sent]

    @property
    def complaints(self) -> list[str]:
        """What the browser's console says of the page: a policy that was hit, a fault."""
        entries = (e["params"]["entry"] for e in self.events if e.get("method") == "Log.entryAdded")
        return [entry["text"] for entry in entries]

    def value(self, script: str) -> Any:
        """What a script in the page gives, awaited if it is a promise."""
        told = self.call("Runtime.evaluate", expression=script, awaitPromise=True,
                         returnByValue=True)  # fmt: skip
        if "exceptionDetails" in told:
            raise RuntimeError(str(told["exceptionDetails"]))
        return told["result"].get("value")

    def picture(self, to: Path) -> None:
        """The page as PNG, as far as a picture can be high."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], _HIGHEST)}
        shot = self.call(
            "Page.captureScreenshot", captureBeyondViewport=True, clip=clip | {"scale": 1}
        )
        to.write_bytes(base64.b64decode(shot["data"]))

    def printed(self, to: Path) -> None:
        """The page as PDF, on A4 as the page's own style sheet wants it."""
        self.call("Emulation.setEmulatedMedia", media="", features=[])
        paper = {"paperWidth": 8.27, "paperHeight": 11.69}
        made = self.call("Page.printToPDF", preferCSSPageSize=True, printBackground=False, **paper)
        to.write_bytes(base64.b64decode(made["data"]))


def _pipe() -> tuple[int, int]:
    """Its ends, away from the numbers that the browser uses."""
    ends = os.pipe()
    moved = fcntl.fcntl(ends[0], fcntl.F_DUPFD, 10), fcntl.fcntl(ends[1], fcntl.F_DUPFD, 10)
    for end in ends:
        os.close(end)
    return moved


@contextmanager
def browser() -> Iterator[Browser]:
    """The installed browser. LookupError: none is."""
    path = program()
    if path is None:
        raise LookupError("no Chromium is installed: apt-get install chromium")
    with Browser(path) as one:
        yield one
