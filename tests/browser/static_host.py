"""A static host on the loopback interface, as those are that people publish sites on: files of one
folder, compressed on the way, kept by browsers for ten minutes, and not sent again to one that has
the same by its digest.
"""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
import threading
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from urllib.parse import urlsplit

from attrs import Factory, define

KINDS = {".mjs": "text/javascript", ".js": "text/javascript", ".wasm": "application/wasm"}
PACKED = (".bin", ".zip", ".png", ".gz")


@cache
def packed(plain: bytes) -> bytes:
    return gzip.compress(plain, 6, mtime=0)


@define
class Host:
    """A context manager; `address` ends with a slash."""

    folder: Path
    # Path and bytes of each answer, its headers not counted.
    sent: list[tuple[str, int]] = Factory(list)
    address: str = ""
    _server: ThreadingHTTPServer | None = None

    def __enter__(self) -> Host:
        host = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                name = urlsplit(self.path).path
                path = host.folder / name.lstrip("/")
                path = path / "index.html" if path.is_dir() else path
                found = path.is_file()
                body = path.read_bytes() if found else b""
                tag = f'"{hashlib.sha256(body).hexdigest()}"'
                same = found and self.headers["If-None-Match"] == tag
                if same:
                    body = b""
                elif found and path.suffix not in PACKED:
                    body = packed(body)
                host.sent.append((self.path, len(body)))
                self.send_response(304 if same else 200 if found else 404)
                self.send_header("ETag", tag)
                if found and not same and path.suffix not in PACKED:
                    self.send_header("Content-Encoding", "gzip")
                kind = KINDS.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "text/plain"
                self.send_header("Content-Type", kind)
                if not same:
                    self.send_header("Content-Length", str(len(body)))
                self.send_header("Cache-Control", "max-age=600")
                self.send_header("Access-Control-Allow-Origin", "*")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self._server.server_port}/"
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._server is not None
        self._server.shutdown()
        self._server.server_close()
