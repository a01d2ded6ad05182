"""The actions that a scenario can take: start members, stop, kill, freeze and wake them, restart
the broker, make the topic, add partitions, and wait for something to be true.

Every action is recorded with its time.
"""

from __future__ import annotations

import json
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attrs import field, frozen

from groupcheck.oracles.processes.process_groups import POLL_S, tell_group
from groupcheck.oracles.record.broker import Broker
from groupcheck.oracles.record.clients import GROUP, Client
from groupcheck.oracles.record.processes import Processes
from groupcheck.oracles.record.proxy import Proxy
from groupcheck.oracles.record.settings import HOST, Setup

TOPIC, PARTITIONS = "orders", 6
LIMIT_S = 60.0  # for something to come about; a busy machine is slow
CLOSE_S = 20.0
COMMIT_MS = 1000
MOST_EVENTS = 200_000  # that are kept of a member
BEGINS, OVER = "trouble begins", "trouble is over"

Event = dict[str, Any]


class NotStaged(Exception):
    """The scenario did not take place; the text says what did not happen."""


@frozen(eq=False)
class Run:
    """A member's process, its events so far, and how it was started."""

    name: str
    process: subprocess.Popen[bytes]
    options: dict[str, Any]
    program: dict[str, Any]
    events: list[Event] = field(factory=list)

    @property
    def own(self) -> frozenset[str]:
        """The partitions that the program says it owns."""
        return frozenset(next((e["own"] for e in reversed(self.events) if "own" in e), ()))

    def of_kind(self, kind: str) -> list[Event]:
        return [event for event in list(self.events) if event["ev"] == kind]


