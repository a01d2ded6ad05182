"""Which driver works on a search, for the message to a second driver. Safety does not depend on it:
see `manifests`.
"""

from __future__ import annotations

import contextlib
import os
import socket
import time

import psutil
from attrs import asdict, define, frozen

from groupcheck.model.engine.errors import UserError
from groupcheck.model.engine.fast.checkpoint import structured
from groupcheck.model.engine.fast.shards.store import Store, StoreError

FOLDER = "drivers"
EVERY = 10.0  # seconds between two signs of life
FRESH = 60.0  # seconds without one after which a driver counts as dead


@frozen
class Sign:
    """A sign of life."""

    # Of the driver: its machine, and its process there.
    host: str
    pid: int
    # When it was given, in seconds since 1970.
    wrote: float


@define
class Lease:
    """The signs of life of one run."""

    store: Store
    run: str
    # When the last one was given.
    written: float = 0.0

    def renew(self) -> None:
        """Gives a sign of life if it is time. A store that fails shows that elsewhere."""
        now = time.time()
        if now - self.written >= EVERY:
            self.written = now
            sign = Sign(socket.gethostname(), os.getpid(), now)
            with contextlib.suppress(StoreError):
                self.store.write_document(self._name, asdict(sign))

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
            sign = structured(store.read_document(name), Sign)
            is_dead = sign.host == socket.gethostname() and not psutil.pid_exists(sign.pid)
        except (StoreError, ValueError, OverflowError):
            continue  # torn, forged or gone
        age = time.time() - sign.wrote
        if abs(age) < FRESH and not is_dead:
            raise UserError(
                f"another driver on {sign.host[:80]}, process {sign.pid}, wrote"
                f" {max(0, age):.0f} seconds ago",
                where=store.uri,
                do=f"stop it first; if it is dead, wait until {FRESH:.0f} seconds have passed",
            )
