"""The view of the real group after a step, as values: what is compared with the model, and what
decides which steps can follow. Nobody reads more of the driver's answer than what stands here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

WATCHED = 0  # the partition whose offsets the model follows
NOW_MS = 1_000_000  # the coordinator's time, which stands still
OF_THE_GROUP = ("join-g", "sync-g", "heartbeat-g-")
PARTS_KEPT = 1 << 14  # parts of the driver's answers that are remembered: many stay the same

Json = Mapping[str, Any]
Times = tuple[int, int]  # session timeout and rebalance timeout of a member, in ms


class SeatLook(NamedTuple):
    """A member in the coordinator's memory."""

    awaiting_join: bool
    awaiting_sync: bool
    new: bool
    # Its assignment as a bit mask.
    share: int
    # The generation in its subscription (KIP-792).
    claimed: int
    # The partitions in its subscription, as a bit mask (KIP-429).
    claims: int
    # Its session timeout and its rebalance timeout, in ms.
    times: Times
    # The assignors that it lists.
    protocols: tuple[str, ...]


class GroupLook(NamedTuple):
    """The coordinator's memory of the group."""

    # Is there a group? False: the rest is as in an Empty one.
    exists: bool
    state: str
    generation: int
    leader: str | None
    # The assignor that was voted for.
    protocol: str | None
    # How many members it counts whose JoinGroup is parked.
    awaiting_join: int
    new_member_added: bool
    pending_join: frozenset[str]
    pending_sync: frozenset[str]
    # (id, member), in the driver's order.
    members: tuple[tuple[str, SeatLook], ...]
    # The armed timers of the group and its members, sorted by key, with the ms until each is due.
    timers: tuple[tuple[str, int], ...]


class RequestLook(NamedTuple):
    """A request on a connection."""

    # Kafka's name: JoinGroup, SyncGroup, Heartbeat, LeaveGroup, OffsetCommit.
    api: str
    # The name of its member id; empty if it has none.
    id: str
    # Its generation; of a JoinGroup the one in its subscription. -1: it has none.
    generation: int
    # The offset of the watched partition; -1: it has none.
    offset: int
    # The partitions that a JoinGroup claims, as a bit mask; 0 of any other request.
    claims: int


class MemberLook(NamedTuple):
    """A member and its connection."""

    state: str
    generation: int
    # The name of its member id; empty if it has none.
    id: str
    # rejoinNeeded, needsJoinPrepare, and whether joinFuture is set and has succeeded.
    rejoin: bool
    prepare: bool
    joining: bool
    answered: bool
    # The commit of onJoinPrepare: none, sent, done, failed or retriable.
    committing: str
    # Does it know its coordinator?
    coordinator: bool
    # Its partitions as a bit mask.
    owned: int
    # The next record of the watched partition; -1 if the member has none.
    position: int
    # Its heartbeat thread: none, on, off or failed.
    heart: str
    # Is max.poll.interval.ms over, and the time of onJoinPrepare's commit?
    poll_over: bool
    prepare_over: bool
    # The requests that it has made, but not sent, each by its API.
    unsent: tuple[str, ...]
    # The requests that the coordinator has not read; that waits there; that is late on an earlier
    # connection.
    unread: tuple[RequestLook, ...]
    outstanding: RequestLook | None
    # Has the coordinator forgotten the request that waits there?
    orphaned: bool
    late: RequestLook | None
    # What poll has thrown; empty if nothing.
    failed: str
    closing: bool
    # Does it commit by itself?
    auto: bool
    # Has it an instance id, and is it cooperative?
    static: bool
    cooperative: bool


class RecordLook(NamedTuple):
    """A group record of the log."""

    generation: int
    leader: str | None
    # The assignor that was voted for.
    protocol: str | None
    # (id, share, claimed generation, claimed partitions, session and rebalance timeout) of each
    # member.
    members: frozenset[tuple[str, int, int, int, Times]]


class Look(NamedTuple):
    """A whole group."""

    group: GroupLook
    # The appends in flight, oldest first, by the keys of their timers.
    appends: tuple[str, ...]
    # After how many ms each of them times out.
    append_ms: tuple[int, ...]
    members: tuple[MemberLook, ...]
    # The committed offset of the watched partition; -1 if there is none.
    committed: int
    # The record that a fail-over would load with what is committed; if more is in the log, also the
    # one that it would load with all of it.
    logged: tuple[RecordLook | None, ...]

    @property
    def names(self) -> frozenset[str]:
        """The ids that the coordinator knows."""
        return self.group.pending_join.union([name for name, _ in self.group.members])


