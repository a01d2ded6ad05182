"""The server behind the page of `explore`: this machine alone, unless somebody asks for more.

Whoever can ask it can walk the model, and no more: it reads no file and runs no code that a
question names. Still it answers those alone who know its address:
- a token in the address, which is new for each run;
- the header Host must be the address that it was started at, so that no foreign name that resolves
  to this machine (DNS rebinding) leads here;
- a question must come from its own page (Origin, Sec-Fetch-Site), as JSON, which no form can send.
"""

from __future__ import annotations

import hmac
import json
import secrets
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Any

from groupcheck.model.engine import UserError
from groupcheck.oracles.explore.page import page
from groupcheck.oracles.explore.questions import Desk
from groupcheck.oracles.printable import as_json, printable

LOOPBACK = "127.0.0.1"
EVERYWHERE = ("", "0.0.0.0", "::", "*")
USUAL_PORT = 80  # of http
LARGEST = 64 << 10  # bytes of a question
TIMEOUT_S = 30.0  # for a request to arrive
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",  # the page has the rest of its policy
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def names_of(host: str, port: int) -> list[str]:
    """How a browser writes an address in Host and Origin, the name to show first. It writes the
    host in lower case, and leaves port 80 out.
    """
    every = [host.lower()] + (["localhost"] if host == LOOPBACK else [])
    return every if port == USUAL_PORT else [f"{name}:{port}" for name in every]


class Server(ThreadingHTTPServer):
    """Serves one desk."""

    daemon_threads = True

    def __init__(self, desk: Desk, host: str = LOOPBACK, port: int = 0) -> None:
        """`port` 0: any that is free. Raises `UserError` where that is not possible."""
        if host in EVERYWHERE:
            raise UserError(
                "is every address of this machine, and a page has one",
                where=f"--listen {host}",
                do="name one address or host name, as others write it",
            )
        self.desk, self.lock = desk, Lock()
        self.token = secrets.token_urlsafe(18)
        self.page = page(desk.first()).encode()
        try:
            super().__init__((host, port), Handler)
        except (OSError, OverflowError) as error:
            what = f"cannot listen: {getattr(error, 'strerror', '') or error}"
            raise UserError(what, where=f"{host}:{port}", do="choose another --port") from None
        self.name, *others = names_of(host, self.server_address[1])
        self.names = {self.name, *others}

    @property
    def address(self) -> str:
        """What to open in a browser."""
        return f"http://{self.name}/{self.token}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that goes away is no error."""


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server: Server
    timeout = TIMEOUT_S
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "groupcheck", ""

    def do_GET(self) -> None:
        if self._is_refused(""):
            return
        self._send(200, self.server.page, "text/html; charset=utf-8")

    def do_POST(self) -> None:
        if self._is_refused("ask") or self._is_foreign():
            return
        length = self.headers.get("Content-Length", "")
        # The length of the number is limited as well: Python refuses to read thousands of digits.
        if not length.isdecimal() or len(length) > 9 or int(length) > LARGEST:
            self._refuse(413, "too long a question")
            return
        try:
            question = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            question = None
        if not isinstance(question, dict):
            self._refuse(400, "no question")
            return
        self._send(200, as_json(self._answered(question)).encode(), "application/json")

    def _answered(self, question: dict[str, Any]) -> dict[str, Any]:
        with self.server.lock:
            try:
                return self.server.desk.answer(question)
            except UserError as error:
                return {"error": printable(str(error))[:1000]}
            except Exception as error:  # the page says so, and the walk goes on
                what = printable(f"{type(error).__name__}: {error}")[:1000]
                return {"error": f"a bug in groupcheck itself; please report it: {what}"}

    def _is_refused(self, wanted: str) -> bool:
        """Answers whoever does not know the address, or comes by another name."""
        if self.headers.get("Host", "") not in self.server.names:
            self._refuse(421, "another name than this server's")
            return True
        path = self.path.encode("ascii", "replace")
        if not hmac.compare_digest(path, f"/{self.server.token}/{wanted}".encode()):
            self._refuse(404, "nothing here")
            return True
        return False

    def _is_foreign(self) -> bool:
        """Answers a question that does not come from the page."""
        origin = self.headers.get("Origin", "")
        site = self.headers.get("Sec-Fetch-Site", "same-origin")
        own = {f"http://{name}" for name in self.server.names}
        kind = self.headers.get_content_type()
        if origin in own and site == "same-origin" and kind == "application/json":
            return False
        self._refuse(403, "a question from elsewhere")
        return True

    def _refuse(self, status: int, why: str) -> None:
        self.close_connection = True
        self._send(status, why.encode(), "text/plain; charset=utf-8")

    def _send(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        for name, value in {**HEADERS, "Content-Type": kind}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nobody reads a log of requests."""
