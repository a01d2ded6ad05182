"""Compares what a step appends to the log, and what a fail-over would load from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import attrs

from groupcheck.model.protocol import messages
from groupcheck.model.protocol.classic.group import Seat, leader_of
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.oracles.conform import full_offsets, takeovers
from groupcheck.oracles.conform.real_position import (
    Standing,
    append_fails,
    empties,
    leads_with,
)
from groupcheck.oracles.conform.row import Asks, Input, Memory, Outcome
from groupcheck.oracles.conform.schedule_memory import Key, join_of
from groupcheck.oracles.conform.sending import planned_shares, user_data, written_user_data
from groupcheck.oracles.conform.topics import partitions_of, topics_of
from groupcheck.oracles.kafka.records import GroupRecord, MarkerRecord, OffsetRecord, Record

PROTOCOL = "range"  # what all members list, unless the scope says otherwise


def protocol_of(assignor: int | None, scope: Scope) -> str:
    """The protocol of the group's last round."""
    return PROTOCOL if assignor is None else scope.assignors_listed[assignor]


def records_differ(
    before: Memory,
    given: Input,
    outcome: Outcome,
    now: Standing,
    records: tuple[Record, ...],
    scope: Scope,
) -> Iterator[str]:
    """The differences in what the step appended: a group record with the leader's SyncGroup and
    when the group becomes Empty, an offset with an accepted commit.
    """
    expected = _appended(before, given, outcome, now, scope)
    seen = [_seen(r) for r in records]
    if expected != seen:
        yield f"appended is {shown(seen)}, in the model {shown(expected)}"


def _appended(
    before: Memory, given: Input, outcome: Outcome, now: Standing, scope: Scope
) -> list[Any]:
    memory = outcome.after
    if append_fails(before, outcome):
        return []
    outside = full_offsets.appended(before, given, outcome)
    if outside is not None:
        return outside
    if outcome.stored is not None:
        return [("offset", outcome.stored)]
    if full_offsets.pends(given, outcome):
        assert isinstance(given, Asks) and isinstance(given.request, messages.TxnOffsetCommit)
        return [("offset", given.request.offset, given.member + 1)]
    if full_offsets.creates(before, given, outcome):
        return [_group(0, None, None, [], (), now, scope)]
    begins = takeovers.begins(before, given, outcome)
    if begins or leads_with(before, given):
        members = [
            (me, id, seat)
            for me, some in enumerate(memory.seats)
            for id, seat in some
            if seat.member
        ]
        if not begins:  # the leader's plan
            assert isinstance(given, Asks) and isinstance(given.request, messages.SyncGroup)
            shares = planned_shares(memory.seats, given.request.sees, scope)
            members = [(me, id, attrs.evolve(s, share=shares[me, id])) for me, id, s in members]
        core, leader = memory.core, leader_of(memory.seats)
        protocol = protocol_of(core.assignor, scope)
        return [_group(core.generation, protocol, leader, members, now.past.joined, now, scope)]
    if empties(before, outcome):
        return [_group(memory.core.generation, None, None, [], (), now, scope)]
    return []


def loads_differ(
    memory: Memory, now: Standing, found: GroupRecord | None, scope: Scope
) -> Iterator[str]:
    """The differences between what a fail-over would load now and what the model keeps for it."""
    generation, led, assignor = memory.core.durable
    members = [(*key, seat) for key, seat in takeovers.record(memory).items()]
    leads = ((me, seats.durable_leader) for me, seats in enumerate(memory.seats))
    leader = next((takeovers.key(me, id) for me, id in leads if id is not None), None)
    protocol = protocol_of(assignor, scope) if led else None
    expected = _group(generation, protocol, leader, members, now.past.logged, now, scope)
    there = found is not None and not found.tombstone
    seen = _seen(found) if found and there else _group(0, None, None, [], (), now, scope)
    if expected != seen:
        yield f"a fail-over loads {shown(seen)}, in the model {shown(expected)}"


def _group(
    generation: int,
    protocol: str | None,
    leader: Key | None,
    members: Iterable[tuple[int, int, Seat]],
    joined: tuple[tuple[Key, int], ...],
    now: Standing,
    scope: Scope,
) -> Any:
    """A group record with these members (process, id, seat)."""
    told = []
    for me, id, seat in members:
        join = join_of((me, id), joined, now.commands)
        times = join.session_timeout_ms, join.rebalance_timeout_ms
        owned, share = (sorted(partitions_of(p, scope)) for p in (seat.owned, seat.share))
        said = (
            topics_of(seat.topics, scope),
            seat.claimed,
            owned,
            written_user_data(user_data(seat)),
        )
        told.append((now.name(me, id), share, *times, *said))
    return "group", generation, protocol, now.name(*leader) if leader else None, sorted(told)


def leader_name(memory: Memory, at: Standing) -> str | None:
    leader = leader_of(memory.seats)
    return None if leader is None else at.name(*leader)


def _seen(record: Record) -> Any:
    if isinstance(record, GroupRecord) and record.tombstone:
        return ("tombstone",)
    if isinstance(record, MarkerRecord):
        return ("marker", record.commit)
    if isinstance(record, OffsetRecord) and record.producer is not None:
        return ("offset", record.committed, record.producer)
    if isinstance(record, GroupRecord):
        members = sorted(
            (
                m.member,
                sorted(m.assigned) if isinstance(m.assigned, frozenset) else m.assigned or [],
                m.session_timeout_ms,
                m.rebalance_timeout_ms,
                m.subscription.topics,
                m.subscription.owned_generation,
                sorted(m.subscription.owned),
                m.subscription.user_data,
            )
            for m in record.members
        )
        return "group", record.generation, record.protocol, record.leader, members
    return (
        ("offset", record.committed)
        if isinstance(record, OffsetRecord)
        else ("other", type(record).__name__)
    )


def shown(value: Any) -> str:
    if isinstance(value, (set, frozenset)):
        return "{" + ", ".join(sorted(str(v) for v in value)) + "}" if value else "nothing"
    return "nothing" if value in (None, "", ()) else str(value)
