"""What broke, for whom: one sentence for each invariant of the classic group, made from the step
that breaks it.
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
from groupcheck.model.protocol.classic.telling import member, partitions
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


# Invariant -> template of its sentence, filled in with `_values`.
TEMPLATES = {
    "transactions_fenced": "The coordinator accepts a transactional commit from {outsider}",
    "transactions_by_members": "The coordinator accepts a transactional commit from anybody",
    "outsiders_commit_to_empty_groups": (
        "The coordinator accepts a commit from outside while the group is {core.phase}"
    ),
    "commits_survive_fail_overs": (
        "After the fail-over the committed offset is {offsets.committed}, and not"
        " {was.committed} as before"
    ),
    "unstable_offsets_are_not_returned": (
        "{name} is told an offset that an open transaction may replace"
    ),
    "aborted_offsets_never_show": (
        "{name} has aborted its transaction, whose offset {offsets.committed} is committed"
    ),
    "newer_commits_win": (
        "The transaction of {name} replaces offset {was.committed}, which was committed after its"
        " own, by {offsets.committed}"
    ),
    "pending_offsets_counted": (
        "The coordinator counts {offsets.pending} pending offsets, which is not how many there are"
    ),
    "delivered_once": (
        "{name} commits a transaction with a record that another committed transaction holds"
    ),
    "delivered_once_by_anybody": (
        "{name} commits a transaction with a record that another committed transaction holds"
    ),
    "committed_within_delivered": (
        "Offset {offsets.committed} of p{offsets.watched} is committed, but record"
        " {offsets.delivered} is in no committed transaction"
    ),
    "deleted_groups_keep_nothing": "The group is deleted, and something of it stays",
    "live_offsets_stay": (
        "The committed offset {was.committed} is gone while the group is {core.phase} and has"
        " members"
    ),
    "joining_offsets_stay": (
        "The committed offset {was.committed} is deleted while members join the group"
    ),
    "pending_offsets_stay": "An offset expires that an open transaction is about to replace",
    "refusals_change_nothing": "A request is refused, and changes the group all the same",
    "groups_fail_apart": "An Empty group is not deleted, because another one has members",
    "nothing_skipped": (
        "{name} starts p{offsets.watched} at {client.position}, so record {offsets.processed},"
        " which nobody has processed, is skipped"
    ),
    "bounces_cost_nothing": "{name} comes back, and its share does not simply stay where it is",
    "one_record_at_risk": (
        "{name} begins another record while only {offsets.committed} are committed, although"
        " commitSync has thrown nothing"
    ),
    "nothing_uncommitted": (
        "{name} begins another record of p{offsets.watched} while {offsets.committed} are committed"
    ),
    "calls_hold_the_thread": "{name} joins again while its application waits in commitSync",
    "close_commits": "{actor} closes and leaves, and has not committed what it has processed",
    "same_join_starts_no_round": (
        "{name} sends the JoinGroup that it has sent before, and a round starts"
    ),
    "commits_by_owners": "The coordinator accepts a commit of {name}, which has no partition",
    "offsets_only_grow": "The committed offset of p{offsets.watched} falls to {offsets.committed}",
    "answered_at_most_once": (
        "{name} gets an answer to a {answered} that was already answered or given up"
    ),
    "joins_counted": (
        "The coordinator's count of members that wait for the round is {core.parked}, but should be"
        " {waiting}"
    ),
    "syncs_counted": (
        "The coordinator's count of members that have not sent SyncGroup is {core.due}, but should"
        " be {due}"
    ),
    "committed_within_processed": (
        "{actor} commits offset {offsets.committed} of p{offsets.watched} before record"
        " {offsets.processed} is processed, so the next owner skips it"
    ),
    "position_within_processed": (
        "{name} reads p{offsets.watched} from offset {client.position}, so record"
        " {offsets.processed}, which nobody has processed, is skipped"
    ),
    "revocation_pauses": (
        "{name} processes a record of p{offsets.watched} after its last commit, so the next owner"
        " processes it again"
    ),
    "heartbeat_fenced": "The coordinator accepts a heartbeat from {outsider}",
    "round_announced": "{name} sends a heartbeat and is not told that the group is rebalancing",
    "sync_fenced": "The coordinator accepts a SyncGroup from {outsider}",
    "commit_fenced": "The coordinator accepts a commit from {outsider}",
    "commits_wait_for_sync": (
        "The coordinator accepts a commit from {name} while generation {core.generation} waits for"
        " its assignment"
    ),
    "elected_is_a_member": "{name} leads the group but is not a member of it",
    "generation_is_led": (
        "Generation {core.generation} waits for an assignment, but has no leader to send one"
    ),
    "size_cap": "The group has {core.members} members, but group.max.size is {scope.max_size}",
    "id_before_membership": (
        "{name} becomes a member without a member id, so each retry of its JoinGroup adds another"
        " member"
    ),
    "position_needs_ownership": (
        "{name} has given up p{offsets.watched}, but still has a position in it"
    ),
    "sync_deadline_runs": (
        "The group waits for the SyncGroup of {late}, and no timer ends the waiting"
    ),
    "new_only_while_parked": (
        "The five-minute timer of a new member still runs for {name} after its first round, and"
        " heartbeats do not stop it"
    ),
    "one_id_per_instance": "The instance id of {name} belongs to two member ids",
    "restart_moves_nothing": "{name} comes back to a Stable group, and its share is not its own",
    "takeover_gives_a_new_id": "{name} comes back and is given an id that its instance has had",
    "takeover_restarts_the_round": (
        "{name} comes back with a new id, and the assignment that the leader computes is for the"
        " old one"
    ),
    "restarted_leader_leads": "{name} has led the group, and does not lead it after its restart",
    "replaced_id_fenced": (
        "{name} sends a request, and its answer does not tell whether another process has taken its"
        " place"
    ),
    "absent_members_stay": "{name} is a static member, and the round is completed without it",
    "one_more_round": (
        "The group completes a round, and has completed two since the one that the last change made"
    ),
    "joins_as_its_protocol_says": (
        "{name} sends JoinGroup, and what it owns is not what its rebalance protocol says"
    ),
    "twins_share_one_id": ("{name} and another process have one instance id, and both are members"),
    "absent_dynamic_members_go": (
        "{name} is a dynamic member that has not joined, and the round keeps it"
    ),
    "static_joins_at_once": "{name} is a static member, and is told to come again with an id",
    "leader_watches_topics": "{name} leads the group and does not watch its topics",
    "takeover_is_durable": "{name} is told its new id, which a fail-over would not find",
    "joining_keeps": ("{name} gives up {gone} to join again, although it may keep what it owns"),
    "reset_only_when_refused": (
        "{name} forgets its generation, although it was only told that a round goes on, and will"
        " lose what it owns"
    ),
    "revoked_joins_again": (
        "{name} has revoked {gone} and does not join again, so nobody gets what it has given up"
    ),
    "lost_claims_nothing": (
        "{name} joins without a generation, but claims partitions that it has lost"
    ),
    "revokes_before_joining": (
        "{name} joins again while its onPartitionsRevoked still runs, and it still owns {owned}"
    ),
    "callback_commits_as_member": (
        "{actor} commits from onPartitionsRevoked with a generation that it is not in, so the"
        " commit is refused"
    ),
    "claims_are_true": ("{name} owns {owned}, but says in its JoinGroup that it owns {claims}"),
    "claims_hinder_no_plan": "the leader makes no plan, because of what members claim",
    "latest_claim_counts": "the plan gives a partition to a member that is not its latest owner",
    "first_round_waits": "the first round of the group does not wait for its initial delay",
    "rounds_wait_for_members": "a round completes before {core.members} members could join",
    "id_survives_disconnect": "{name} forgets its member id because its connection broke",
    "commits_once_before_joining": "{name} has committed before it joins, and will do so again",
    "refusal_ends_membership": "{name} is told that it is out of the group, and goes on",
    "stops_joining_only_if_refused": "{name} has sent JoinGroup, and does not try again",
    "change_is_remembered": (
        "{name} does not join again, although its subscription or the topics have changed since it"
        " joined"
    ),
    "loaded_as_logged": (
        "The new coordinator has loaded something else of {name} than the last group record says"
    ),
    "loading_serves_nobody": (
        "{name} is answered by a coordinator that has not loaded the group yet, as if it had"
    ),
    "unload_sends_away": (
        "{name} waits for an answer, the group is unloaded, and {name} is not sent to the next"
        " coordinator"
    ),
    "former_writes_nothing": (
        "The former coordinator accepts a commit of {name}, although the log is not its own any"
        " more"
    ),
    "shares_told_are_logged": "{name} is told a share that a fail-over would not find",
    "parked_is_remembered": (
        "{name} waits for the answer to its {parked}, which the coordinator has forgotten"
    ),
}


def _values(b: Broken) -> dict[str, Any]:
    """The values that templates use, after the step. `name` and `client` belong to the first member
    concerned; `actor` is the member that takes the step.
    """
    values: dict[str, Any] = {
        "core": b.after["core"],
        "offsets": b.after["offsets"],
        "was": b.before["offsets"],
        "scope": b.scope,
        "waiting": sum(seat.join for _, seat in _seats(b)),
        "due": sum(seat.due for _, seat in _seats(b)),
        "late": _and(dict.fromkeys(member(i) for i, seat in _seats(b) if seat.due)),
        "actor": "" if b.actor is None else member(b.actor),
    }
    if b.who:
        link = b.of("link")
        values |= {
            "name": member(b.who[0]),
            "other": member(b.who[-1]),
            "client": b.of("client"),
            "parked": type(link.parked).__name__,
            "answered": type(link.answer.request).__name__ if link.answer else "",
            "outsider": _outsider(b),
            "gone": partitions(b.before["client"][b.who[0]].owned & ~b.of("client").owned),
            "owned": partitions(b.of("client").owned),
            "claims": partitions(getattr(link.parked, "owned", 0)),
        }
    return values


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
FUNCTIONS: Mapping[str, Callable[[Broken], str]] = {
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
SENTENCES = frozenset({*TEMPLATES, *FUNCTIONS})


def sentence_of(invariant: str, b: Broken) -> str:
    """What broke, for whom. The invariant is one of `SENTENCES`."""
    make = FUNCTIONS.get(invariant)
    words = make(b) if make else TEMPLATES[invariant].format_map(_values(b))
    return as_sentence(words)


def as_sentence(words: str) -> str:
    """The words with a capital letter and a full stop."""
    return f"{words[:1].upper()}{words[1:]}."


def _and(names: Iterable[str]) -> str:
    *most, last = [*names] or [""]
    return f"{', '.join(most)} and {last}" if most else last


def _seats(b: Broken) -> list[tuple[int, Any]]:
    """(index of the process, what the coordinator knows) of every id."""
    return [(i, seat) for i, mine in enumerate(b.after["seats"]) for _, seat in mine]
