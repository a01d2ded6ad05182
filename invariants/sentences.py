"""What broke, for whom: one sentence for each invariant of the classic group, made from the step
that breaks it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from attrs import frozen

from groupcheck.model.protocol.classic.client import NOTHING, Member
from groupcheck.model.protocol.classic.group import Pass, Phase, is_member
from groupcheck.model.protocol.classic.telling import member
from groupcheck.model.protocol.messages import NO_GENERATION, NO_ID


@frozen
class Broken:
    """The step that breaks an invariant. States are mappings of slot to value, arrays as tuples."""

    before: Mapping[str, Any]
    after: Mapping[str, Any]
    # The indexes of the members concerned; empty where the whole group is.
    who: tuple[int, ...]
    # The index of the member whose step it is; None for one that is nobody's.
    actor: int | None
    scope: Any

    @property
    def one(self) -> int:
        """The index of the first member concerned."""
        return self.who[0]

    @property
    def name(self) -> str:
        """The first member concerned, such as `member A`."""
        return member(self.one)

    @property
    def request(self) -> Any:
        """What the coordinator was asked in this step."""
        return self.before["link"][self.one].request


def answered_at_most_once(b: Broken) -> str:
    request = type(b.after["link"][b.one].answer.request).__name__
    return f"{b.name} gets an answer to a {request} that was already answered or given up"


def members_counted(b: Broken) -> str:
    core, known = b.after["core"], _seats(b)
    members = sum(seat.member for seat in known)
    if core.members != members:
        return _miscounted("members", core.members, members)
    return _miscounted("ids that have not joined yet", core.pending, len(known) - members)


def joins_counted(b: Broken) -> str:
    right = sum(seat.join for seat in _seats(b))
    return _miscounted("members that wait for the round", b.after["core"].parked, right)


def syncs_counted(b: Broken) -> str:
    right = sum(seat.due for seat in _seats(b))
    return _miscounted("members that have not sent SyncGroup", b.after["core"].due, right)


def passed_are_counted(b: Broken) -> str:
    walk, then = b.after["walk"], b.before["walk"]
    now, was = (sum(seat.member for _, seat in s["seats"][b.one]) for s in (b.after, b.before))
    counted, real = walk.change - then.change, now - (0 if then.kind == Pass.RELOAD else was)
    if counted != real:
        done = "removes" if real < 0 else "adds"
        moves = f"changes by {counted}" if counted else "does not change"
        return f"The coordinator {done} {b.name}, but its count of members {moves}"
    return f"The coordinator miscounts the requests of {b.name} that wait or are still to come"


def rounds_are_counted(b: Broken) -> str:
    core, kind = b.after["core"], b.before["walk"].kind
    if kind == Pass.RELOAD:
        return "The coordinator counts requests that came before it loaded the group"
    if core.parked and kind == Pass.COMPLETE:
        return (
            f"Generation {core.generation} has begun, but the coordinator still counts"
            f" {core.parked} JoinGroup{'s' * (core.parked != 1)} as waiting"
        )
    right = core.members if kind == Pass.COMPLETE else 0
    return _miscounted("members that have not sent SyncGroup", core.due, right)


def committed_within_processed(b: Broken) -> str:
    offsets = b.after["offsets"]
    return (
        f"{member(b.actor)} commits offset {offsets.committed} of p{offsets.watched} before record"
        f" {offsets.processed} is processed, so the next owner skips it"
    )


def position_within_processed(b: Broken) -> str:
    offsets = b.after["offsets"]
    return (
        f"{b.name} reads p{offsets.watched} from offset {b.after['client'][b.one].position}, so"
        f" record {offsets.processed}, which nobody has processed, is skipped"
    )


def revocation_pauses(b: Broken) -> str:
    return (
        f"{b.name} processes a record of p{b.after['offsets'].watched} after its last commit, so"
        " the next owner processes it again"
    )


def heartbeat_fenced(b: Broken) -> str:
    return f"The coordinator accepts a heartbeat from {_outsider(b)}"


def round_announced(b: Broken) -> str:
    return f"{b.name} sends a heartbeat and is not told that the group is rebalancing"


def sync_fenced(b: Broken) -> str:
    return f"The coordinator accepts a SyncGroup from {_outsider(b)}"


def commit_fenced(b: Broken) -> str:
    return f"The coordinator accepts a commit from {_outsider(b)}"


def commits_wait_for_sync(b: Broken) -> str:
    return (
        f"The coordinator accepts a commit from {b.name} while generation"
        f" {b.before['core'].generation} waits for its assignment"
    )


def leader_is_a_member(b: Broken) -> str:
    seats = b.after["seats"][b.one]
    if not is_member(seats[seats.leader]):
        return f"{b.name} leads the group but is no longer a member of it"
    if not b.after["core"].led:
        return f"The coordinator has forgotten that {b.name} leads the group"
    return f"The coordinator waits with {b.name}, the leader, whose JoinGroup is not there"


def elected_is_a_member(b: Broken) -> str:
    return f"{b.name} leads the group but is not a member of it"


def generation_is_led(b: Broken) -> str:
    return (
        f"Generation {b.after['core'].generation} waits for an assignment, but has no leader to"
        " send one"
    )


def generation_only_grows(b: Broken) -> str:
    was, now = b.before["core"], b.after["core"]
    if now.generation < was.generation:
        return f"The generation falls from {was.generation} to {now.generation}"
    if now.generation > was.generation + 1:
        return f"The generation jumps from {was.generation} to {now.generation}"
    return f"Generation {now.durable[0]} is written to the log after generation {was.durable[0]}"


def size_cap(b: Broken) -> str:
    return (
        f"The group has {b.after['core'].members} members, but group.max.size is {b.scope.max_size}"
    )


def id_before_membership(b: Broken) -> str:
    return (
        f"{b.name} becomes a member without a member id, so each retry of its JoinGroup adds"
        " another member"
    )


def joined_with_identity(b: Broken) -> str:
    client = b.after["client"][b.one]
    does = (
        "believes that it has joined"
        if client.state in (Member.COMPLETING, Member.STABLE)
        else f"is about to take over {partitions(client.granted)}"
    )
    lost = [
        word
        for word, gone in (
            ("member id", client.id == NO_ID),
            ("generation", client.generation == NO_GENERATION),
        )
        if gone
    ]
    return f"{b.name} {does}, but has forgotten its {' and '.join(lost)}"


def one_owner(b: Broken) -> str:
    shares = [
        (i, seat.share) for i, mine in enumerate(b.after["seats"]) if i in b.who for _, seat in mine
    ]
    for k, (i, share) in enumerate(shares):
        for j, other in shares[:k]:
            if twice := share & other:
                both = f"{member(j)} and {member(i)}" if i != j else f"two ids of {member(i)}"
                return f"{both} are both assigned {partitions(twice)}"
    raise AssertionError("no partition is assigned twice")


def hand_off(b: Broken) -> str:
    was, now = b.before["client"], b.after["client"]
    both = now[b.who[0]].owned & now[b.who[1]].owned
    # Whoever owned it before this step is the one that should have given it up.
    first, second = sorted(b.who, key=lambda i: not was[i].owned & both)
    if was[second].owned & both or not was[first].owned & both:
        return f"{member(first)} and {member(second)} both own {partitions(both)}"
    it = "it" if both.bit_count() == 1 else "them"
    return f"{member(first)} still owns {partitions(both)} when {member(second)} gets {it}"


def views_agree(b: Broken) -> str:
    client = b.after["client"][b.one]
    owned = client.owned if client.granted == NOTHING else client.granted
    share = b.after["seats"][b.one][client.id].share
    return (
        f"{b.name} was assigned {partitions(share)}, but believes that it owns {partitions(owned)}"
    )


def position_needs_ownership(b: Broken) -> str:
    p = b.after["offsets"].watched
    return f"{b.name} has given up p{p}, but still has a position in it"


def timer_runs(b: Broken) -> str:
    watched = next(s for _, s in b.after["seats"][b.one] if not s.armed and (s.new or not s.join))
    if watched.member:
        return f"No timer runs for {b.name}, so the group keeps it for ever if it crashes"
    return (
        f"No timer runs for the id that {b.name} was given, so the group waits for ever if nobody"
        " uses it"
    )


def sync_deadline_runs(b: Broken) -> str:
    late = [i for i, mine in enumerate(b.after["seats"]) if any(seat.due for _, seat in mine)]
    return f"The group waits for the SyncGroup of {_and(map(member, late))}, and no timer ends it"


def new_only_while_parked(b: Broken) -> str:
    return (
        f"The five-minute timer of a new member still runs for {b.name} after its first round, and"
        " heartbeats do not stop it"
    )


def full_rounds_complete(b: Broken) -> str:
    waiting = [i for i, mine in enumerate(b.after["seats"]) if any(seat.join for _, seat in mine)]
    if not waiting:
        return "The coordinator does not complete a round although there is nobody to wait for"
    keeps = "keeps" if len(waiting) == 1 else "keep"
    return (
        f"{_and(map(member, waiting))} {keeps} waiting although everybody has joined, because the"
        " coordinator does not complete the round"
    )


def parked_in_their_phase(b: Broken) -> str:
    phase = b.after["core"].phase
    joins = phase != Phase.PREPARING and any(seat.join for _, seat in b.after["seats"][b.one])
    api = "JoinGroup" if joins else "SyncGroup"
    return f"{b.name} still waits for the answer to its {api}, but the group is {phase}"


def parked_is_remembered(b: Broken) -> str:
    api = type(b.after["link"][b.one].parked).__name__
    return f"{b.name} waits for the answer to its {api}, which the coordinator has forgotten"


def partitions(mask: int) -> str:
    """`p0 and p2` for the bits 0 and 2."""
    return _and(f"p{k}" for k in range(mask.bit_length()) if mask >> k & 1) or "no partition"


def _and(names: Iterable[str]) -> str:
    *most, last = [*names] or [""]
    return f"{', '.join(most)} and {last}" if most else last


def _seats(b: Broken) -> list[Any]:
    """What the coordinator knows of every id."""
    return [seat for mine in b.after["seats"] for _, seat in mine]


def _miscounted(what: str, counted: int, right: int) -> str:
    return f"The coordinator's count of {what} is {counted}, but should be {right}"


def _outsider(b: Broken) -> str:
    """Whose request it is, and why it is not current."""
    if not is_member(b.before["seats"][b.one][b.request.id]):
        return f"{b.name}, which is not a member of the group"
    group = b.before["core"].generation
    return (
        f"{b.name} in generation {b.request.generation}, while the group is in generation {group}"
    )


# Invariant -> its sentence, without the full stop.
SENTENCES: Mapping[str, Callable[[Broken], str]] = {
    sentence.__name__: sentence
    for sentence in (
        answered_at_most_once,
        members_counted,
        joins_counted,
        syncs_counted,
        passed_are_counted,
        rounds_are_counted,
        committed_within_processed,
        position_within_processed,
        revocation_pauses,
        heartbeat_fenced,
        round_announced,
        sync_fenced,
        commit_fenced,
        commits_wait_for_sync,
        leader_is_a_member,
        elected_is_a_member,
        generation_is_led,
        generation_only_grows,
        size_cap,
        id_before_membership,
        joined_with_identity,
        one_owner,
        hand_off,
        views_agree,
        position_needs_ownership,
        timer_runs,
        sync_deadline_runs,
        new_only_while_parked,
        full_rounds_complete,
        parked_in_their_phase,
        parked_is_remembered,
    )
}


def sentence(invariant: str, broken: Broken) -> str:
    """What broke, for whom, as a sentence. Raises `KeyError` for an invariant that has none."""
    words = SENTENCES[invariant](broken)
    return f"{words[:1].upper()}{words[1:]}."
