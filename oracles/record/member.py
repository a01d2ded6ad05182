"""One consumer in a process of its own that reports what it sees: `python -m
groupcheck.oracles.record.member JSON`.

The JSON object has `client` (a name in `CLIENTS`), `bootstrap`, `client_id`, `group`, `topic`,
`commit_ms`, `commit_on_revoke`, `revoke_ms` and `options` (the library's own). Input lines are
`stop`, `sleep MS` (it does not poll meanwhile) and `twin` (a second consumer with the same options
begins in this process). When the input ends the process ends at once, because the process that
started it is gone. Each output line is one JSON event with the time `t` in Unix ms and the
kind `ev`; stderr is the library's own log. A member owns a partition from the start of its assigned
callback to the end of its revoked or lost callback; `own` in an event is all that it owns then.
"""

from __future__ import annotations

import asyncio
import json
import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

POLL_MS = 50
LONGEST_TEXT = 200


class Member:
    """One consumer: its library calls the callbacks here, and `live` is its loop."""

    def __init__(self, told: Mapping[str, Any], make: Callable[[], Any]) -> None:
        self._told, self._make, self._client = told, make, make()
        self._twin: Any = None
        self._lock = threading.RLock()  # a library may call back from a thread of its own
        self._own: set[str] = set()
        self._position: dict[str, int] = {}
        # Partition -> first and last offset, first and last time of an unbroken run of records.
        self._runs: dict[str, list[int]] = {}
        self._commands: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        for line in sys.stdin:
            self._commands.put(line.strip())
        os._exit(1)

    def tell(self, kind: str, **fields: Any) -> None:
        with self._lock:
            sys.stdout.write(json.dumps({"t": now(), "ev": kind, **fields}) + "\n")
            sys.stdout.flush()

    def failed(self, kind: str, error: Exception, **fields: Any) -> None:
        """Writes an event about an error of the library."""
        self.tell(kind, **fields, error=type(error).__name__, text=str(error)[:LONGEST_TEXT])

    async def assigned(self, partitions: Iterable[str]) -> None:
        """The library's callback: the member owns these partitions from now on."""
        parts = sorted(partitions)
        with self._lock:
            self._own |= set(parts)
            self.tell("assigned", parts=parts, own=sorted(self._own))

    async def gone(self, how: str, partitions: Iterable[str]) -> None:
        """The library's callback: the member loses these partitions (`how`: revoked or lost)."""
        parts = sorted(partitions)
        self.tell(f"{how}_begin", parts=parts)
        if how == "revoked" and self._told["commit_on_revoke"]:
            await self._commit("on_revoke", parts)
        if how == "revoked" and self._told["revoke_ms"]:
            await self._client.pause(self._told["revoke_ms"] / 1000)
        with self._lock:
            self._flush()
            self._own -= set(parts)
            for name in parts:
                self._position.pop(name, None)
            self.tell(how, parts=parts, own=sorted(self._own))

    def _seen(self, partition: str, offset: int) -> None:
        with self._lock:
            run, at = self._runs.get(partition), now()
            if run and run[1] + 1 == offset:
                run[1], run[3] = offset, at
            else:
                if run:
                    self._flush()
                self._runs[partition] = [offset, offset, at, at]
            self._position[partition] = offset + 1

    def _flush(self) -> None:
        with self._lock:
            if self._runs:
                self.tell("consumed", runs=dict(sorted(self._runs.items())))
                self._runs = {}

    async def _commit(self, why: str, partitions: Iterable[str]) -> None:
        with self._lock:
            offsets = {
                name: self._position[name] for name in sorted(partitions) if name in self._position
            }
        if not offsets:
            return
        sent = now()
        try:
            await self._client.commit(offsets)
        except Exception as error:
            self.failed("commit_rejected", error, why=why, sent=sent, offsets=offsets)
        else:
            self.tell("commit_ok", why=why, sent=sent, offsets=offsets)

    async def live(self) -> None:
        """Subscribes, polls, commits now and then, and carries out commands, until `stop`."""
        topic = self._told["topic"]
        await self._client.start(topic, self)
        self.tell("subscribed", topics=[topic])
        self.tell("started", version=self._client.version)
        committed = time.monotonic()
        while await self._obeyed():
            await self._poll(self._client, self._seen)
            if self._twin:
                await self._poll(self._twin, lambda partition, offset: None)
            if time.monotonic() - committed > self._told["commit_ms"] / 1000:
                committed = time.monotonic()
                await self._commit("periodic", list(self._position))
                self._flush()
        for client in filter(None, (self._client, self._twin)):
            try:
                await client.close()
            except Exception as error:
                self.failed("close_error", error)
        self._flush()
        self._own = set()
        self.tell("closed", own=[])

    async def _poll(self, client: Any, seen: Callable[[str, int], None]) -> None:
        try:
            for partition, offset in await client.poll(POLL_MS):
                seen(partition, offset)
        except Exception as error:
            self.failed("poll_error", error)
            await asyncio.sleep(0.2)

    async def _obeyed(self) -> bool:
        """Carries out the next command, if there is one. False if it was `stop`."""
        try:
            command = self._commands.get_nowait()
        except queue.Empty:
            return True
        self.tell("command", do=command)
        if command.startswith("sleep "):
            await asyncio.sleep(int(command.split()[1]) / 1000)
            self.tell("woke")
        if command == "twin":
            self._twin = self._make()
            await self._twin.start(self._told["topic"], Twin(self))
        return command != "stop"


class Twin:
    """The listener of a process's second consumer. The process's own events do not count it."""

    def __init__(self, member: Member) -> None:
        self._member = member

    async def assigned(self, partitions: Iterable[str]) -> None:
        self._member.tell("twin_assigned", parts=sorted(partitions))

    async def gone(self, how: str, partitions: Iterable[str]) -> None:
        self._member.tell(f"twin_{how}", parts=sorted(partitions))


def now() -> int:
    return time.time_ns() // 1_000_000


def run(told: Mapping[str, Any]) -> None:
    """Runs the member that is described."""
    from groupcheck.oracles.record.libraries import CLIENTS

    def make() -> Any:
        return CLIENTS[told["client"]](
            told["bootstrap"], told["client_id"], told["group"], told["options"]
        )

    async def whole() -> None:
        await Member(told, make).live()

    asyncio.run(whole())


if __name__ == "__main__":
    run(json.loads(sys.argv[1]))
    sys.stdout.flush()
    os._exit(0)  # does not wait for threads of a library
