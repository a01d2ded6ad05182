"""What a broken rule does on Apache Kafka itself: a second member beside the client, and the
committed offsets of the group.

A rule that is broken on our coordinator is a promise that was not kept; that offsets of another
owner are lost on Kafka is harm.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

from attrs import frozen

from groupcheck.model.assignors import Partition, Partitions
from groupcheck.oracles.judge.client.beside import Beside, Plan
from groupcheck.oracles.judge.client.events import Delivered, Event, MemberSettings
from groupcheck.oracles.judge.client.program import Program
from groupcheck.oracles.judge.client.session import Command
from groupcheck.oracles.record.broker import Broker
from groupcheck.oracles.record.proxy import Proxy
from groupcheck.oracles.record.running import Say, running
from groupcheck.oracles.record.settings import HOST
from groupcheck.oracles.wire.connections import Closed, Connections
from groupcheck.traces.messages.apis import api

KAFKA = "4.3.0"
PARTITIONS = 4
IDLE_S = 600.0  # a line cuts nothing
# Of the broker: groups that begin at once, and members with short sessions.
SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "100",
    "auto.create.topics.enable": "false",
}
BOOT_S, WATCHED_S, CLOSE_S = 30.0, 3.0, 8.0
TRIES = 3
# How long a line to a broker takes, how many partitions a topic grows to, in which time a client
# notices that, and how long one that has not forgotten its share may commit nothing: longer than a
# session and a round.
FAR_S, GROWN, NOTICED_S, STALLED_S = 0.1, 8, 2.0, 10.0
NOT_TRIED = "not tried"
FAR = 1_000_000  # an offset that the client has no way to reach
LIST_OFFSETS = 4  # a version without tagged fields


@frozen
class Harm:
    """Something to be confirmed on Kafka."""

    name: str
    # The rules whose breach may do it.
    rules: frozenset[str]
    try_it: Callable[[Stand], str]


@frozen
class Confirmation:
    """What came of it."""

    harm: str
    # The broker's version.
    kafka: str
    happened: bool
    words: str
    # The rules whose breach does it.
    rules: frozenset[str] = frozenset()


@frozen(eq=False)
class Stand:
    """A broker, and the client as the only member of a group, which consumes."""

    address: str
    group: str
    topic: str
    settings: MemberSettings
    program: Program
    heard: list[tuple[float, Event]]
    # Gives the topic so many partitions.
    grow: Callable[[int], object]
    # The line between the client and the broker.
    line: Proxy

    def beside(self) -> Beside:
        """A member that deals the partitions out, if it leads."""
        return Beside(self.address, self.group, self.topic, _plan(self.partitions))

    @property
    def partitions(self) -> Partitions:
        return frozenset((self.topic, number) for number in range(PARTITIONS))

    def consumes(self, seconds: float) -> bool:
        """Waits until the client has committed something of every partition."""
        looks, until = self.beside(), time.monotonic() + seconds
        while time.monotonic() < until:
            delivered = any(isinstance(event, Delivered) for _, event in list(self.heard))
            committed = looks.committed(self.partitions)
            silent = not self.heard and len(committed) == PARTITIONS
            if (delivered or silent) and committed and min(committed.values()) > 0:
                looks.end()
                return True
            time.sleep(0.1)
        looks.end()
        return False

    def ends(self) -> dict[Partition, int]:
        """Where the logs end."""
        connections = Connections(self.address)
        asked = [
            {"partitionIndex": number, "currentLeaderEpoch": -1, "timestamp": -1}
            for number in range(PARTITIONS)
        ]
        values = {"replicaId": -1, "topics": [{"name": self.topic, "partitions": asked}]}
        number = connections.send(api("ListOffsets"), LIST_OFFSETS, values)
        told = connections.gather(10.0, number).get(number)
        connections.close()
        if told is None or isinstance(told, Closed):
            return {}
        return {
            (topic["name"], part["partitionIndex"]): part["offset"]
            for topic in told["topics"]
            for part in topic["partitions"]
        }


def _plan(partitions: Partitions) -> Plan:
    """Every partition to somebody, in turn."""

    def plan(owned: Mapping[str, Partitions]) -> dict[str, Partitions]:
        every, members = sorted(partitions), sorted(owned)
        return {m: frozenset(every[rank :: len(members)]) for rank, m in enumerate(members)}

    return plan


def overwrites(stand: Stand) -> str:
    """A second member joins and commits for whatever it is given. Does somebody else's commit
    replace that? The same once more after the line has become longer and the topic has grown.
    """
    beside = stand.beside()
    beside.at_once = FAR
    beside.start()
    try:
        if not beside.joined(BOOT_S) or not beside.share:
            return f"{NOT_TRIED}: the second member was given nothing"
        if beside.answered:
            return f"{NOT_TRIED}: the second member's commit was refused with {beside.answered}"
        if lost := _overwritten(beside):
            return lost
        stand.line.delay_s = FAR_S
        beside.answered = None
        stand.grow(PARTITIONS + 1)
        until = time.monotonic() + BOOT_S
        while beside.answered is None and time.monotonic() < until:
            time.sleep(0.01)
        lost = "" if beside.answered else _overwritten(beside)
        return f"when its topic had grown, {FAR_S * 1000:.0f} ms away, {lost}" if lost else ""
    finally:
        beside.leave()


def _overwritten(beside: Beside) -> str:
    """Watches the offsets that a member has committed, of partitions that it has."""
    began = time.monotonic()
    while time.monotonic() - began < WATCHED_S and beside.held:
        now = beside.committed(beside.held)
        lost = {p: offset for p, offset in now.items() if offset != FAR and p in beside.held}
        if lost:
            (topic, number), offset = min(lost.items())
            return (
                f"the next owner of {topic}-{number} had committed {FAR}; after"
                f" {time.monotonic() - began:.2f} s the group's offset is {offset}"
            )
        time.sleep(0.01)
    return ""


def sets_back(stand: Stand) -> str:
    """The client is frozen until its session is over; another member takes over, commits up to the
    end of the logs and leaves; the client goes on.
    """
    stand.program.signal(signal.SIGSTOP)
    try:
        time.sleep(stand.settings.session_ms / 1000 + 1.0)
        beside = stand.beside()
        beside.start()
        joined = beside.joined(BOOT_S)
        ends = stand.ends()
        code = beside.commit(ends) if joined and ends else -1
        beside.leave()
        if code:
            return f"{NOT_TRIED}: the other member could not take over"
    finally:
        stand.program.signal(signal.SIGCONT)
    began, looks = time.monotonic(), stand.beside()
    try:
        while time.monotonic() - began < 2 * WATCHED_S:
            now = looks.committed(stand.partitions)
            back = {p: offset for p, offset in now.items() if offset < ends.get(p, 0)}
            if back:
                (topic, number), offset = min(back.items())
                return (
                    f"the group had committed {ends[topic, number]} of {topic}-{number};"
                    f" {time.monotonic() - began:.2f} s after the client woke up it is {offset}"
                )
            time.sleep(0.01)
    finally:
        looks.end()
    return ""


def stops_reading(stand: Stand) -> str:
    """The line to the broker becomes longer, and the topic grows by one partition after the other.
    The client, which is alone and leads, joins again each time. Does it go on with the partitions
    that it had?
    """
    looks = stand.beside()
    stand.line.delay_s = FAR_S
    try:
        for total in range(PARTITIONS + 1, GROWN + 1):
            stand.grow(total)
            time.sleep(NOTICED_S)
            before, began = looks.committed(stand.partitions), time.monotonic()
            while looks.committed(stand.partitions) == before:
                if time.monotonic() - began > STALLED_S:
                    return (
                        f"{FAR_S * 1000:.0f} ms away from its broker, it has committed nothing for"
                        f" {STALLED_S + NOTICED_S:.0f} s since its topic has {total} partitions,"
                        f" and {_behind(stand.ends(), before)} records are unread"
                    )
                time.sleep(0.1)
    finally:
        looks.end()
    return ""


def _behind(ends: Mapping[Partition, int], committed: Mapping[Partition, int]) -> int:
    return sum(end - max(0, committed.get(p, 0)) for p, end in ends.items())


HARMS = (
    Harm(
        "overwrites_the_next_owner",
        frozenset({"commits_its_share", "commits_with_its_generation"}),
        overwrites,
    ),
    Harm("stops_reading", frozenset({"reads_its_share"}), stops_reading),
    Harm(
        "sets_back",
        frozenset(
            {
                "commits_its_share",
                "commits_with_its_generation",
                "never_commits_from_outside",
            }
        ),
        sets_back,
    ),
)


@contextmanager
def at_work(say: Say) -> Iterator[tuple[Broker, Proxy]]:
    """A broker of Kafka, and the line that leads to it."""
    with Proxy(IDLE_S) as line, running(KAFKA, SETTINGS, say, line.port) as on:
        line.target = on.broker.behind_proxy
        yield on.broker, line


@contextmanager
def standing(
    broker: Broker,
    line: Proxy,
    name: str,
    command: Command,
) -> Iterator[Stand]:
    """A client that has a new group and a new topic for itself."""
    plain = name.replace("_", "-")  # Kafka warns of topics with an underscore
    topic, group = f"t-{plain}", f"g-{plain}"
    broker.ask("topic", topic, PARTITIONS)
    broker.ask("group", group)
    broker.ask("feed", topic)
    line.delay_s = 0.0
    told = MemberSettings(
        bootstrap=f"{HOST}:{line.port}", group=group, topic=topic, assignor=command.eager
    )
    heard: list[tuple[float, Event]] = []
    program = Program(
        command.words,
        {**command.environment, **told.environment()},
        lambda event: heard.append((time.monotonic(), event)),
    )
    try:
        grow = partial(broker.ask, "partitions", topic)
        yield Stand(broker.address, group, topic, told, program, heard, grow, line)
        program.stop()
        program.wait(CLOSE_S)
    finally:
        program.end()


def confirm(harm: Harm, broker: Broker, line: Proxy, command: Command) -> Confirmation | None:
    """Tries a harm on a broker that runs, some times if it does not happen at once, because it may
    take a commit that is under way; None if it could not be tried.
    """
    could = False
    for number in range(1, TRIES + 1):
        with standing(broker, line, f"{harm.name}-{number}", command) as stand:
            words = harm.try_it(stand) if stand.consumes(BOOT_S) else NOT_TRIED
        could = could or not words.startswith(NOT_TRIED)
        if words and not words.startswith(NOT_TRIED):
            told = words + (f" (try {number} of {TRIES})" if number > 1 else "")
            return Confirmation(harm.name, broker.version, True, told, harm.rules)
    if not could:
        return None
    told = f"it did not happen in {TRIES} tries"
    return Confirmation(harm.name, broker.version, False, told, harm.rules)
