"""What the real group shows after a step, as values: what is compared with the model, and what
decides which steps can follow. Nobody reads more of the driver's answer than what stands here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

WATCHED = 0  # the partition whose offsets the model follows
NOW_MS = 1_000_000  # the coordinator's time, which stands still
OF_THE_GROUP = ("join-g", "sync-g", "heartbeat-g-")

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
    # Its session timeout and its rebalance timeout, in ms.
    times: Times


class GroupLook(NamedTuple):
    """The coordinator's memory of the group."""

    # Is there a group? False: the rest is as in an Empty one.
    exists: bool
    state: str
    generation: int
    leader: str | None
    new_member_added: bool
    pending_join: frozenset[str]
    pending_sync: frozenset[str]
    # (id, member), in the driver's order.
    members: tuple[tuple[str, SeatLook], ...]
    # The armed timers of the group and its members, sorted by key, with the ms until each is due.
    timers: tuple[tuple[str, int], ...]


class MemberLook(NamedTuple):
    """A member and its connection."""

    state: str
    generation: int
    # The name of its member id; empty if it has none.
    id: str
    # rejoinNeeded, needsJoinPrepare, and whether joinFuture is set.
    rejoin: bool
    prepare: bool
    joining: bool
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
    # The requests that it has made, but not sent; that the coordinator has not read; that waits
    # there; that is late on an earlier connection. Each by its API.
    unsent: tuple[str, ...]
    unread: tuple[str, ...]
    outstanding: str | None
    late: str | None
    # What poll has thrown; empty if nothing.
    failed: str
    closing: bool
    # Does it commit by itself?
    auto: bool


class RecordLook(NamedTuple):
    """A group record of the log."""

    generation: int
    leader: str | None
    # (id, share, claimed, session and rebalance timeout) of each member.
    members: frozenset[tuple[str, int, int, Times]]


class Look(NamedTuple):
    """A whole group."""

    group: GroupLook
    members: tuple[MemberLook, ...]
    # The committed offset of the watched partition; -1 if there is none.
    committed: int
    # The record that a fail-over would load with what is committed; if more is in the log, also the
    # one that it would load with all of it.
    logged: tuple[RecordLook | None, ...]
    # The appends in flight, oldest first, by the keys of their timers.
    appends: tuple[str, ...]
    # After how many ms each of them times out.
    append_ms: tuple[int, ...]

    @property
    def names(self) -> frozenset[str]:
        """The ids that the coordinator knows."""
        return self.group.pending_join.union([name for name, _ in self.group.members])


def share(partitions: Mapping[str, list[int]] | None) -> int:
    """Partitions as a bit mask."""
    return sum(1 << p for p in (partitions or {}).get("t", ()))


def look(told: Json, auto: bool) -> Look:
    """The driver's answer as values. `auto`: do the members commit by themselves?"""
    due = told["group"]["timers"]
    appends = [key for key in due if key.startswith("append-")]
    appends.sort(key=lambda key: float(key.removeprefix("append-")))
    return Look(
        _group(told["group"]),
        tuple([_member(member, auto) for member in told["members"]]),
        told["committed"],
        tuple([_record(record) for record in told["logged"]]),
        tuple(appends),
        tuple([due[key] - NOW_MS for key in appends]),
    )


def _group(told: Json) -> GroupLook:
    due = sorted(told["timers"].items())
    timers = tuple([(key, at - NOW_MS) for key, at in due if key.startswith(OF_THE_GROUP)])
    if told["kind"] != "classic":
        return GroupLook(False, "Empty", 0, None, False, frozenset(), frozenset(), (), timers)
    return GroupLook(
        exists=True,
        state=told["state"],
        generation=told["generation"],
        leader=told["leader"],
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
        times=(told["sessionTimeoutMs"], told["rebalanceTimeoutMs"]),
    )


def _record(told: Json | None) -> RecordLook | None:
    """None also for the record of a group that has just been made: it is like no group."""
    if told is None or not told["generation"]:
        return None
    members = [
        (
            member["member"],
            share(member["assigned"]),
            member["ownedGeneration"],
            (member["sessionTimeoutMs"], member["rebalanceTimeoutMs"]),
        )
        for member in told["members"]
    ]
    return RecordLook(told["generation"], told["leader"], frozenset(members))


def _member(told: Json, auto: bool) -> MemberLook:
    timers, outstanding = told["timers"], told["outstanding"]
    return MemberLook(
        state=told["state"],
        generation=told["generation"],
        id=told["member"],
        rejoin=told["rejoin"],
        prepare=told["prepare"],
        joining=told["joining"],
        committing=told["committing"],
        coordinator=told["coordinator"],
        owned=share(told["owned"]),
        position=told["positions"].get("t", {}).get(str(WATCHED), -1),
        heart=told["heart"],
        poll_over=timers.get("poll", 1) <= 0,
        prepare_over=timers.get("joinPrepare") == 0,
        unsent=tuple(told["unsent"]),
        unread=tuple([request["api"] for request in told["unread"]]),
        outstanding=outstanding and outstanding["api"],
        late=told["late"],
        failed=told["failed"],
        closing=told["closing"],
        auto=auto,
    )
