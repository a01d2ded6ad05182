"""Who believed to own which partition, as far as requests tell: two owners at once, zombies that
commit, commits of partitions never given.

A member believes in what its last SyncGroup was answered with, until it joins again (an eager
member revokes before that), until it is told that it is no member any more, or until it is never
heard of again. A LeaveGroup does not end the belief by itself: a client's background thread may
send it while the application is busy (max.poll.interval.ms). What a cooperative member says in its
subscription that it owns, it still holds when its next SyncGroup is answered, until it has revoked
it. After a LeaveGroup librdkafka commits without a member id, but in its old generation: such a
commit is taken for that of the last member on the same connection.
"""

from __future__ import annotations

from typing import TypeVar

from attrs import Factory, define, frozen

from groupcheck.model.protocol.codes import ILLEGAL_GENERATION, NONE, UNKNOWN_MEMBER_ID
from groupcheck.traces.consumer_protocol import assignment, subscription
from groupcheck.traces.exchanges import (
    CommitExchange,
    Exchange,
    HeartbeatExchange,
    JoinExchange,
    LeaveExchange,
    SyncExchange,
)
from groupcheck.traces.message_bytes import Malformed

MEMBERS_KEPT = 10_000
PARTITIONS_KEPT = 100_000
FOUND_KEPT = 1000
_Found = TypeVar("_Found")
REFUSALS = frozenset({ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID})


@frozen
class TwoOwners:
    """Two members believed in one partition from `since` to `until` (ms). `by` what request the
    earlier one showed that it had not heard of it.
    """

    group: str
    partition: str
    earlier: str
    later: str
    since: int
    until: int
    by: str


@frozen
class Zombie:
    """A member that goes on in a generation that is over, although its partitions are another's.
    `committed`: it tried to commit them.
    """

    member: str
    client: str
    line: int
    generation: int
    partitions: tuple[str, ...]
    others: tuple[str, ...]
    since: int
    until: int
    committed: bool
    accepted: bool
    left: bool


@frozen
class Foreign:
    """A commit that was accepted from a member that had not been given the partition."""

    time: int
    line: int
    group: str
    partition: str
    by: str
    offset: int


@frozen
class Overlap:
    """A leader's plan that gives one partition to two members."""

    line: int
    generation: int
    partition: str
    members: tuple[str, str]


@define
class _Held:
    generation: int
    partitions: frozenset[str]
    client: str
    still: frozenset[str] = frozenset()
    left: bool = False
    told: bool = False


