"""The model's requests as acts of a schedule, and acts as requests again; and the timers that run
out while a group waits.
"""

from __future__ import annotations

from groupcheck.model.engine import UserError
from groupcheck.model.protocol import messages
from groupcheck.model.protocol.classic.group import Phase
from groupcheck.model.protocol.classic.timers import (
    new_member_timeout,
    rebalance_timeout,
    session_timeout,
    sync_timeout,
)
from groupcheck.oracles.conform.row import Asks, Fires, Memory
from groupcheck.oracles.judge.broker.graph import IDLE, KeptRows
from groupcheck.oracles.judge.broker.profiles import Profile
from groupcheck.oracles.judge.broker.refusals import LOOKS
from groupcheck.oracles.judge.broker.target import Target
from groupcheck.oracles.judge.following import requests
from groupcheck.oracles.judge.following.said import instance
from groupcheck.oracles.judge.report.schedules import Act


def versions_of(target: Target, rows: KeptRows, memory: Memory, given: Asks) -> range:
    """The versions in which a request may be sent to this broker. One that makes members at once,
    whatever the version, is joined so in every version.
    """
    kind, scope = requests.API_OF[type(given.request)], rows.scope
    spoken = target.announced.get(kind.key, range(0))
    newest = kind.newest
    if kind is requests.OFFSET_COMMIT and target.topic_id is None:
        newest = requests.TOPIC_IDS - 1
    known = range(spoken.start, min(spoken.stop, newest + 1))
    if kind is requests.JOIN_GROUP and target.joins_at_once and not scope.two_step:
        return known
    named = instance(memory.seats[given.member], given.member)
    return requests.versions(kind, scope, named, known)


FIELDS = {
    messages.JoinGroup: ("id", "claimed", "owned"),
    messages.SyncGroup: ("id", "generation"),
    messages.Heartbeat: ("id", "generation"),
    messages.LeaveGroup: ("id",),
    messages.OffsetCommit: ("id", "generation", "offset"),
}
REQUESTS = {one.__name__: one for one in FIELDS}


def fields_of(given: Asks, memory: Memory) -> tuple[tuple[str, int], ...]:
    """The fields of a request; its generation as how many generations it is behind."""
    found = []
    for name in FIELDS[type(given.request)]:
        value = getattr(given.request, name)
        found.append((name, memory.core.generation - value if name == "generation" else value))
    return tuple(found)


def asked(act: Act, memory: Memory) -> Asks:
    """The request that an act of a schedule means here."""
    fields = dict(act.fields)
    if "generation" in fields:
        fields["generation"] = memory.core.generation - fields["generation"]
    return Asks(act.member, REQUESTS[act.name](**fields))


def checked(act: Act, profile: Profile, where: str) -> Act:
    """The act, which somebody else has written down. Raises `UserError` if it is none."""
    known = {"look": LOOKS, "ask": REQUESTS}.get(act.kind)
    names = set(dict(act.fields))
    fits = act.kind == "wait" or (known is not None and act.name in known)
    if act.kind == "ask" and fits:
        fits = names == set(FIELDS[REQUESTS[act.name]]) and 0 <= act.member < profile.members
    if not fits:
        raise UserError(
            f"{act.name!r} with {sorted(names)} of member {act.member} is no step of a"
            f" {profile.name} group",
            where=where,
            do="give what `judge broker --json` printed",
        )
    return act


def due(profile: Profile, rows: KeptRows, memory: Memory) -> list[Fires]:
    """The timers that run out next in a group while nobody does anything."""
    if not profile.waits:
        return []
    names = {rebalance_timeout.name, sync_timeout.name}
    if profile.waits == "session":
        names = {session_timeout.name, new_member_timeout.name}
    found = [
        given
        for given in rows.inputs(memory)
        if isinstance(given, Fires)
        and given.rule in names
        and (profile.waits != "session" or given.member == profile.members - 1)
        and not (given.rule == session_timeout.name and _is_parked(memory, given))
        and rows.outcomes(memory, given)
    ]
    # A timer of a round that is over must not run out any more.
    idles = profile.waits == "rebalance" and memory.core.phase == Phase.STABLE
    return found or ([IDLE] if idles else [])


def _is_parked(memory: Memory, given: Fires) -> bool:
    """A request that waits counts as a sign of life."""
    assert given.member is not None and given.id is not None
    seat = memory.seats[given.member][given.id]
    return seat is not None and (seat.join or seat.sync)