class Stage:
    """One scenario in progress, with members of one library in the group `g1` on the topic
    `orders`.
    """

    def __init__(
        self,
        place: Path,
        broker: Broker,
        client: Client,
        processes: Processes,
        say: Callable[[str], None],
        proxy: Proxy | None = None,
    ) -> None:
        self._place, self._say, self._processes = place, say, processes
        self._broker, self._client, self._proxy = broker, client, proxy
        self.runs: dict[str, Run] = {}
        self.actions: list[Event] = []
        self.partitions = PARTITIONS
        self._readers: dict[str, threading.Thread] = {}

    def prepare(self, topic: bool) -> None:
        """Makes the group's coordinator before any member starts, and the topic, unless a step of
        the scenario does that.
        """
        self._broker.ask("group", GROUP)
        if topic:
            self._make_topic()

    def _make_topic(self) -> None:
        """The topic and its records."""
        self._broker.ask("topic", TOPIC, PARTITIONS)
        self._broker.ask("feed", TOPIC)

    def _act(self, who: str, do: str, **more: Any) -> None:
        self.actions.append({"t": now(), "who": who, "do": do, **more})
        self._say(" ".join((who, do)))

    def start(self, name: str, setup: Setup = Setup()) -> None:
        """Starts a member; its name is its client.id."""
        program = {
            "commit_ms": COMMIT_MS,
            "commit_on_revoke": setup.commit_on_revoke and self._client.commits_on_revoke,
            "revoke_ms": setup.revoke_ms,
        }
        proxied = self._proxy is not None and setup.proxied
        address = f"{HOST}:{self._proxy.port}" if self._proxy and proxied else self._broker.address
        self._act(name, "start")
        with (self._place / f"{name}.log").open("wb") as log:
            process = self._processes.start(
                self._client.command(address, self._broker.version, TOPIC, name, setup, program),
                cwd=self._place,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        run = self.runs[name] = Run(name, process, self._client.options(setup), program)
        self._readers[name] = threading.Thread(target=_read, args=(run,), daemon=True)
        self._readers[name].start()

    def trouble(self) -> None:
        """Marks the beginning of the trouble that the scenario is about."""
        self._act("scenario", BEGINS)

    def over(self) -> None:
        """It is over."""
        self._act("scenario", OVER)

    def tell(self, name: str, command: str) -> None:
        """Sends a member a command: `sleep MS`, `twin` or `stop`. Raises `NotStaged` if it has
        ended.
        """
        self._act(name, f"command {command}")
        stdin = self.runs[name].process.stdin
        assert stdin
        try:
            stdin.write(f"{command}\n".encode())
            stdin.flush()
        except (OSError, ValueError):  # nobody reads, or its input is closed
            raise NotStaged(f"{name} has ended") from None

    def stop(self, name: str) -> None:
        """Lets a member leave and end; kills it if it cannot."""
        self.tell(name, "stop")
        run = self.runs[name]
        try:
            run.process.wait(CLOSE_S)
        except subprocess.TimeoutExpired:
            self._act(name, "hung in close, SIGKILL")
            tell_group(run.process, signal.SIGKILL)
        self._ended(run)

    def kill(self, name: str) -> None:
        """Sends SIGKILL: the member says nothing to anybody."""
        tell_group(self.runs[name].process, signal.SIGKILL)
        self._act(name, "SIGKILL")
        self._ended(self.runs[name])

    def _ended(self, run: Run) -> None:
        code = run.process.wait()
        self._readers[run.name].join(CLOSE_S)
        self._processes.end(run.process)
        self._act(run.name, "ended", rc=code)

    def freeze(self, name: str) -> None:
        """Sends SIGSTOP: the member stands still without knowing it."""
        tell_group(self.runs[name].process, signal.SIGSTOP)
        self._act(name, "SIGSTOP")

    def wake(self, name: str) -> None:
        """Sends SIGCONT: the member goes on."""
        tell_group(self.runs[name].process, signal.SIGCONT)
        self._act(name, "SIGCONT")

    def restart_broker(self) -> None:
        """Shuts the broker down and starts it again with the same address and data."""
        self.stop_broker()
        self.start_broker()

    def stop_broker(self) -> None:
        """Shuts the broker down in order."""
        self._act("broker", "stop")
        self._broker.stop()
        self._act("broker", "ended")

    def start_broker(self) -> None:
        """Starts it again with the same address and data."""
        self._act("broker", "start")
        self._broker.start()
        self._broker.ask("feed", TOPIC)

    def make_topic(self) -> None:
        """Makes the topic, for which members have been waiting."""
        self._act("admin", f"create_topic {TOPIC}")
        self._make_topic()

    def add_partitions(self, total: int) -> None:
        """The topic has `total` partitions from now on."""
        self._act("admin", f"create_partitions {TOPIC} {total}")
        self._broker.ask("partitions", TOPIC, total)
        self.partitions = total

    def shared_by(self, *names: str) -> None:
        """Waits until these members own all partitions together, each at least one, none twice."""
        everything = {f"{TOPIC}-{p}" for p in range(self.partitions)}

        def so() -> bool:
            owned = [self.runs[name].own for name in names]
            return (
                all(owned)
                and sum(map(len, owned)) == len(everything)
                and frozenset().union(*owned) == everything
            )

        self.until(so, f"{' and '.join(names)} share the {self.partitions} partitions", names)

    def until(self, so: Callable[[], bool], what: str, alive: tuple[str, ...] = ()) -> None:
        """Waits for a condition. Raises `NotStaged` when the time is up or one of `alive` ends."""
        self._say(f"waiting until {what}")
        end = time.monotonic() + LIMIT_S
        while not so():
            for name in alive:
                if (code := self.runs[name].process.poll()) is not None:
                    raise NotStaged(f"{name} ended with {code}: {self._last_words(name)}")
            if time.monotonic() > end:
                raise NotStaged(f"waited {LIMIT_S:.0f} s in vain until {what}")
            time.sleep(POLL_S)

    def _last_words(self, name: str) -> str:
        lines = (self._place / f"{name}.log").read_text("utf-8", "replace").splitlines()
        return lines[-1][:200] if lines else "it wrote nothing"

    def commits(self, name: str, more: int = 1) -> None:
        """Waits until `more` further commits of a member have been accepted."""
        enough = len(self.runs[name].of_kind("commit_ok")) + more
        self.until(
            lambda: len(self.runs[name].of_kind("commit_ok")) >= enough,
            f"{name} commits",
            (name,),
        )

    def learned(self, name: str) -> None:
        """Waits until a member that was woken has learned that it lost its partitions, or that its
        commit is refused.
        """
        woken = max(
            action["t"]
            for action in self.actions
            if action["who"] == name and action["do"] == "SIGCONT"
        )
        kinds = ("lost", "revoked", "commit_rejected")

        def so() -> bool:
            return any(
                event["t"] >= woken for kind in kinds for event in self.runs[name].of_kind(kind)
            )

        self.until(so, f"{name} learns of it", (name,))

    def gave_up(self, name: str) -> None:
        """Waits until a member has given partitions up since the trouble began, its callback
        included.
        """
        began = max(action["t"] for action in self.actions if action["do"] == BEGINS)

        def so() -> bool:
            kinds = (self.runs[name].of_kind(kind) for kind in ("revoked", "lost"))
            return any(event["t"] >= began for events in kinds for event in events)

        self.until(so, f"{name} has given partitions up", (name,))

    def woken(self, name: str) -> None:
        """Waits until a member that was told to sleep is awake, however often it was told."""
        times = sum(
            action["who"] == name and action["do"].startswith("command sleep")
            for action in self.actions
        )
        self.until(lambda: len(self.runs[name].of_kind("woke")) == times, f"{name} wakes", (name,))

    def begun(self, *names: str) -> None:
        """Waits until these members have subscribed."""
        self.until(
            lambda: all(self.runs[name].of_kind("started") for name in names),
            f"{' and '.join(names)} have started",
            names,
        )

    def refused(self, code: int, times: int = 1) -> None:
        """Waits until the broker has answered so many requests with an error code."""
        log, mark = self._place / "requests.log", f'"errorCode":{code}'

        def so() -> bool:
            with log.open(encoding="utf-8", errors="replace") as lines:
                return sum(mark in line for line in lines) >= times

        self.until(so, f"{times} requests are answered with error {code}")

    def cut(self, times: int) -> None:
        """Waits until the proxy has closed so many idle connections."""
        proxy = self._proxy
        assert proxy is not None
        self.until(lambda: len(proxy.cuts) >= times, f"the proxy has cut {times} connections")

    def pause(self, seconds: float) -> None:
        time.sleep(seconds)

    def done(self) -> list[Event]:
        """All actions in the order of their times, those of the proxy among them."""
        cuts = self._proxy.cuts if self._proxy else []
        by_proxy = [{"t": t, "who": "proxy", "do": "cut idle", "port": port} for t, port in cuts]
        return sorted([*self.actions, *by_proxy], key=lambda action: action["t"])

    def close(self) -> None:
        """Has the members that still run leave one after the other, in the order of their names."""
        for name in sorted(self.runs):
            if self.runs[name].process.poll() is None:
                self.stop(name)


def _read(run: Run) -> None:
    assert run.process.stdout
    try:
        for line in run.process.stdout:
            try:
                event = json.loads(line)
            except ValueError:  # the last line of one that was killed
                continue
            if isinstance(event, dict) and "ev" in event and len(run.events) < MOST_EVENTS:
                run.events.append(event)
    except (OSError, ValueError):
        pass


def now() -> int:
    return time.time_ns() // 1_000_000