def share(partitions: Mapping[str, list[int]] | None) -> int:
    """Partitions as a bit mask."""
    return sum(1 << p for p in (partitions or {}).get("t", ()))


Ways = tuple[bool, bool, bool]  # of a member: `auto`, `static` and `cooperative`


def look(told: bytes, ways: Sequence[Ways]) -> Look:
    """The driver's answer as values. `ways`: of each member."""
    group, committed, logged, *members = told.split(b"\t")
    return Look(
        *_group(group),
        tuple([_member(*member) for member in zip(members, ways, strict=True)]),
        int(committed),
        _logged(logged),
    )


@lru_cache(maxsize=PARTS_KEPT)
def _group(text: bytes) -> tuple[GroupLook, tuple[str, ...], tuple[int, ...]]:
    """The memory of the group, and the appends in flight."""
    told: Json = json.loads(text)
    armed = {key: at - NOW_MS for key, at in told["timers"].items()}
    appends = [key for key in armed if key.startswith("append-")]
    appends.sort(key=lambda key: float(key.removeprefix("append-")))
    own = tuple([pair for pair in sorted(armed.items()) if pair[0].startswith(OF_THE_GROUP)])
    return _group_alone(told, own), tuple(appends), tuple([armed[key] for key in appends])


def _group_alone(told: Json, timers: tuple[tuple[str, int], ...]) -> GroupLook:
    if told["kind"] != "classic":
        nobody = frozenset[str]()
        return GroupLook(False, "Empty", 0, None, None, 0, False, nobody, nobody, (), timers)
    return GroupLook(
        exists=True,
        state=told["state"],
        generation=told["generation"],
        leader=told["leader"],
        protocol=told["protocol"],
        awaiting_join=told["awaitingJoin"],
        new_member_added=told["newMemberAdded"],
        pending_join=frozenset(told["pendingJoin"]),
        pending_sync=frozenset(told["pendingSync"]),
        members=tuple([(member["member"], _seat(member)) for member in told["members"]]),
        timers=timers,
    )


def _seat(told: Json) -> SeatLook:
    return SeatLook(
        awaiting_join=told["awaitingJoin"],
        awaiting_sync=told["awaitingSync"],
        new=told["new"],
        share=share(told["assigned"]),
        claimed=told["protocols"][0]["ownedGeneration"],
        claims=share(told["protocols"][0]["owned"]),
        times=(told["sessionTimeoutMs"], told["rebalanceTimeoutMs"]),
        protocols=tuple([protocol["name"] for protocol in told["protocols"]]),
    )


@lru_cache(maxsize=PARTS_KEPT)
def _logged(text: bytes) -> tuple[RecordLook | None, ...]:
    return tuple([_record(record) for record in json.loads(text)])


def _record(told: Json | None) -> RecordLook | None:
    """None also for the record of a group that has just been made: it is like no group."""
    if told is None or not told["generation"]:
        return None
    members = [
        (
            member["member"],
            share(member["assigned"]),
            member["ownedGeneration"],
            share(member["owned"]),
            (member["sessionTimeoutMs"], member["rebalanceTimeoutMs"]),
        )
        for member in told["members"]
    ]
    return RecordLook(told["generation"], told["leader"], told["protocol"], frozenset(members))


@lru_cache(maxsize=PARTS_KEPT)
def _member(text: bytes, ways: Ways) -> MemberLook:
    told: Json = json.loads(text)
    outstanding, late = told["outstanding"], told["late"]
    return MemberLook(
        state=told["state"],
        generation=told["generation"],
        id=told["member"],
        rejoin=told["rejoin"],
        prepare=told["prepare"],
        joining=told["joining"],
        answered=told["answered"],
        committing=told["committing"],
        coordinator=told["coordinator"],
        owned=told["owned"],
        position=told["position"],
        heart=told["heart"],
        poll_over=told["pollOver"],
        prepare_over=told["prepareOver"],
        unsent=tuple(told["unsent"]),
        unread=tuple([RequestLook(*request) for request in told["unread"]]),
        outstanding=outstanding and RequestLook(*outstanding),
        orphaned=told["orphaned"],
        late=late and RequestLook(*late),
        failed=told["failed"],
        closing=told["closing"],
        auto=ways[0],
        static=ways[1],
        cooperative=ways[2],
    )
