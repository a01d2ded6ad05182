"""An S3 server (moto) at three ports of this machine: at the first one request in twenty fails,
before or after it has had its effect; at the second one in fifty, and each takes 200 ms more. Ends
when its input does. It runs in the environment of requirements-nightly.txt.
"""

from __future__ import annotations

import logging
import random
import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

FAILING = 0.05  # of all requests
SLOWLY_FAILING, DELAY_S = 0.02, 0.2

Application = Callable[..., Iterable[bytes]]


class Flaky:
    """A WSGI application that fails some requests, and answers late."""

    def __init__(self, application: Application, failing: float, delay_s: float = 0.0) -> None:
        self.application, self.chance = application, random.Random()
        self.failing, self.delay_s = failing, delay_s
        self.requests = self.failed = 0

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        self.requests += 1
        time.sleep(self.delay_s)
        if self.chance.random() >= self.failing:
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
    flaky, slow = Flaky(steady, FAILING), Flaky(steady, SLOWLY_FAILING, DELAY_S)
    print(served(flaky), served(slow), served(steady), flush=True)
    sys.stdin.read()
    print(flaky.requests, flaky.failed, slow.requests, slow.failed, flush=True)


if __name__ == "__main__":
    main()
