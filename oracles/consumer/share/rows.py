"""Rows of share groups: an input to the coordinator in one of its memories, and all that the model
may make of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from groupcheck.model.engine import evolve
from groupcheck.model.protocol.consumer.memory import Core
from groupcheck.model.protocol.consumer.messages import Kind, Request, Tag
from groupcheck.model.protocol.consumer.releases import RELEASES
from groupcheck.model.protocol.consumer.timers import add_partition, interval_passes
from groupcheck.model.protocol.share import partitions, timers
from groupcheck.model.protocol.share.memory import ShareCore
from groupcheck.model.protocol.share.scope import ShareScope
from groupcheck.oracles.consumer.committing import AHEAD
from groupcheck.oracles.consumer.facts import (
    INTERVAL_MS,
    Facts,
    Known,
    answer_of_kafka,
    followed,
    topics_of,
)
from groupcheck.oracles.consumer.rows import ConsumerRow, ConsumerRows, State, epoch_of
from groupcheck.oracles.consumer.share.facts import of_kafka, of_model
from groupcheck.oracles.kafka.answers import Answer, ConsumerAnswer
from groupcheck.oracles.kafka.commands import (
    Advance,
    AnswerPersister,
    Command,
    FailAppends,
    FailOver,
    Fire,
    Reset,
    SetTopics,
    ShareGroupHeartbeat,
)
from groupcheck.oracles.kafka.schedule import Step

# Kafka takes no less than its offsets.commit.timeout.ms.
RETRY_MS = 5_000
# No row waits so long.
SESSION_MS = 1_000_000
ANSWERED_BY = {
    f"{partitions.persister_answers.name}:initialized": True,
    f"{partitions.persister_answers.name}:failed": False,
}


class ShareRows(ConsumerRows):
    """The rows of a spec of share groups in which anybody sends heartbeats."""

    scope: ShareScope

    def of(self, state: State) -> Iterator[ConsumerRow]:
        """All rows of a memory. Where there is an assignment interval, the persister is not asked
        again: the time for that is longer, and both would end.
        """
        for row in super().of(state):
            if not (self.scope.interval and row.title == partitions.initialization_overdue.name):
                yield row

    def _remembered(self, state: State) -> Facts:
        return of_model(self._share(state), self.seats(state))

    def _share(self, state: State) -> ShareCore:
        core = self.core(state)
        assert isinstance(core, ShareCore)
        return core

    def _wrote(self, before: State, after: State, fired: tuple[str, ...]) -> bool:
        if f"{partitions.persister_answers.name}:failed" in fired:
            return True
        if any(name.endswith(":failed") for name in fired):
            return False
        stale = self.core(before).stale and not self.core(after).stale
        again = self._share(before).overdue and not self._share(after).overdue
        moved = timers.move_share_coordinator.name in fired
        return stale or (again and not moved) or super()._wrote(before, after, fired)

    def _lasting(self, state: State) -> Any:
        core: Core = evolve(self._share(state), due=True, stale=False, topics=0)
        core = evolve(core, asked=0, overdue=False, readers=())
        return core, [seat and evolve(seat, session=True) for seat in self.seats(state)]

    def setup(self, kafka: str) -> Reset:
        """The real coordinator of this version before anything has happened."""
        scope = self.scope
        config = {
            "group.share.initialize.retry.interval.ms": str(
                SESSION_MS if scope.interval else RETRY_MS
            ),
            "group.share.session.timeout.ms": str(SESSION_MS),
            "group.share.max.session.timeout.ms": str(SESSION_MS),
        }
        if RELEASES[kafka].interval:
            interval = INTERVAL_MS if scope.interval else 0
            config["group.share.assignment.interval.ms"] = str(interval)
        if scope.max_size is not None:
            config["group.share.max.size"] = str(scope.max_size)
        return Reset(topics=self._topics(scope.at_first), config=config, seed=self._seed)

    def commands(self, row: ConsumerRow, known: list[Known]) -> tuple[Command, ...]:
        """What the real coordinator is told."""
        failing = (FailAppends(),) if row.fails else ()
        if row.request is not None and row.me is not None:
            return *failing, self._share_heartbeat(row.request, known[row.me])
        if row.title == timers.share_session_timeout.name and row.me is not None:
            return *failing, Fire(timer=f"session-timeout-g-{known[row.me].id}")
        if row.title == interval_passes.name:
            return (Advance(ms=INTERVAL_MS),)
        if row.title == partitions.initialization_overdue.name:
            return (Advance(ms=RETRY_MS),)
        if row.title == partitions.persister_answers.name:
            return (AnswerPersister(well=ANSWERED_BY[row.outcomes[0].fired[0]]),)
        if row.title == timers.move_share_coordinator.name:
            return (FailOver(),)
        assert row.title == add_partition.name, row.title
        return (SetTopics(topics=self._topics(self.scope.everything)),)

    def _share_heartbeat(self, request: Request, known: Known) -> ShareGroupHeartbeat:
        topics = None
        if request.subscribed is not None:
            topics = topics_of(request.subscribed, self.scope)
        return ShareGroupHeartbeat(member=known.id, epoch=_epoch(request, known), topics=topics)

    def read(
        self, row: ConsumerRow, before: tuple[Known, ...], given: Answer | None, last: Step
    ) -> tuple[tuple[Known, ...], Facts]:
        memory = last.memory
        assert memory is not None
        answer = given if isinstance(given, ConsumerAnswer) else None
        known = followed(before, memory)
        own = known[row.me].epoch if row.me is not None else 0
        facts = {
            **answer_of_kafka(answer, row.leaves, own, self.scope),
            **of_kafka(memory, known, self.scope, last.now_ms),
            "records written": bool(last.records),
        }
        return tuple(known), facts


def _epoch(request: Request, known: Known) -> int:
    if request.kind == Kind.BEAT and request.tag == Tag.OLD:
        free = [e for e in range(1, known.epoch) if e != known.previous]
        return free[0] if free else known.epoch + AHEAD
    return epoch_of(request, known)