@define
class Owners:
    """The beliefs of one group's members, filled by `observe`. `cooperative`: some member kept
    partitions while it joined. `opaque`: bytes that are not of the consumer protocol.
    """

    group: str
    two_owners: list[TwoOwners] = Factory(list)
    zombies: list[Zombie] = Factory(list)
    foreign: list[Foreign] = Factory(list)
    overlaps: list[Overlap] = Factory(list)
    opaque: bool = False
    cooperative: bool = False
    _held: dict[str, _Held] = Factory(dict)
    _owner: dict[str, tuple[str, str, float]] = Factory(dict)
    _claims: dict[str, frozenset[str]] = Factory(dict)
    _on: dict[str, str] = Factory(dict)

    def observe(self, e: Exchange) -> None:
        if e.member:
            if len(self._on) >= MEMBERS_KEPT:
                del self._on[next(iter(self._on))]
            self._on[e.connection] = e.member
        if isinstance(e, SyncExchange):
            self._plan(e)
            self._sync(e)
        elif isinstance(e, JoinExchange):
            self._held.pop(e.member, None)
            self._join(e)
        elif isinstance(e, LeaveExchange):
            for leaver in e.leavers:
                if leaver.member in self._held:
                    self._held[leaver.member].left = True
        elif isinstance(e, HeartbeatExchange | CommitExchange):
            self._shows_belief(e)
            if isinstance(e, CommitExchange):
                self._commit(e)

    def _decoded(self, data: bytes) -> frozenset[str]:
        try:
            return frozenset(f"{topic}-{n}" for topic, n in assignment(data))
        except Malformed:
            self.opaque = True
            return frozenset()

    def _join(self, e: JoinExchange) -> None:
        """What the member says that it owns, by whichever of its protocols says most."""
        owned: set[str] = set()
        for _, data in e.protocols:
            try:
                owned |= {f"{topic}-{n}" for topic, n in subscription(data).owned}
            except Malformed:
                self.opaque = True
        self._claims.pop(e.member, None)
        if owned:
            self.cooperative = True
            if len(self._claims) < MEMBERS_KEPT:
                self._claims[e.member] = frozenset(owned)

    def _plan(self, e: SyncExchange) -> None:
        given: dict[str, str] = {}
        for member, data in e.assignments:
            for partition in sorted(self._decoded(data)):
                if partition in given and given[partition] != member:
                    _keep(
                        self.overlaps,
                        Overlap(e.line, e.generation, partition, (given[partition], member)),
                    )
                given[partition] = member

    def _sync(self, e: SyncExchange) -> None:
        if e.code != NONE:
            return
        partitions = self._decoded(e.share)
        if len(self._held) >= MEMBERS_KEPT:
            del self._held[next(iter(self._held))]
        self._held[e.member] = _Held(
            e.generation, partitions, e.client, self._claims.pop(e.member, frozenset())
        )
        for partition in partitions:
            if partition in self._owner or len(self._owner) < PARTITIONS_KEPT:
                self._owner[partition] = (e.member, e.client, e.given)

    def _shows_belief(self, e: HeartbeatExchange | CommitExchange) -> None:
        """A request in an old generation, refused or not, of a member whose partitions are
        another's by now: until then it believed in them.
        """
        member = e.member or self._on.get(e.connection, "")
        held = self._held.get(member)
        if held is None or held.told or e.generation != held.generation:
            return
        asked = (
            {f"{topic}-{n}" for topic, n, _, _ in e.offsets}
            if isinstance(e, CommitExchange)
            else None
        )
        lost = [
            p
            for p in sorted(held.partitions)
            if (owner := self._owner.get(p)) is not None
            and owner[0] != member
            and owner[2] < e.arrived
            and (asked is None or p in asked)
        ]
        refused = e.code in REFUSALS
        if lost and (refused or isinstance(e, CommitExchange)):
            others = [self._owner[p] for p in lost]
            since = min(at for _, _, at in others)
            for p, (_, client, at) in zip(lost, others, strict=True):
                _keep(
                    self.two_owners,
                    TwoOwners(self.group, p, held.client, client, round(at), round(e.given), e.api),
                )
            clients = tuple(dict.fromkeys(client for _, client, _ in others))
            committed, accepted = isinstance(e, CommitExchange), e.code == NONE
            zombie = Zombie(
                member=member,
                client=held.client,
                line=e.line,
                generation=e.generation,
                partitions=tuple(lost),
                others=clients,
                since=round(since),
                until=round(e.given),
                committed=committed,
                accepted=accepted,
                left=held.left,
            )
            _keep(self.zombies, zombie)
        if refused:
            held.told = True

    def _commit(self, e: CommitExchange) -> None:
        held = self._held.get(e.member)
        if held is None or e.generation < 0 or self.opaque:
            return
        for topic, number, offset, code in e.offsets:
            partition = f"{topic}-{number}"
            if (
                code == NONE
                and partition not in held.partitions | held.still
                and self._named(topic)
            ):
                _keep(
                    self.foreign,
                    Foreign(e.answered, e.line, self.group, partition, e.client, offset),
                )

    def _named(self, topic: str) -> bool:
        """Is it a topic of some assignment? (From version 10 on commits give ids, which the log
        does not resolve.)
        """
        return any(partition.rpartition("-")[0] == topic for partition in self._owner)


def _keep(kept: list[_Found], one: _Found) -> None:
    if len(kept) < FOUND_KEPT:
        kept.append(one)
