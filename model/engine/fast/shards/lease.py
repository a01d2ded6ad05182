"""Who drives a search, for the message to a second driver. Nothing depends on it for safety: see
`manifests`.
"""

from __future__ import annotations

import contextlib
import os
import socket
import time

from attrs import define

from groupcheck.model.engine.errors import UserError
from groupcheck.model.engine.fast.shards.store import Store, StoreError

FOLDER = "drivers"
EVERY = 10.0  # seconds between two signs of life
FRESH = 60.0  # seconds after which a driver without one is taken for dead


@define
class Lease:
    """The sign of life of one run."""

    store: Store
    run: str
    written: float = 0.0

    def renew(self) -> None:
        """Gives a sign of life if it is time. A store that fails shows that elsewhere."""
        now = time.time()
        if now - self.written >= EVERY:
            self.written = now
            document = {"host": socket.gethostname(), "pid": os.getpid(), "wrote": now}
            with contextlib.suppress(StoreError):
                self.store.write_document(self._name, document)

    def end(self) -> None:
        """The driver is done."""
        self.store.delete([self._name])

    @property
    def _name(self) -> str:
        return f"{FOLDER}/{self.run}.json"


def must_be_free(store: Store) -> None:
    """Raises `UserError` where another driver gave a sign of life not long ago."""
    for name in store.names(FOLDER):
        try:
            told = store.read_document(name)
            host, pid, age = str(told["host"]), int(told["pid"]), time.time() - float(told["wrote"])
        except (StoreError, KeyError, TypeError, ValueError, OverflowError):
            continue  # torn, forged or gone
        if abs(age) < FRESH and not (host == socket.gethostname() and _is_dead(pid)):
            raise UserError(
                f"another driver on {host[:80]}, process {pid}, wrote {max(0, age):.0f} seconds "
                "ago",
                where=store.uri,
                do=f"stop it first; if it is dead, wait until {FRESH:.0f} seconds have passed",
            )


def _is_dead(pid: int) -> bool:
    try:
        os.kill(max(pid, 1), 0)
    except (ProcessLookupError, OverflowError):
        return True
    except OSError:
        return False  # another user's
    return False
