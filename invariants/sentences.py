"""The sentences that say what broke, and for whom: one sentence for each promise, made from the
step that breaks it. It stands at the promise, as a template (`@invariant(broken=...)`) with the
values of `VALUES`; `SENTENCES` has those that need more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from attrs import frozen

from groupcheck.model.protocol.classic.client import NOTHING, Member
from groupcheck.model.protocol.classic.failover import Reload
from groupcheck.model.protocol.classic.features.triggers.settings import max_size
from groupcheck.model.protocol.classic.group import Phase, Recount, is_member
from groupcheck.model.protocol.classic.rounds import Complete
from groupcheck.model.protocol.classic.step_words import member, partitions
from groupcheck.model.protocol.messages import NO_GENERATION, NO_ID


@frozen
class Broken:
    """The step that breaks an invariant. States are mappings of slot to value, arrays as tuples."""

    before: Mapping[str, Any]
    after: Mapping[str, Any]
    # The indexes of the members concerned; empty if the whole group is concerned.
    who: tuple[int, ...]
    # The index of the member that takes the step; None if no member does.
    actor: int | None
    scope: Any

    def of(self, slot: str) -> Any:
        """The value of an array's slot after the step, of the first member concerned."""
        return self.after[slot][self.who[0]]


class Values:
    """The values that a template of a promise may name (`broken`), each made when it is asked for:
    not every protocol has all of them. Without a member concerned, those about it are empty.
    """

    def __init__(self, broken: Broken) -> None:
        self._broken = broken

    def __getitem__(self, name: str) -> Any:
        if name in OF_THE_FIRST and not self._broken.who:
            return ""
        return VALUES[name](self._broken)


def _link(b: Broken) -> Any:
    return b.of("link")


VALUES: Mapping[str, Callable[[Broken], Any]] = {
    # After the step.
    "core": lambda b: b.after["core"],
    "offsets": lambda b: b.after["offsets"],
    "copy": lambda b: b.after["copy"],
    # Before it.
    "was": lambda b: b.before["offsets"],
    "scope": lambda b: b.scope,
    "waiting": lambda b: sum(seat.join for _, seat in _seats(b)),
    "due": lambda b: sum(seat.due for _, seat in _seats(b)),
    "late": lambda b: _and(dict.fromkeys(member(i) for i, seat in _seats(b) if seat.due)),
    # The member that takes the step.
    "actor": lambda b: "" if b.actor is None else member(b.actor),
    # The first member concerned, and the last one.
    "name": lambda b: member(b.who[0]),
    "other": lambda b: member(b.who[-1]),
    "client": lambda b: b.of("client"),
    "parked": lambda b: type(_link(b).parked).__name__,
    "answered": lambda b: type(_link(b).answer.request).__name__ if _link(b).answer else "",
    "outsider": lambda b: _outsider(b),
    "gone": lambda b: partitions(b.before["client"][b.who[0]].owned & ~b.of("client").owned),
    "owned": lambda b: partitions(b.of("client").owned),
    "claims": lambda b: partitions(getattr(_link(b).parked, "owned", 0)),
    # Partitions of a producer (`sticky_partitioner`).
    "partition": lambda b: f"p{b.who[0]}" if b.who else "a partition",
    "got": lambda b: _and(f"p{i} has got {b.after['part'][i].got}" for i in b.who),
    "left": lambda b: b.after["producer"].left,
}
# Those that speak of the members concerned.
OF_THE_FIRST = frozenset("name other client parked answered outsider gone owned claims".split())


def _outsider(b: Broken) -> str:
    """Whose request is handled, and why it is not current."""
    name, core = member(b.who[0]), b.before["core"]
    request = b.before["link"][b.who[0]].request
    if request is None or not is_member(b.before["seats"][b.who[0]][request.id]):
        return f"{name}, which is not a member of the group"
    generation = getattr(request, "generation", NO_GENERATION)
    return f"{name} in generation {generation}, while the group is in generation {core.generation}"


