"""The worker: what a member of a Connect cluster does beyond one of a classic group (protocol.md
4.5; Kafka: WorkerCoordinator, DistributedHerder).

`Client.owned` is what it reports (WorkerCoordinator.assignmentSnapshot); `Worker.runs` is what it
runs (DistributedHerder.runningAssignment). In most of its steps it does what any member does.

- Before it joins it gives up nothing, not even if it has lost its generation or its id
  (onJoinPrepare).
- Its JoinGroup says what it runs, how far it has read the topic of configurations, and the delay
  that it was told last. Any difference in these makes the coordinator start a round.
- The answer to its SyncGroup says what it has from now on. It stops what is revoked, and then
  starts what is new, if it knows the same configurations as the leader. It joins again if something
  was revoked, if it has not started its work, or if the leader was behind (CONFIG_MISMATCH).
- If the answer holds a delay, it joins again when that is over.
- If it does not find the coordinator, it stops its work by itself (KAFKA-9184).

What is left out: the time that stopping takes; the order in which a worker lists its work; a topic
of configurations that cannot be read to its end within worker.sync.timeout.ms.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import Any

import attrs
from attrs import frozen

from groupcheck.model.engine import evolve, rule
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.classic import client, client_faults
from groupcheck.model.protocol.classic.client import Client, Member
from groupcheck.model.protocol.connect.memory import Memory, Schedule
from groupcheck.model.protocol.connect.scope import ConnectScope
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.messages import NO_GENERATION, JoinGroup
from groupcheck.model.protocol.transform import extended, rewritten

GONE = (Client(), Client(closing=True))  # a worker that does not run (any more)
MISMATCHED, OUTDATED = "mismatched", "outdated"


class Led(IntEnum):
    """Whether the leader's memory is this worker's."""

    NO = 0
    # It has made a plan in the generation in which it is, and has not completed that.
    MADE = 1
    # The generation of its last plan is the one that it completed last.
    SETTLED = 2
    # It has completed another one since, or one in which it made no plan.
    STALE = 3

    __hash__ = int.__hash__


class Backs(IntEnum):
    """Whether the worker has left, because it cannot read its configurations (`backoff`)."""

    NO = 0
    # It has, and still runs what it ran; no delay was running then.
    COUNTED = 1
    # It has; a delay was running, or it runs nothing (any more).
    OFF = 2

    __hash__ = int.__hash__


@frozen
class Report:
    """The facts that a JoinGroup states beside the work (ExtendedWorkerState)."""

    # How far the worker has read the topic of configurations.
    offset: int
    # The generation that gave it the delay that its last answer held; 0: that held none. Delays of
    # two generations are never equal, because time passes between them.
    delay: int


@frozen(kw_only=True)
class AnswerFacts:
    """The facts that an answer states beside the work (ExtendedAssignment), with the leader's
    memory of the worker. (It stands at the seat, and goes with it.)
    """

    # CONFIG_MISMATCH: the leader was behind, and the plan says nothing.
    error: bool = False
    # The configurations from which the plan was made.
    offset: int = 0
    # The worker is to join again when the delay is over.
    delay: bool = False
    # It is to stop something, whether it runs that or not.
    stops: bool = False
    # It came with nothing while a delay ran (candidateWorkersForReassignment).
    candidate: bool = False
    # The leader's last incremental plan counted the worker (previousMembers).
    known: bool = True
    # The workers have voted for eager rebalancing (`versions`).
    eager: bool = False


@frozen
class Worker:
    """The facts that a worker knows beyond what any member does."""

    # The work that it runs, as a bit mask.
    runs: int = 0
    # How far it has read the topic of configurations.
    read: int = 0
    # As in `Report`.
    delay: int = 0
    # It has not joined again yet because of that delay (scheduledRebalance).
    waits: bool = False
    led: Led = Led.NO
    # Its last round was eager (`versions`: currentConnectProtocol), and it has started its work
    # since (rebalanceResolved).
    eager: bool = False
    resolved: bool = True
    # What it still reports while it joins, as a bit mask, although it has stopped that (an eager
    # worker) or an eager plan has given it away.
    reports: int = 0
    backs: Backs = Backs.NO


# -- what it sends

SENDING = (client.send_join, client_faults.lose_response, client_faults.delay_request)
_PLACES = ("request", "late")


def reporting(original: Rule) -> Rule:
    """The rule with the worker's report in each JoinGroup that it sends. The worker keeps its work
    (WorkerCoordinator.onJoinPrepare, metadata). One that starts has read the topic of
    configurations to its end (DistributedHerder.startServices).
    """

    def change(
        before: Mapping[str, Any], label: str, after: dict[str, Any], scope: ConnectScope
    ) -> dict[str, Any]:
        was, link, worker = before["client"], after["link"], after["worker"]
        if was == Client():
            worker = evolve(worker, read=before["config"])
        for place in _PLACES:
            sent = getattr(link, place)
            if getattr(before["link"], place) is None and isinstance(sent, JoinGroup):
                report = Report(worker.read, worker.delay)
                # A report names no generation.
                sent = evolve(
                    sent,
                    claimed=0 if was.owned else NO_GENERATION,
                    owned=was.owned,
                    more=report,
                )
                keeps = evolve(after["client"], owned=was.owned, refused=False)
                link = evolve(link, **{place: sent})
                # The next answer says anew whether it waits.
                worker = evolve(worker, waits=False)
                after = {**after, "client": keeps, "link": link, "worker": worker}
        return after

    return extended(original, change, "worker", "config")


# -- what it hears


def joining(original: Rule) -> Rule:
    """The answer to JoinGroup, whose report names no generation. (That of a member cannot change
    while it waits for the answer, unless it loses its id, too.)
    """

    def join_answer(client: Client, link: Link) -> Iterator[tuple[str, Client, Link]]:
        answer = link.answer
        assert answer is not None
        asked = evolve(answer.request, claimed=client.generation)
        yield from original.call(client, evolve(link, answer=evolve(answer, request=asked)))

    return rewritten(original, join_answer)


def completing(original: Rule) -> Rule:
    """The answer to SyncGroup, with onJoinComplete and what the herder does then: it stops what is
    revoked, reads the topic of configurations up to the leader's offset if it is behind, and starts
    its work (DistributedHerder.handleRebalanceCompleted). What is still newer it reads later.
    """

    def change(
        before: Mapping[str, Any], label: str, after: dict[str, Any], scope: ConnectScope
    ) -> dict[str, Any] | tuple[str, dict[str, Any]]:
        if label != "assigned":
            return after
        told, was, member = before["link"].answer.told, before["worker"], after["client"]
        worker = evolve(was, read=max(was.read, told.offset))
        if told.error:
            led = Led.NO if was.led == Led.NO else Led.STALE
            kept = evolve(member, owned=before["client"].owned, refused=True, rejoin=True)
            worker = evolve(worker, delay=0, waits=False, led=led)
            return MISMATCHED, {**after, "client": kept, "worker": worker}
        fits = worker.read == told.offset
        worker = evolve(
            worker,
            runs=member.owned if fits else was.runs & member.owned,
            delay=member.generation if told.delay else 0,
            waits=told.delay,
            led=_completed(was.led),
        )
        member = evolve(member, rejoin=member.rejoin or told.stops or not fits)
        after = {**after, "worker": worker, "client": member}
        return after if fits else (OUTDATED, after)

    changed = extended(original, change, "worker")
    return attrs.evolve(changed, labels=(*changed.labels, MISMATCHED, OUTDATED))


def _completed(led: Led) -> Led:
    return {Led.MADE: Led.SETTLED, Led.NO: Led.NO}.get(led, Led.STALE)


# -- what ends a process

# (A worker that is closing has stopped its work: `closed` has nothing to add.)
ENDING = (client_faults.crash, client_faults.close, client_faults.delay_request)


def stopping(original: Rule) -> Rule:
    """The rule with a worker that runs nothing where its process ends. With the process of the
    worker that led last, the leader's memory is gone.
    """

    def change(
        before: Mapping[str, Any], label: str, after: dict[str, Any], scope: ConnectScope
    ) -> dict[str, Any]:
        if after["client"] not in GONE or before["client"] in GONE:
            return after
        memory = before["memory"]
        if before["worker"].led != Led.NO:
            memory = Memory(schedule=memory.schedule)
        return {**after, "worker": Worker(), "memory": memory}

    return extended(original, change, "worker", "memory")


# -- by itself


def rejoining(client: Client) -> Client:
    """The worker asks for a round (requestRejoin); one that is joining needs no other."""
    return evolve(client, rejoin=client.rejoin or client.state == Member.STABLE)


@rule(when=lambda worker: worker.waits)
def scheduled_rejoin(
    client: Client, worker: Worker, memory: Memory
) -> Iterator[tuple[Client, Worker, Memory]]:
    """The delay that the worker was told is over, and it joins again."""
    if client.state == Member.STABLE and not client.rejoin and memory.schedule != Schedule.RUNNING:
        yield rejoining(client), evolve(worker, waits=False), memory


@rule
def read_config(
    client: Client, worker: Worker, config: int
) -> Iterator[tuple[Client, Worker, int]]:
    """The worker reads what is new in the topic of configurations. Work has come or gone, so it
    joins again (ConfigUpdateListener, needsReconfigRebalance).
    """
    if worker.read < config and client not in GONE:
        yield rejoining(client), evolve(worker, read=config), config


@rule(when=lambda budget: budget.allows("unreachable"))
def lose_coordinator(
    client: Client, worker: Worker, link: Link, budget: Budget
) -> Iterator[tuple[Client, Worker, Link, Budget]]:
    """The worker does not find the coordinator within heartbeat.interval.ms and stops all of its
    work (WorkerCoordinator.poll; KAFKA-9184). It joins again with what is left of its membership.
    """
    if client.state == Member.STABLE:
        stopped = evolve(worker, runs=0, delay=0, waits=False)
        spent = budget.spend("unreachable")
        yield (
            evolve(client, owned=0, rejoin=True, refused=True),
            stopped,
            Link(late=link.late),
            spent,
        )


@rule(when=lambda budget: budget.allows("config_update"))
def update_config(config: int, budget: Budget) -> Iterator[tuple[int, Budget]]:
    """Somebody deletes the last task, or creates it again (a connector is configured with other
    tasks.max).
    """
    yield config + 1, budget.spend("config_update")


WORKER_RULES = (scheduled_rejoin, read_config, lose_coordinator, update_config)
