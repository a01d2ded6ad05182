"""A headless Chromium, driven over its debugging pipe (Chrome DevTools Protocol): JSON messages,
each ended by a NUL byte. No port is opened.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any

from attrs import Factory, define

NAMES = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    "--remote-debugging-pipe",
)


@define
class Page:
    """One tab."""

    browser: Chromium
    session: str
    # What the page printed on its console as errors, threw, or was forbidden to do.
    errors: list[str] = Factory(list)
    # The addresses that it and its workers asked for, if it is watched.
    requests: list[str] = Factory(list)

    def call(self, method: str, **params: Any) -> Any:
        return self.browser.call(method, self.session, **params)

    def run(self, script: str) -> Any:
        """The value of an expression, awaited if it is a promise."""
        told = self.call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in told:
            raise AssertionError(told["exceptionDetails"])
        return told["result"].get("value")

    def frame(self) -> None:
        """Waits until the next two frames have been drawn."""
        two = "new Promise(r => requestAnimationFrame(() => requestAnimationFrame(() => r(0))))"
        self.run(two)

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x: float, y: float) -> None:
        self.mouse("mousePressed", x, y, button="left", clickCount=1)
        self.mouse("mouseReleased", x, y, button="left", clickCount=1)
        self.frame()

    def picture(self, path: Path) -> None:
        """Writes what the window shows as a PNG file."""
        told = self.call("Page.captureScreenshot", format="png")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(told["data"]))


class Chromium:
    """The process. A context manager; leaving it ends the process."""

    def __init__(self) -> None:
        program = next((path for name in NAMES if (path := shutil.which(name))), None)
        if program is None:
            raise AssertionError(f"none of {', '.join(NAMES)} is installed; .ci/browser does that")
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        theirs_in, self._to = os.pipe()
        self._from, theirs_out = os.pipe()

        def as_3_and_4() -> None:
            # Both are moved out of the way first: either may be 3 or 4 already.
            high_in, high_out = os.dup2(theirs_in, 93), os.dup2(theirs_out, 94)
            os.dup2(high_in, 3)
            os.dup2(high_out, 4)

        self._process = subprocess.Popen(
            [program, *OPTIONS, f"--user-data-dir={self._folder.name}", "about:blank"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=as_3_and_4,
            close_fds=False,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._unread = b""
        self._number = 0
        self._pages: dict[str, Page] = {}

    def __enter__(self) -> Chromium:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.terminate()
        self._process.wait(timeout=30)
        os.close(self._to)
        os.close(self._from)
        self._folder.cleanup()

    def open(
        self,
        path: Path | str,
        width: int = 1200,
        height: int = 900,
        scheme: str = "light",
        watched: bool = False,
        **more: Any,
    ) -> Page:
        """Loads a file, or an address, in a new tab of this size and colour scheme, and waits until
        it is drawn. `watched`: its requests are noted, and what its workers ask for and throw.
        """
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self._pages[session] = Page(self, session)
        for domain in ("Page", "Runtime", "Log"):
            page.call(f"{domain}.enable")
        if watched:
            page.call("Network.enable")
            attach = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}
            page.call("Target.setAutoAttach", **attach)
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False, **more}
        page.call("Emulation.setDeviceMetricsOverride", **size)
        scheme_of = {"name": "prefers-color-scheme", "value": scheme}
        page.call("Emulation.setEmulatedMedia", media="screen", features=[scheme_of])
        address = path if isinstance(path, str) else path.resolve().as_uri()
        page.call("Page.navigate", url=address)
        page.run(
            "new Promise(r => document.readyState === 'complete' && location.href !== 'about:blank'"
            " ? r(0) : addEventListener('load', () => r(0)))"
        )
        page.frame()
        return page

    def call(self, method: str, session: str | None = None, **params: Any) -> Any:
        """One command and its answer; what happens meanwhile is noted."""
        number = self._send(method, session, **params)
        while True:
            told = self._read()
            if told.get("id") == number:
                if "error" in told:
                    raise AssertionError(f"{method}: {told['error']}")
                return told["result"]
            self._note(told)

    def _send(self, method: str, session: str | None, **params: Any) -> int:
        """The number of a command, whose answer will come."""
        self._number += 1
        asked: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if session is not None:
            asked["sessionId"] = session
        os.write(self._to, json.dumps(asked).encode() + b"\0")
        return self._number

    def _read(self) -> Any:
        while b"\0" not in self._unread:
            more = os.read(self._from, 1 << 20)
            if not more:
                raise AssertionError("Chromium ended")
            self._unread += more
        message, _, self._unread = self._unread.partition(b"\0")
        return json.loads(message)

    def _note(self, told: dict[str, Any]) -> None:
        page = self._pages.get(told.get("sessionId", ""))
        if page is None or "method" not in told:  # the answer to a command of `_attached`
            return
        params = told["params"]
        if told["method"] == "Target.attachedToTarget":
            self._attached(page, params["sessionId"])
        elif told["method"] == "Network.requestWillBeSent":
            page.requests.append(params["request"]["url"])
        elif told["method"] == "Runtime.exceptionThrown":
            page.errors.append(str(params["exceptionDetails"]))
        elif told["method"] == "Runtime.consoleAPICalled" and params["type"] == "error":
            page.errors.append(str(params["args"]))
        elif told["method"] == "Log.entryAdded" and params["entry"]["level"] == "error":
            page.errors.append(params["entry"]["text"])
        elif told["method"] == "Page.javascriptDialogOpening":
            page.errors.append(f"a dialog: {params['message']}")

    def _attached(self, page: Page, worker: str) -> None:
        """Lets a worker of a watched page begin, once what it does is noted as the page's."""
        self._pages[worker] = page
        for domain in ("Network", "Runtime", "Log"):
            self._send(f"{domain}.enable", worker)
        self._send("Runtime.runIfWaitingForDebugger", worker)
