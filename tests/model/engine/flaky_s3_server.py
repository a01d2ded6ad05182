"""An S3 server (moto) at two ports of this machine: at the first one request in twenty fails,
before or after it has had its effect. Ends when its input does. It runs in the environment of
requirements-nightly.txt.
"""

from __future__ import annotations

import logging
import random
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

FAILING = 0.05  # of all requests

Application = Callable[..., Iterable[bytes]]


class Flaky:
    """A WSGI application that fails some requests."""

    def __init__(self, application: Application) -> None:
        self.application, self.chance = application, random.Random()
        self.requests = self.failed = 0

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        self.requests += 1
        if self.chance.random() >= FAILING:
            return self.application(environ, start)
        self.failed += 1
        if self.chance.random() < 0.5:
            for _ in self.application(environ, lambda *told: None):
                pass
        start("503 Slow Down", [("Content-Type", "application/xml")])
        return [b"<Error><Code>SlowDown</Code><Message>Slow down.</Message></Error>"]


def served(application: Application) -> int:
    """Serves on a free port until the process ends: the port."""
    server = make_server("127.0.0.1", 0, application, threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return int(server.port)


def main() -> None:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    steady = DomainDispatcherApplication(create_backend_app)
    flaky = Flaky(steady)
    print(served(flaky), served(steady), flush=True)
    sys.stdin.read()
    print(flaky.requests, flaky.failed, flush=True)


if __name__ == "__main__":
    main()
