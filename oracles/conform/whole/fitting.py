"""Compares what the real group shows with a state of the model: the coordinator's memory, every
member, every connection, the committed offset.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from groupcheck.model.protocol.classic.client import NOTHING, Client, Member, Prepare
from groupcheck.model.protocol.classic.group import Core, Phase, Seat, Seats
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.messages import NO_ID
from groupcheck.oracles.conform.whole.model import Following, Guess

Look = Mapping[str, Any]
OF_THE_GROUP = ("join-g", "sync-g", "heartbeat-g-")
OWN = ("heartbeat-g-", "session")


def sync_waits(member: Look) -> bool:
    """Is SyncGroup the next thing that the coordinator reads of the member?"""
    if member["outstanding"] is not None:
        return False
    unread = member["unread"]
    return "SyncGroup" in member["unsent"] or bool(unread and unread[0]["api"] == "SyncGroup")


def share(partitions: Mapping[str, list[int]] | None) -> int:
    """Partitions as a bit mask."""
    return sum(1 << p for p in (partitions or {}).get("t", ()))


def misfits(model: Following, guess: Guess, look: Look) -> Iterator[str]:
    """Everything that differs from the state of the model."""
    names = dict(guess.names)
    for what, expected, seen in _pairs(model, guess, look, names):
        if expected != seen:
            yield f"{what} is {_shown(seen)}, in the model {_shown(expected)}"


def _shown(value: Any) -> str:
    if isinstance(value, (set, frozenset)):
        return "{" + ", ".join(sorted(map(str, value))) + "}"
    return str(value)


Pairs = Iterator[tuple[str, Any, Any]]


def _pairs(
    model: Following, guess: Guess, look: Look, names: Mapping[tuple[int, int], str]
) -> Pairs:
    count = model.scope.members
    core = model.slot(guess, "core")
    seats = [model.slot(guess, "seats", i) for i in range(count)]
    yield from _group(core, seats, look["group"], names)
    for i in range(count):
        client = model.slot(guess, "client", i)
        link = model.slot(guess, "link", i)
        for what, expected, seen in _member(i, client, link, look["members"][i], names):
            yield f"member {i}: {what}", expected, seen
    yield "committed offset", model.slot(guess, "offsets").committed, max(0, look["committed"])


def _group(
    core: Core, seats: list[Seats], real: Look, names: Mapping[tuple[int, int], str]
) -> Pairs:
    known = {names[i, id]: seat for i, mine in enumerate(seats) for id, seat in mine}
    if real["kind"] != "classic":
        yield "group", (Phase.EMPTY, 0, {}), (core.phase, core.generation, known)
        return
    yield "state", STATES[core.phase], real["state"]
    yield "generation", core.generation, real["generation"]
    leader = next((names[i, s.leader] for i, s in enumerate(seats) if s.leader is not None), None)
    yield "leader", leader, real["leader"]
    pending = {name for name, seat in known.items() if not seat.member}
    yield "ids handed out", pending, set(real["pendingJoin"])
    yield "members", set(known) - pending, {m["member"] for m in real["members"]}
    due = {name for name, seat in known.items() if seat.due}
    yield "pending SyncGroups", due, set(real["pendingSync"])
    for there in real["members"]:
        if seat := known.get(there["member"]):
            for what, expected, seen in _seat(core, seat, there):
                yield f"{what} of {there['member']}", expected, seen
    yield "timers", _timers(core, known), _armed(real["timers"])


STATES = {
    Phase.EMPTY: "Empty",
    Phase.PREPARING: "PreparingRebalance",
    Phase.COMPLETING: "CompletingRebalance",
    Phase.STABLE: "Stable",
}


def _seat(core: Core, seat: Seat, real: Look) -> Pairs:
    yield "parked JoinGroup", seat.join, real["awaitingJoin"]
    yield "parked SyncGroup", seat.sync, real["awaitingSync"]
    yield "newness", seat.new, real["new"]
    if core.phase == Phase.STABLE:
        yield "assignment", seat.share, share(real["assigned"])
    if seat.join or core.phase != Phase.PREPARING:
        yield "claimed generation", seat.claimed, real["protocols"][0]["ownedGeneration"]


def _timers(core: Core, known: Mapping[str, Seat]) -> set[str]:
    timers = {f"heartbeat-g-{name}" for name, seat in known.items() if seat.armed}
    if core.phase == Phase.PREPARING:
        timers.add("join-g")
    if core.deadline:
        timers.add("sync-g")
    return timers


def _armed(timers: Mapping[str, int]) -> set[str]:
    return {key for key in timers if key.startswith(OF_THE_GROUP)}


def _member(
    i: int, client: Client, link: Link, real: Look, names: Mapping[tuple[int, int], str]
) -> Pairs:
    yield "closing", client.closing, real["closing"]
    yield "stopped", bool(client.failed), bool(real["failed"])
    waits = link.parked and type(link.parked).__name__
    outstanding = real["outstanding"]
    yield "request that waits", waits, outstanding and outstanding["api"]
    late = link.late and type(link.late).__name__
    yield "late request", late, real["late"]
    syncs = sync_waits(real)
    unread = [r["api"] for r in real["unread"]][syncs and "SyncGroup" not in real["unsent"] :]
    yield "requests not read", [type(r).__name__ for r in link.queue], unread
    if client.closing or client.failed:
        return
    yield "state", str(client.state), real["state"]
    yield "generation", client.generation, real["generation"]
    yield "id", "" if client.id == NO_ID else names.get((i, client.id)), real["member"]
    yield "partitions", client.owned, share(real["owned"])
    yield "position", client.position, int(real["positions"].get("t", {}).get("0", -1))
    if client.state == Member.STABLE:
        yield "told to rejoin", client.rejoin, real["rejoin"]
    waiting = client.granted != NOTHING
    yield "onJoinComplete waits", waiting, real["state"] == "STABLE" and real["joining"]
    if not waiting:
        yield "prepare", _coarse(client, client.prepare), _coarse(client, _prepare(real, syncs))


def _coarse(client: Client, prepare: Prepare) -> Prepare:
    """A commit before joining counts only while the member is STABLE. A member that has left, owns
    nothing and waits for an answer has nothing to prepare: Kafka's runs onJoinPrepare all the same.
    """
    if client.state == Member.STABLE:
        return prepare
    gone = client.state == Member.UNJOINED and not client.owned
    return Prepare.NEEDED if prepare == Prepare.COMMITTED or gone else prepare


def _prepare(real: Look, syncs: bool) -> Prepare:
    """How far the poll thread has come in a round."""
    if syncs:
        return Prepare.SYNC
    if not real["prepare"]:
        return Prepare.DONE
    over = real["timers"].get("joinPrepare") == 0
    if real["committing"] in ("done", "failed") or (over and real["committing"] != "none"):
        return Prepare.COMMITTED
    return Prepare.NEEDED
