"""The memory of the real coordinator behind a memory of the model, so that two real memories are
equal if nothing but names and times tells them apart.

A real memory is the whole dump (`ClassicMemory`) with:

- members named by process and id of the model, or `?` if the model has forgotten them;
- the timers that are armed, each kind of append once, without those of the ids that the model
  knows (a timer that has fired in vain is armed again when its member is answered);
- how many SyncGroups of leaders wait for their appends: none, one, or more than one; and the plan
  that is to be the group's;
- the group record that a fail-over would load: the last one of the whole log, or of the part that
  the other brokers have, as the model's memory says. Only where the scope has fail-overs.

A coordinator that loads remembers nothing yet but the log.

Left out is what the comparison knows exactly from the schedule that led there (`schedule_memory`):
when timers are due, timeouts, the subscriptions and assignments of members, numbers of requests.
Also left out: how many ids were made, offsets in the log, records of an append that no fail-over
would find, and answers that wait for an append and concern no memory.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import attrs

from groupcheck.oracles.conform.real_position import Standing, found_until
from groupcheck.oracles.conform.row import Memory
from groupcheck.oracles.kafka.commands import SyncGroup
from groupcheck.oracles.kafka.memory import ClassicMember, ClassicMemory
from groupcheck.oracles.kafka.memory import Memory as Real
from groupcheck.oracles.kafka.records import GroupRecord, LoggedMember, Record
from groupcheck.oracles.kafka.schedule import Step

RealMemory = Hashable
# Fields of the dump that are told in another form, or that the comparison knows exactly.
APART = (
    "timers",
    "members",
    "leader",
    "pending_join",
    "pending_sync",
    "instances",
    "offsets",
    "pending",
)
PLANS_TOLD_APART = 2
TIMERS_OF_THE_GROUP = ("join-g", "sync-g", "heartbeat-g-", "append-")


def real_memory(
    memory: Memory, at: Standing, look: Step, end: Step, log: Iterable[Record] | None
) -> RealMemory:
    """The real memory behind `memory` that was looked at in `look`, after a step that ends with
    `end`. `log`: the records, if a fail-over could read them.
    """
    names = {name: whose for whose, name in at.names}
    real = look.memory
    found = found_until(at, memory) or end.high_watermark
    until = end.end if memory.core.recorded else found
    if memory.core.loading:
        return "loading", memory.stale, None if log is None else _loaded(log, until, names)
    assert real is not None
    return (
        _group(real, names) if isinstance(real, ClassicMemory) else None,
        _timers(real, names),
        min(len(at.past.plans), PLANS_TOLD_APART),
        _planned(at, names) if memory.core.appending else None,
        tuple(me for me, _ in sorted(at.takeovers, key=lambda one: one[1])),
        None if log is None else _loaded(log, until, names),
    )


def _planned(at: Standing, names: dict[str, Any]) -> Hashable:
    """The shares that the plan that is being appended gives to each member."""
    plan = at.commands[at.append - 1]
    assert isinstance(plan, SyncGroup)
    return frozenset((_named(member, names), share) for member, share in plan.assignments)


def _group(memory: ClassicMemory, names: dict[str, Any]) -> Hashable:
    values = attrs.asdict(memory, recurse=False)
    for name in APART:
        del values[name]
    return (
        *values.values(),
        _named(memory.leader, names),
        *(
            frozenset(_named(name, names) for name in some)
            for some in (memory.pending_join, memory.pending_sync)
        ),
        _members(memory.members, names),
    )


def _members(members: Iterable[ClassicMember | LoggedMember], names: dict[str, Any]) -> Hashable:
    return frozenset((_named(m.member, names), _nameless(m)) for m in members)


def _nameless(m: ClassicMember | LoggedMember) -> Hashable:
    if isinstance(m, ClassicMember):
        return m.instance, m.awaiting_join, m.awaiting_sync, m.new
    return m.instance, m.subscription, m.assigned


def _named(name: str | None, names: dict[str, Any]) -> Hashable:
    return None if name is None else names.get(name, "?")


def _timers(memory: Real, names: dict[str, Any]) -> Hashable:
    found = set()
    for timer in memory.timers:
        if timer.key.startswith(TIMERS_OF_THE_GROUP):
            head, _, whose = timer.key.rpartition("-")
            if head != "heartbeat-g" or whose not in names:
                found.add(head)
    return frozenset(found)


def _loaded(log: Iterable[Record], until: int, names: dict[str, Any]) -> Hashable:
    found = [r for r in log if isinstance(r, GroupRecord) and r.offset < until]
    if not found or found[-1].tombstone:
        return None
    last = found[-1]
    members = _members(last.members, names)
    return last.type, last.generation, last.protocol, _named(last.leader, names), members
