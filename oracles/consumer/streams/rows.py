"""Rows of streams groups: an input to the coordinator in one of its memories, and all that the
model may make of it.
"""

from __future__ import annotations

from typing import Any

from groupcheck.model.engine import evolve
from groupcheck.model.protocol.consumer.commits import STORED
from groupcheck.model.protocol.consumer.messages import Kind, Link
from groupcheck.model.protocol.consumer.plans import name
from groupcheck.model.protocol.consumer.timers import interval_passes
from groupcheck.model.protocol.streams import timers
from groupcheck.model.protocol.streams.commits import streams_offset_commit, watched
from groupcheck.model.protocol.streams.memory import Configured, StreamsCore, Topics
from groupcheck.model.protocol.streams.messages import StreamsLink, StreamsRequest
from groupcheck.model.protocol.streams.releases import STREAMS_RELEASES
from groupcheck.model.protocol.streams.scope import StreamsScope
from groupcheck.oracles.consumer import committing
from groupcheck.oracles.consumer.facts import INTERVAL_MS, Facts, Known, followed
from groupcheck.oracles.consumer.rows import (
    REBALANCE_MS,
    ConsumerRow,
    ConsumerRows,
    State,
    epoch_of,
)
from groupcheck.oracles.consumer.streams.facts import (
    answer_of_kafka,
    answer_of_model,
    by_role,
    of_kafka,
    of_model,
    process_of,
)
from groupcheck.oracles.kafka.answers import (
    Answer,
    FetchAnswer,
    PartitionsAnswer,
    StreamsAnswer,
)
from groupcheck.oracles.kafka.commands import (
    Advance,
    Command,
    FailAppends,
    FailOver,
    Fire,
    Reset,
    SetTopics,
    StreamsGroupHeartbeat,
)
from groupcheck.oracles.kafka.schedule import Step

DELAY_MS = 500_000  # no row waits so long
SOURCE, CHANGELOG = name(0), "app-store-changelog"
BY_TIMER = {
    timers.streams_session_timeout.name: "session-timeout-g-",
    timers.streams_rebalance_timeout.name: "rebalance-timeout-g-",
}


OF_OFFSETS = (PartitionsAnswer, FetchAnswer)
STORES = frozenset(f"{streams_offset_commit.name}:{label}" for label in STORED)


class StreamsRows(ConsumerRows):
    """The rows of a spec of streams groups in which anybody sends heartbeats."""

    scope: StreamsScope

    def _streams(self, state: State) -> StreamsCore:
        core = self.core(state)
        assert isinstance(core, StreamsCore)
        return core

    def _answered(self, link: Link, leaves: int) -> Facts:
        told = {} if link.told is None else {"error": link.told.code}
        return {**answer_of_model(link.answer, leaves), **told}

    def _remembered(self, state: State) -> Facts:
        return of_model(self._streams(state), self.seats(state), self.scope)

    def _wrote(self, before: State, after: State, fired: tuple[str, ...]) -> bool:
        if any(name.endswith(":failed") for name in fired):
            return False
        seen = self._streams(before).known != self._streams(after).known
        return seen or not STORES.isdisjoint(fired) or super()._wrote(before, after, fired)

    def _lasting(self, state: State) -> Any:
        core, seats = super()._lasting(state)
        soft = {
            "there": Topics.READY,
            "delayed": False,
            "configured": Configured.NO,
            "shutdown": False,
            "noted": (),
        }
        return evolve(core, **soft), seats

    def setup(self, kafka: str) -> Reset:
        """The real coordinator of this version before anything has happened."""
        scope = self.scope
        config = {
            "group.streams.num.standby.replicas": str(scope.standbys),
            "group.streams.initial.rebalance.delay.ms": str(DELAY_MS if scope.delay else 0),
        }
        if scope.standbys:
            config["group.streams.max.standby.replicas"] = str(max(2, scope.standbys))
        if STREAMS_RELEASES[kafka].interval:
            interval = INTERVAL_MS if scope.interval else 0
            config["group.streams.assignment.interval.ms"] = str(interval)
        if scope.max_size is not None:
            config["group.streams.max.size"] = str(scope.max_size)
        return Reset(topics=self._topics_of(Topics.READY), config=config, seed=self._seed)

    def _topics_of(self, there: Topics) -> dict[str, int]:
        tasks = self.scope.tasks
        if there == Topics.NO_SOURCE:
            return {}
        topics = {SOURCE: tasks + (there == Topics.UNEQUAL)}
        if self.scope.has_changelog and there != Topics.NO_CHANGELOG:
            topics[CHANGELOG] = tasks
        return topics

    def commands(self, row: ConsumerRow, known: list[Known]) -> tuple[Command, ...]:
        """What the real coordinator is told."""
        failing = (FailAppends(),) if row.fails else ()
        if row.request is not None and row.me is not None:
            assert isinstance(row.request, StreamsRequest)
            return *failing, self._sent(row.request, row, known[row.me])
        if row.asked is not None and row.me is not None:
            own, where = known[row.me], (SOURCE, watched(self.scope))
            # "Previous" is one less than the own epoch here, whether the member has had it or not.
            author = committing.Author(own.id, own.epoch, own.epoch - 1)
            return *failing, committing.told(row.asked, author, where, row.me)
        if row.title in BY_TIMER and row.me is not None:
            return *failing, Fire(timer=BY_TIMER[row.title] + known[row.me].id)
        if row.title == timers.initial_delay_ends.name:
            return *failing, Fire(timer="initial-rebalance-timeout-g")
        if row.title == interval_passes.name:
            return (Advance(ms=INTERVAL_MS),)
        if row.title == timers.move_streams_coordinator.name:
            return (FailOver(),)
        assert row.title == timers.topics_change.name, row.title
        after = self._streams(row.outcomes[0].state)
        return (SetTopics(topics=self._topics_of(after.there)),)

    def _sent(self, request: StreamsRequest, row: ConsumerRow, known: Known) -> Command:
        joins = request.kind == Kind.JOIN
        link = row.before[self._links[row.me or 0]]
        assert isinstance(link, StreamsLink)
        owned = None if request.owned is None else by_role(request.owned)
        return StreamsGroupHeartbeat(
            member=known.id,
            epoch=epoch_of(request, known),
            process=process_of(link.process) if joins else None,
            rebalance_timeout_ms=REBALANCE_MS if joins else -1,
            topology=request.topology if joins else None,
            sources=(SOURCE,) if joins else (),
            changelogs=(CHANGELOG,) if joins and self.scope.has_changelog else (),
            owned=owned,
            shutdown=request.shutdown,
        )

    def read(
        self, row: ConsumerRow, before: tuple[Known, ...], given: Answer | None, last: Step
    ) -> tuple[tuple[Known, ...], Facts]:
        memory = last.memory
        assert memory is not None
        answer = given if isinstance(given, StreamsAnswer) else None
        known = followed(before, memory)
        own = known[row.me].epoch if row.me is not None else 0
        facts = {
            **answer_of_kafka(answer, row.leaves, own, self.scope),
            **({"error": given.error} if isinstance(given, OF_OFFSETS) else {}),
            **of_kafka(memory, known, self.scope, last.now_ms),
            "records written": bool(last.records),
        }
        return tuple(known), facts
