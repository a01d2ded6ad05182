"""Facts that a request log tells by itself, without a model: who joined which generation and who
was last, what was refused, what was committed.

Processes are named by their client id. Memory is bounded: what exceeds the limits is dropped.
"""

from __future__ import annotations

from collections import Counter

from attrs import Factory, define, frozen

from groupcheck.model.protocol.codes import NONE
from groupcheck.traces.exchanges.exchange import (
    CommitExchange,
    EpochExchange,
    Exchange,
    FetchExchange,
    JoinExchange,
    LeaveExchange,
)

GENERATIONS_KEPT = 20_000
JOINS_KEPT = 1000
REWINDS_KEPT = 1000
PARTITIONS_KEPT = 100_000
CLIENTS_KEPT = 1000


@frozen(order=True)
class Join:
    """A JoinGroup that was answered with the generation."""

    # When it arrived, in ms since 1970.
    arrived: int
    line: int
    client: str
    # When the answer had been sent.
    answered: int


@frozen
class Generation:
    """One generation of a classic group."""

    group: str
    generation: int
    protocol: str | None
    # The leader's client, if the log names it.
    leader: str | None
    # The JoinGroups that made the generation, in order of arrival.
    joins: tuple[Join, ...]
    # JoinGroups that were answered with it later, without a rebalance.
    later: tuple[Join, ...]

    @property
    def completed(self) -> int:
        """When the first member was told."""
        return min(join.answered for join in self.joins)

    @property
    def slowest(self) -> str:
        """The last to join."""
        return self.joins[-1].client


@frozen
class Rewind:
    """A commit that was accepted although a higher offset of the partition had been committed."""

    time: int
    line: int
    group: str
    partition: str
    by: str
    committed: int
    was: int
    was_by: str


@frozen
class Return:
    """A client left the group without a reason, and joined it again on the same connection."""

    client: str
    # The line of its LeaveGroup, and when that was answered.
    line: int
    time: int
    # How long it was away, in ms.
    after: int


@frozen
class Epoch:
    """An epoch of a KIP-848 group."""

    group: str
    epoch: int
    # (client, time of the first answer that told it, in ms), in order of time.
    reached: tuple[tuple[str, int], ...]

    @property
    def slowest(self) -> str:
        """The last to be told."""
        return max(self.reached, key=lambda r: r[1])[0]


@define
class _Open:
    protocol: str | None
    leader: str | None = None
    joins: list[Join] = Factory(list)
    more: int = 0


@define
class RequestFacts:
    """The facts of one group, filled by `observe`."""

    group: str
    requests: Counter[str] = Factory(Counter)
    errors: dict[str, Counter[str]] = Factory(dict)
    rewinds: list[Rewind] = Factory(list)
    returns: list[Return] = Factory(list)
    generations_dropped: int = 0
    # (connection, client) -> its last LeaveGroup.
    _left: dict[tuple[str, str], LeaveExchange] = Factory(dict)
    _generations: dict[int, _Open] = Factory(dict)
    _epochs: dict[int, dict[str, int]] = Factory(dict)
    _committed: dict[str, tuple[int, str]] = Factory(dict)

    def observe(self, e: Exchange) -> None:
        self.requests[e.api] += 1
        for code in codes_of(e):
            clients = self.errors.setdefault(f"{e.api} {code}", Counter())
            if e.client in clients or len(clients) < CLIENTS_KEPT:
                clients[e.client] += 1
        if isinstance(e, LeaveExchange | JoinExchange):
            self._returned(e)
        if isinstance(e, JoinExchange) and e.code == NONE:
            self._joined(e)
        elif isinstance(e, CommitExchange):
            self._commit(e)
        elif (
            isinstance(e, EpochExchange)
            and e.code == NONE
            and e.to_epoch is not None
            and e.to_epoch > 0
        ):
            if e.to_epoch not in self._epochs and len(self._epochs) >= GENERATIONS_KEPT:
                del self._epochs[next(iter(self._epochs))]
                self.generations_dropped += 1
            reached = self._epochs.setdefault(e.to_epoch, {})
            if len(reached) < CLIENTS_KEPT:
                reached[e.client] = min(reached.get(e.client, e.answered), e.answered)

    def _returned(self, e: LeaveExchange | JoinExchange) -> None:
        key = e.connection, e.client
        if isinstance(e, LeaveExchange):
            silent = all(x.reason is None and not x.code for x in e.leavers) and not e.code
            if silent and len(self._left) < CLIENTS_KEPT:
                self._left[key] = e
            return
        left = self._left.pop(key, None)
        if left is not None and len(self.returns) < REWINDS_KEPT:
            after = round(e.arrived) - left.answered
            self.returns.append(Return(e.client, left.line, left.answered, max(after, 0)))

    def _joined(self, e: JoinExchange) -> None:
        known = self._generations.get(e.to_generation)
        if known is None:
            if len(self._generations) >= GENERATIONS_KEPT:
                del self._generations[next(iter(self._generations))]
                self.generations_dropped += 1
            known = self._generations[e.to_generation] = _Open(e.chosen)
        if e.leader == e.response_member:
            known.leader = e.client
        if len(known.joins) < JOINS_KEPT:
            known.joins.append(Join(round(e.arrived), e.line, e.client, e.answered))
        else:
            known.more += 1

    def _commit(self, e: CommitExchange) -> None:
        for topic, number, offset, code in e.offsets:
            if code != NONE:
                continue
            partition = f"{topic}-{number}"
            was, was_by = self._committed.get(partition, (-1, ""))
            if offset < was and len(self.rewinds) < REWINDS_KEPT:
                self.rewinds.append(
                    Rewind(e.answered, e.line, self.group, partition, e.client, offset, was, was_by)
                )
            if partition in self._committed or len(self._committed) < PARTITIONS_KEPT:
                self._committed[partition] = (offset, e.client)

    @property
    def generations(self) -> tuple[Generation, ...]:
        """In the order in which they were completed."""
        found = []
        for number, known in self._generations.items():
            joins = sorted(known.joins)
            completed = min(join.answered for join in joins)
            there, later = (
                [j for j in joins if j.arrived <= completed],
                [j for j in joins if j.arrived > completed],
            )
            found.append(
                Generation(
                    self.group, number, known.protocol, known.leader, tuple(there), tuple(later)
                )
            )
        return tuple(sorted(found, key=lambda g: (g.completed, g.generation)))

    @property
    def epochs(self) -> tuple[Epoch, ...]:
        """In ascending order."""
        return tuple(
            Epoch(self.group, epoch, tuple(sorted(reached.items(), key=lambda r: r[1])))
            for epoch, reached in sorted(self._epochs.items())
        )


def codes_of(e: Exchange) -> set[int]:
    """The error codes in the answer, each once."""
    codes = {e.code}
    if isinstance(e, LeaveExchange):
        codes |= {x.code for x in e.leavers}
    elif isinstance(e, CommitExchange):
        codes |= {code for _, _, _, code in e.offsets}
    elif isinstance(e, FetchExchange):
        codes |= set(e.partition_codes)
    return {code for code in codes if code}
