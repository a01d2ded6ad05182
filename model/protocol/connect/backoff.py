"""A feature of Connect workers: a worker that cannot read the topic of configurations in time. It
comes after `connect`.

A worker whose answer was made from newer configurations reads on. If it does not get to the end
within worker.sync.timeout.ms, it leaves the group, so that nobody waits for it, and backs off. It
goes on with its work meanwhile. It tries again up to five times, each time after a back-off of a
tenth of scheduled.rebalance.max.delay.ms, divided by the tries that are left. If it still cannot
read, it stops its work (DistributedHerder.readConfigToEnd, backoff).

Time: all back-offs together take 0.1 (1/5 + 1/4 + 1/3 + 1/2 + 1) = 0.23 of the delay, and the tries
six times worker.sync.timeout.ms (3 s). So if the delay is longer than some 25 s, a worker that left
before a delay began has joined again, or has stopped its work, before the delay is over. That is
the one relation between two times that this feature knows (`delay_over`). Before KAFKA-9849 the
worker backed off for worker.unsync.backoff.ms, which is as long as the delay by default.

After it has stopped its work, a worker still reports it (WorkerCoordinator.assignmentSnapshot is
not cleared).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import attrs
from attrs import frozen

from groupcheck.model.engine import Spec, evolve, rule, single
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.classic import client
from groupcheck.model.protocol.classic.client import Client, reset
from groupcheck.model.protocol.connect.leader import delay_over
from groupcheck.model.protocol.connect.memory import Memory, Schedule
from groupcheck.model.protocol.connect.scope import MORE as OF_CONNECT
from groupcheck.model.protocol.connect.scope import ConnectScope
from groupcheck.model.protocol.connect.worker import (
    ENDING,
    GONE,
    MISMATCHED,
    OUTDATED,
    SENDING,
    Backs,
    Led,
    Worker,
)
from groupcheck.model.protocol.link import send
from groupcheck.model.protocol.messages import LeaveGroup
from groupcheck.model.protocol.transform import extended, own, rebuilt, rewritten

UNREAD = "unread"
MORE: Mapping[str, str] = {
    **OF_CONNECT,
    "config_timeout": (
        "A worker that is behind cannot read the topic of configurations to its end within"
        " worker.sync.timeout.ms: it leaves the group and backs off."
    ),
}


@frozen
class ConnectBackoffScope(ConnectScope):
    """The bounds of a run of a group of workers that may not read their configurations in time."""

    MORE: ClassVar[Mapping[str, str]] = MORE


def reading(original: Rule) -> Rule:
    """The answer to SyncGroup, after which a worker that is behind may not get to the end of the
    topic. It stops what is revoked, starts nothing, and leaves (handleRebalanceCompleted).
    """
    slots = (*original.slots, "budget", "memory", "leavers")

    def sync_answer(*given: Any) -> Iterator[tuple[Any, ...]]:
        *values, budget, memory, leavers, scope = given
        before = dict(zip(original.slots, values, strict=True))
        was, answer = before["worker"], before["link"].answer
        for label, *rest in original.call(*values, *((scope,) if original.takes_scope else ())):
            yield (label, *rest, budget, memory, leavers)
            if label not in ("assigned", MISMATCHED, OUTDATED):
                continue
            told = answer.told
            leads = told.error and was.led != Led.NO
            if not budget.allows("config_timeout") or (was.read >= told.offset and not leads):
                continue
            after = dict(zip(original.slots, rest, strict=True))
            member = after["client"]
            counts = memory.schedule == Schedule.NONE and was.runs & member.owned
            worker = evolve(
                after["worker"],
                read=was.read,
                runs=was.runs & member.owned,
                waits=False,
                backs=Backs.COUNTED if counts else Backs.OFF,
            )
            after["client"] = reset(member, True)
            after["link"] = send(after["link"], LeaveGroup(member.id))
            after["worker"] = worker
            left = leavers + bool(counts)
            spent = budget.spend("config_timeout")
            yield (UNREAD, *(after[s] for s in original.slots), spent, memory, left)

    sync_answer.__doc__ = original.doc
    changed = rewritten(original, sync_answer, *slots, takes_scope=True)
    return attrs.evolve(changed, labels=(*changed.labels, UNREAD))


def waiting(original: Rule) -> Rule:
    """A worker that backs off sends nothing."""
    at = original.slots.index("worker")

    def sends(*given: Any) -> Iterator[Any]:
        if given[len(original.takes) + at].backs == Backs.NO:
            yield from original.call(*given)

    sends.__doc__ = original.doc
    return rewritten(original, sends)


def ending(original: Rule) -> Rule:
    """With the process its back-off ends."""

    def change(
        before: Mapping[str, Any], label: str, after: dict[str, Any], scope: ConnectScope
    ) -> dict[str, Any]:
        ended = before["worker"].backs == Backs.COUNTED and after["client"] in GONE
        return {**after, "leavers": before["leavers"] - ended}

    return extended(original, change, "worker", "leavers")


@rule(when=lambda worker: worker.backs != Backs.NO)
def reads_again(
    client: Client, worker: Worker, config: int, leavers: int
) -> Iterator[tuple[Client, Worker, int, int]]:
    """The worker gets to the end of the topic, and joins again."""
    left = leavers - (worker.backs == Backs.COUNTED)
    yield client, evolve(worker, backs=Backs.NO, read=config), config, left


@rule(when=lambda worker: worker.backs != Backs.NO)
def backs_off_no_more(worker: Worker, leavers: int) -> Iterator[tuple[Worker, int]]:
    """All tries are over, and the worker stops its work. It goes on trying."""
    if worker.runs:
        left = leavers - (worker.backs == Backs.COUNTED)
        yield evolve(worker, backs=Backs.OFF, runs=0), left


def outlasting(original: Rule) -> Rule:
    """A delay is not over before the workers that left before it began have joined again or
    stopped.
    """

    def delay_over(memory: Memory, leavers: int) -> Iterator[tuple[Memory, int]]:
        if not leavers:
            for after in original.call(memory):
                yield after, leavers

    return rewritten(original, delay_over, *original.slots, "leavers")


def backoff(spec: Spec) -> Spec:
    """The feature: workers that do not read their configurations in time."""
    spec = rebuilt(spec, leavers=single(0))
    spec = rebuilt(spec, [waiting(own(spec, r)) for r in SENDING])
    spec = rebuilt(spec, [ending(own(spec, r)) for r in ENDING])
    new = [reading(own(spec, client.sync_answer)), outlasting(own(spec, delay_over))]
    return attrs.evolve(
        rebuilt(spec, new, [reads_again, backs_off_no_more]), name="connect_backoff"
    )
