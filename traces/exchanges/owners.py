"""Which member believed that it owned which partition, as far as requests tell: two owners at once,
zombies that commit, commits of partitions that were never assigned.

A member believes that it owns what its last SyncGroup was answered with, until it joins again (an
eager member revokes before that), until it is told that it is not a member any more, or until the
end of its requests. A LeaveGroup alone does not end the belief: a background thread of the client
may send it while the application is busy (max.poll.interval.ms). A cooperative member still holds
the partitions that its subscription lists when its next SyncGroup is answered, until it has revoked
them. After a LeaveGroup librdkafka commits without a member id, but in its old generation: such a
commit counts as one of the last member on the same connection.
"""

from __future__ import annotations

from typing import TypeVar

from attrs import Factory, define, frozen

from groupcheck.model.protocol.codes import (
    FENCED_INSTANCE_ID,
    ILLEGAL_GENERATION,
    NONE,
    UNKNOWN_MEMBER_ID,
)
from groupcheck.traces.exchanges.exchange import (
    CommitExchange,
    Exchange,
    HeartbeatExchange,
    JoinExchange,
    LeaveExchange,
    SyncExchange,
)
from groupcheck.traces.messages.consumer_protocol import assignment, subscription
from groupcheck.traces.messages.message_bytes import Malformed

MEMBERS_KEPT = 10_000
PARTITIONS_KEPT = 100_000
FOUND_KEPT = 1000
_Found = TypeVar("_Found")
REFUSALS = frozenset({ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID})


@frozen
class TwoOwners:
    """Two members believed that they owned one partition."""

    group: str
    partition: str
    # Their clients.
    earlier: str
    later: str
    # ms since 1970.
    since: int
    until: int
    # The API of the request by which the earlier owner showed its belief.
    by: str


@frozen
class Zombie:
    """A member that goes on in an ended generation, although others own its partitions now."""

    member: str
    client: str
    line: int
    generation: int
    partitions: tuple[str, ...]
    others: tuple[str, ...]
    # When another member was given the first of them, and when this one was answered.
    since: int
    until: int
    # It tried to commit them, and that was not refused.
    committed: bool
    accepted: bool
    # It had sent LeaveGroup.
    left: bool
    # Another process had taken its instance id.
    fenced: bool = False


@frozen
class Foreign:
    """An accepted commit from a member to which the partition had not been assigned."""

    time: int
    line: int
    group: str
    partition: str
    by: str
    offset: int


@frozen
class Overlap:
    """A leader's assignment that gives one partition to two members."""

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
    refused: bool = False


@define
class Owners:
    """The beliefs of one group's members, filled by `observe`."""

    group: str
    two_owners: list[TwoOwners] = Factory(list)
    zombies: list[Zombie] = Factory(list)
    foreign: list[Foreign] = Factory(list)
    overlaps: list[Overlap] = Factory(list)
    # Some bytes were not of the consumer protocol.
    opaque: bool = False
    # Some member kept partitions while it joined.
    cooperative: bool = False
    # Member -> what it believes; partition -> (member, client, since when) of its owner; member ->
    # the partitions that its subscription lists; connection -> the last member on it.
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
        """Notes what the member says it owns, in any of its protocols."""
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
        """A request in an old generation, refused or not, from a member whose partitions belong to
        others by now: until then it believed that it owned them.
        """
        member = e.member or self._on.get(e.connection, "")
        held = self._held.get(member)
        if held is None or held.refused or e.generation != held.generation:
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
                fenced=e.code == FENCED_INSTANCE_ID,
            )
            _keep(self.zombies, zombie)
        if refused:
            held.refused = True

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
        """Is it a topic of some assignment? (From version 10 on commits have topic ids, which the
        log does not resolve.)
        """
        return any(partition.rpartition("-")[0] == topic for partition in self._owner)


def _keep(kept: list[_Found], one: _Found) -> None:
    if len(kept) < FOUND_KEPT:
        kept.append(one)