def members_counted(b: Broken) -> str:
    core, known = b.after["core"], _seats(b)
    members = sum(seat.member for _, seat in known)
    what, counted, right = "ids that have not joined yet", core.pending, len(known) - members
    if core.members != members:
        what, counted, right = "members", core.members, members
    return f"The coordinator's count of {what} is {counted}, but should be {right}"


def passed_are_counted(b: Broken) -> str:
    errand, then = b.after["walk"].errand, b.before["walk"].errand
    now, was = (sum(s.member for _, s in x["seats"][b.who[0]]) for x in (b.after, b.before))
    counted = errand.change - then.change if isinstance(then, Recount) else 0
    real = now - (0 if isinstance(then, Reload) else was)
    name = member(b.who[0])
    if counted == real:
        return f"The coordinator miscounts the requests of {name} that wait or are still to come"
    moves = f"changes by {counted}" if counted else "does not change"
    done = "removes" if real < 0 else "adds"
    return f"The coordinator {done} {name}, but its count of members {moves}"


def rounds_are_counted(b: Broken) -> str:
    core, complete = b.after["core"], isinstance(b.before["walk"].errand, Complete)
    if complete and core.parked:
        return (
            f"Generation {core.generation} has begun, but the coordinator still counts"
            f" {core.parked} JoinGroup{'s' * (core.parked != 1)} as waiting"
        )
    return (
        f"The coordinator counts {core.due} members that have not sent SyncGroup, but"
        f" {core.members if complete else 0} is right"
    )


def leader_is_a_member(b: Broken) -> str:
    seats, name = b.of("seats"), member(b.who[0])
    if not is_member(seats[seats.leader]):
        return f"{name} leads the group but is no longer a member of it"
    return f"The coordinator is wrong about {name}, the leader, or about its JoinGroup"


def generation_only_grows(b: Broken) -> str:
    was, now = b.before["core"], b.after["core"]
    if now.generation - was.generation not in (0, 1):
        moves = "falls" if now.generation < was.generation else "jumps"
        return f"The generation {moves} from {was.generation} to {now.generation}"
    return f"Generation {now.durable[0]} is written to the log after generation {was.durable[0]}"


def joined_with_identity(b: Broken) -> str:
    client = b.of("client")
    does = (
        "believes that it has joined"
        if client.state in (Member.COMPLETING, Member.STABLE)
        else f"is about to take over {partitions(client.granted)}"
    )
    lost = ["member id"] * (client.id == NO_ID)
    lost += ["generation"] * (client.generation == NO_GENERATION)
    return f"{member(b.who[0])} {does}, but has forgotten its {_and(lost)}"


def one_owner(b: Broken) -> str:
    shares = [(i, seat.share) for i, seat in _seats(b) if i in b.who]
    i, j, twice = next(
        (i, j, share & other)
        for k, (j, other) in enumerate(shares)
        for i, share in shares[:k]
        if share & other
    )
    both = f"{member(i)} and {member(j)}" if i != j else f"two ids of {member(i)}"
    return f"{both} are both assigned {partitions(twice)}"


def hand_off(b: Broken) -> str:
    was, now = b.before["client"], b.after["client"]
    both = now[b.who[0]].owned & now[b.who[1]].owned
    # Who owned it before this step should have given it up.
    first, second = sorted(b.who, key=lambda i: not was[i].owned & both)
    if was[second].owned & both or not was[first].owned & both:
        return f"{member(first)} and {member(second)} both own {partitions(both)}"
    it = "it" if both.bit_count() == 1 else "them"
    return f"{member(first)} still owns {partitions(both)} when {member(second)} gets {it}"


def views_agree(b: Broken) -> str:
    client = b.of("client")
    owned = client.owned if client.granted == NOTHING else client.granted
    share = b.of("seats")[client.id].share
    return (
        f"{member(b.who[0])} was assigned {partitions(share)}, but believes that it owns"
        f" {partitions(owned)}"
    )


def timer_runs(b: Broken) -> str:
    name = member(b.who[0])
    if next(s for _, s in b.of("seats") if not s.armed and (s.new or not s.join)).member:
        return f"No timer runs for {name}, so the group keeps it for ever if it crashes"
    return (
        f"No timer runs for the id that {name} was given, so the group waits for ever if nobody"
        " uses it"
    )


def full_rounds_complete(b: Broken) -> str:
    waiting = list(dict.fromkeys(member(i) for i, seat in _seats(b) if seat.join))
    if not waiting:
        return "Nobody is left to wait for, but the coordinator does not complete the round"
    keeps = "keeps" if len(waiting) == 1 else "keep"
    return (
        f"{_and(waiting)} {keeps} waiting although everybody has joined, because the coordinator"
        " does not complete the round"
    )


def parked_in_their_phase(b: Broken) -> str:
    phase = b.after["core"].phase
    joins = phase != Phase.PREPARING and any(seat.join for _, seat in b.of("seats"))
    api = "JoinGroup" if joins else "SyncGroup"
    return f"{member(b.who[0])} still waits for the answer to its {api}, but the group is {phase}"


def assigned_as_subscribed(b: Broken) -> str:
    strange = 0
    for _, seat in b.of("seats"):
        strange |= seat.share & ~b.scope.partitions_of(seat.topics)
    name = member(b.who[0])
    return f"{name} is given {partitions(strange)}, whose topic its JoinGroup does not name"


def planned_as_subscribed(b: Broken) -> str:
    return assigned_as_subscribed(b)


def owned_as_joined(b: Broken) -> str:
    joined = b.scope.partitions_of(b.of("subscription").joined or 0)
    strange = partitions(b.of("client").owned & ~joined)
    return f"{member(b.who[0])} owns {strange}, whose topic its last JoinGroup did not name"


def taken_as_subscribed(b: Broken) -> str:
    taken = b.of("client").owned & ~b.before["client"][b.who[0]].owned
    strange = partitions(taken & ~b.scope.partitions_of(b.of("subscription").topics))
    return f"{member(b.who[0])} takes over {strange}, to whose topic it no longer subscribes"


def plan_covers_what_is_known(b: Broken) -> str:
    left = partitions(b.before["walk"].errand.free)
    return f"The leader's plan gives {left} to nobody, although a member subscribes to the topic"


def lowered_size_cap(b: Broken) -> str:
    core = b.after["core"]
    size = max_size(core, b.scope)
    return f"The group has {core.members} members, but group.max.size was lowered to {size}"


# Invariant -> the function that makes its sentence, where no template can.
# Promise -> what makes its sentence, where a template cannot.
SENTENCES: Mapping[str, Callable[[Broken], str]] = {
    "one_process_at_work": hand_off,
    "cooperative_owners_apart": hand_off,
    **{
        make.__name__: make
        for make in (
            members_counted,
            passed_are_counted,
            rounds_are_counted,
            leader_is_a_member,
            generation_only_grows,
            joined_with_identity,
            one_owner,
            hand_off,
            views_agree,
            timer_runs,
            full_rounds_complete,
            parked_in_their_phase,
            assigned_as_subscribed,
            planned_as_subscribed,
            owned_as_joined,
            taken_as_subscribed,
            plan_covers_what_is_known,
            lowered_size_cap,
        )
    },
}


def filled_in(template: str, b: Broken) -> str:
    """The template of a promise (`broken`) with the values of the step that breaks it."""
    return template.format_map(Values(b))


def as_sentence(words: str) -> str:
    """The words with a capital letter and a full stop."""
    return f"{words[:1].upper()}{words[1:]}."


def _and(names: Iterable[str]) -> str:
    *most, last = [*names] or [""]
    return f"{', '.join(most)} and {last}" if most else last


def _seats(b: Broken) -> list[tuple[int, Any]]:
    """(index of the process, what the coordinator knows) of every id."""
    return [(i, seat) for i, mine in enumerate(b.after["seats"]) for _, seat in mine]
