"""Steps of the classic protocol in words: what a member or the coordinator does, and what follows
from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Literal, get_args

from attrs import evolve, field, fields, frozen

from groupcheck.model.engine.verdict import Firing, Step
from groupcheck.model.protocol.classic.client import NOTHING, Prepare
from groupcheck.model.protocol.codes import name_of
from groupcheck.model.protocol.messages import Request

COORDINATOR = "coordinator"
THE_COORDINATOR = "the coordinator"


def member(me: int | None) -> str:
    """`member A` for index 0."""
    assert me is not None
    letters = ""
    number = me + 1
    while number:
        number, digit = divmod(number - 1, 26)
        letters = chr(65 + digit) + letters
    return f"member {letters}"


# What the first rule of a step does: rule (or rule:label) -> words after the subject.
DOES = {
    "start": "starts and sends JoinGroup",
    "hang": "stops polling for good, while its heartbeat thread goes on",
    "send_join:committed_first": "commits before it gives up its partitions to join again",
    "send_join:sent": "sends JoinGroup",
    "send_sync": "sends SyncGroup",
    "send_commit": "commits",
    "send_heartbeat": "sends a heartbeat",
    "join_complete": "takes over its partitions",
    "request_timeout": "stops waiting for an answer and connects again",
    "fetch_offset": "fetches the committed offset",
    "process_record": "processes the next record",
    "crash": "crashes",
    "close:heard": "closes and sends LeaveGroup",
    "close:behind": "closes, and its LeaveGroup waits behind the parked request",
    "close:unheard": "closes, but its LeaveGroup never arrives",
    "poll_timeout:heard": (
        "does not poll in time: its heartbeat thread sends LeaveGroup, but the application still"
        " holds its partitions"
    ),
    "poll_timeout:unheard": (
        "does not poll in time: its heartbeat thread sends LeaveGroup, which never arrives"
    ),
    "lose_request:commit": (
        "commits before it gives up its partitions to join again, but the commit never arrives"
    ),
    "lose_request:sync": "sends SyncGroup, which never arrives, and will join again",
    "lose_request:async": "calls commitAsync, whose request never arrives, and goes on",
    "close:committed_first": "closes, and commits before it leaves",
    "leave:again": "sends the commit of its close again",
    "leave:heard": "sends LeaveGroup",
    "leave:unheard": "is gone, and its LeaveGroup never arrives",
    "commit_throws": "calls commitSync outside a generation, and it throws",
    "disconnect": "loses its connection while its request is parked, and connects again",
    "late_commit": "sends JoinGroup and, behind it on the same connection, one more commit",
    "fail_over": "moves to another broker, which loads the last group record; connections break",
    "fail_over:resigned": "moves to another broker, and what waits ends with 16 NOT_COORDINATOR",
    "fail_over:regained": (
        "resigns, is elected again on the same broker, and answers 16 NOT_COORDINATOR to what waits"
    ),
    "fail_over:unnoticed": "moves to another broker, and the former one does not know of it",
    "load_group": "has loaded the last group record",
    "find_coordinator:unavailable": (
        "asks for the coordinator and hears that there is none: 15 COORDINATOR_NOT_AVAILABLE"
    ),
    "find_coordinator:former": "asks for the coordinator and connects to the former one",
    "find_coordinator:found": "asks for the coordinator and connects to it",
    "former_learns": (
        "learns that it is no longer the coordinator, and what waits there ends with 16"
        " NOT_COORDINATOR"
    ),
    "append_committed": "completes the append of the assignment",
    "append_failed": "fails to append the assignment",
    "initial_delay:over": "ends the initial delay",
    "initial_delay:extended": "extends the initial delay",
    "rebalance_timeout:missing": "stops waiting for members that have not joined, and removes them",
    "rebalance_timeout:nobody": "completes the round at once, because no member is left",
    "rebalance_timeout:rejected": (
        "stops waiting for the member that it has rejected because of the group's size"
    ),
    "sync_timeout": "stops waiting for members that have not sent SyncGroup, and removes them",
    "nobody_will_join": "stops waiting for members that will never join, and removes them",
    "nobody_will_sync": "stops waiting for members that will never sync, and removes them",
}
# The same for rules of the coordinator that concern one member.
TO_MEMBER = {
    "session_timeout:member": "hears nothing from {who} for session.timeout.ms and removes {who}",
    "session_timeout:pending": "forgets an id that it gave to {who} and that was never used",
    "new_member_timeout": "removes {who}, a new member that has waited for five minutes",
    "session_over:member": "removes an id of {who} under which nobody lives any more",
    "session_over:pending": "forgets an id that it gave to {who} and that nobody will use",
    "newcomer_gone": "removes a new id of {who} for which nobody waits any more",
    "read_next": "reads the next request of {who}",
    "late_request": "receives a request that {who} sent over an earlier connection",
}
REQUESTS = {
    "join_group": "JoinGroup",
    "sync_group": "SyncGroup",
    "heartbeat": "Heartbeat",
    "leave_group": "LeaveGroup",
    "offset_commit": "OffsetCommit",
    "txn_offset_commit": "TxnOffsetCommit",
    "offset_fetch": "OffsetFetch",
}
FORMER = "former_"  # `former_heartbeat` is `heartbeat` at a former coordinator
REQUESTS |= {FORMER + rule: api for rule, api in REQUESTS.items()}
THE_FORMER = "the former coordinator"
SENT_AWAY = ":not_coordinator"  # what a former coordinator's outcome ends with that answers 16
# The coordinator's answer to the request at hand: an error code, or None if it parks the request.
CODES: dict[str, int | None] = {
    "join_group:too_many": 81,
    "join_group:inconsistent": 23,
    "join_group:id_required": 79,
    "join_group:added": None,
    "join_group:unknown": 25,
    "join_group:parked": None,
    "join_group:unchanged": 0,
    "join_group:restarted": None,
    "sync_group:unknown": 25,
    "sync_group:illegal_generation": 22,
    "sync_group:rebalancing": 27,
    "sync_group:stable": 0,
    "sync_group:led": None,
    "sync_group:parked": None,
    "heartbeat:unknown": 25,
    "heartbeat:illegal_generation": 22,
    "heartbeat:rebalancing": 27,
    "heartbeat:accepted": 0,
    "leave_group:unknown": 25,
    "leave_group:pending": 0,
    "leave_group:left": 0,
    "offset_commit:unknown": 25,
    "offset_commit:illegal_generation": 22,
    "offset_commit:rebalancing": 27,
    "offset_commit:accepted": 0,
    "join_group:loading": 14,
    "sync_group:loading": 14,
    "heartbeat:loading": 0,
    "leave_group:loading": 14,
    "offset_commit:loading": 14,
}
# What the coordinator does with a request that it parks.
PARKS = {
    "join_group:added": ("adds {who} to the group", "parks the request"),
    "join_group:parked": ("parks the request",),
    "join_group:restarted": ("parks the request", "starts a new round"),
    "sync_group:led": ("parks the request", "appends the leader's assignment"),
    "sync_group:parked": ("parks the request",),
}
NONE_OF = {"p": "no partition", "t": "no task"}
STARTS_OVER = "gives up its generation and must join again"
# What an answer makes a member do: words after the subject. Nothing for what follows by itself: the
# next outcome says it, or nothing changes for anybody.
HEARS = {
    "join_answer:refused": STARTS_OVER,
    "sync_answer:refused": STARTS_OVER,
    "heartbeat_answer:refused": STARTS_OVER,
    "commit_answer:refused": STARTS_OVER,
    "heartbeat_answer:told_to_rejoin": "must join again",
    "join_answer:fatal": "stops with an error",
    "sync_answer:fatal": "stops with an error",
    "heartbeat_answer:fatal": "stops with an error",
    "commit_answer:fatal": "stops with an error",
    **dict.fromkeys(
        """
        answer_joins answer_syncs begin_walk close_books closed commit_answer:done
        commit_answer:dropped commit_answer:ignored commit_answer:rebalancing commit_answer:retry
        collect elect end_walk forget unload
        heartbeat_answer:ignored heartbeat_answer:well join_answer:id_given join_answer:ignored
        join_answer:retry leave_answer look_at_claims look_for_owners record_plan reload renumber
        connect send_back sync_answer:ignored sync_answer:retry vote
        """.split(),
        "",
    ),
}
# Rule -> its box in the picture.
NOTES: dict[str, Literal["event", "timer", "fault"]] = {
    "initial_delay": "timer",
    "rebalance_timeout": "timer",
    "sync_timeout": "timer",
    "session_timeout": "timer",
    "new_member_timeout": "timer",
    "request_timeout": "timer",
    "nobody_will_join": "timer",
    "nobody_will_sync": "timer",
    "session_over": "timer",
    "newcomer_gone": "timer",
    "start": "event",
    "hang": "fault",
    "crash": "fault",
    "close": "fault",
    "poll_timeout": "fault",
    "disconnect": "fault",
    "append_failed": "fault",
    "fail_over": "fault",
    "load_group": "event",
    "former_learns": "event",
    "find_coordinator": "event",
    "lose_request": "fault",
    "leave": "event",
    "commit_throws": "event",
    "lose_response": "fault",
    "delay_request": "fault",
    "late_commit": "fault",
    "process_record": "event",
    "fetch_offset": "event",
    "join_complete": "event",
    "append_committed": "event",
}


@frozen
class Words:
    """How outcomes are told. A feature has the words for its own outcomes, which are added to those
    of the base (`|`, the later ones count); an outcome that has none is a `KeyError`.
    """

    # What the first rule of a step does: rule (or rule:label) -> words after the subject.
    does: Mapping[str, str] = field(factory=dict)
    # The same for rules of the coordinator that concern one member, `{who}`.
    to_member: Mapping[str, str] = field(factory=dict)
    # Outcome of a request -> the coordinator's answer to it, None if it parks the request.
    codes: Mapping[str, int | None] = field(factory=dict)
    # Outcome that parks a request -> what the coordinator does.
    parks: Mapping[str, tuple[str, ...]] = field(factory=dict)
    # Any other urgent outcome -> what the member does that it concerns; may be empty.
    hears: Mapping[str, str] = field(factory=dict)
    # Rule -> its box in the picture, apart from the arrows of its messages.
    notes: Mapping[str, Literal["event", "timer", "fault"]] = field(factory=dict)
    # Urgent outcomes with which even a heartbeat is no routine.
    eventful: frozenset[str] = frozenset()
    # Rule or outcome that concerns neither a member nor the coordinator -> who acts.
    others: Mapping[str, str] = field(factory=dict)
    # What a bit of an assignment stands for, as one letter; empty: what it does without.
    item: str = ""

    def __or__(self, more: Words) -> Words:
        """These words and `more`."""
        pairs = {f.name: (getattr(self, f.name), getattr(more, f.name)) for f in fields(Words)}
        item, eventful = more.item or self.item, self.eventful | more.eventful
        tables = {name: {**a, **b} for name, (a, b) in pairs.items() if isinstance(a, Mapping)}
        return evolve(self, **tables, item=item, eventful=eventful)

    def tell(self, step: Step, before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
        """One sentence for a step; `before` and `after` map slots to values (arrays: tuples)."""
        clauses = [(self.subject(step.firing), self._does(step, after))]
        clauses += [clause for firing in step.urgent for clause in self._follows(firing, after)]
        return "; ".join(
            f"{who} {_and([what for _, what in several])}"
            for who, several in groupby(clauses, key=lambda clause: clause[0])
        )

    def subject(self, firing: Firing) -> str:
        """Who acts: `member A`, `the coordinator`, or one of `others`."""
        if firing.name in self.others:
            return self.others[firing.name]
        if firing.name.startswith(FORMER):
            return THE_FORMER
        if firing.me is None or firing.name in self.to_member:
            return THE_COORDINATOR
        return member(firing.me)

    def answers(self, name: str) -> bool:
        """Does an outcome answer or park a request?"""
        return name.removeprefix(FORMER) in self.codes or name.endswith(SENT_AWAY)

    def code(self, name: str) -> int | None:
        """The error code with which an outcome answers a request, None if it parks it. A former
        coordinator has the outcomes of any other, and one more.
        """
        return 16 if name.endswith(SENT_AWAY) else self.codes[name.removeprefix(FORMER)]

    def _does(self, step: Step, after: Mapping[str, Any]) -> str:
        name, me = step.firing.name, step.firing.me
        if name == "lose_response" and not any(
            f.name.partition(":")[0] in REQUESTS for f in step.urgent
        ):
            return "loses its connection, and with it the requests that were not read"
        if name in ("lose_response", "delay_request"):
            request = sent(step, after)
            if name == "lose_response":
                return f"sends {request}, but loses its connection before the answer"
            return f"sends {request}, which is held up on the way, and connects again"
        if name in self.to_member:
            return self.to_member[name].format(who=member(me))
        return self.does[name]

    def _follows(self, firing: Firing, after: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """The additions of an urgent outcome to the sentence, as subjects with what they do."""
        name, me = firing.name, firing.me
        rule, _, label = name.partition(":")
        if self.answers(name):
            code, former = self.code(name), name.startswith(FORMER)
            if code is None:
                for does in self.parks[name]:
                    yield THE_COORDINATOR, does.format(who=member(me))
            elif code or former:
                yield THE_FORMER if former else THE_COORDINATOR, f"answers {name_of(code)}"
        elif name == "join_answer:joined":
            yield member(me), f"joins generation {after['client'][me].generation}"
        elif name == "sync_answer:assigned":
            client = after["client"][me]
            share = client.owned if client.granted == NOTHING else client.granted
            yield member(me), f"gets {self.items(share)}"
            if client.prepare == Prepare.REVOKING:
                yield member(me), "calls onPartitionsRevoked"
        elif rule == "store_offset":
            back = "back " if label == "backwards" else ""
            text = f"sets the committed offset {back}to {after['offsets'].committed}"
            yield THE_COORDINATOR, text
        elif what := self.hears[name if name in self.hears else name.removeprefix(FORMER)]:
            yield self.others.get(name) or member(me), what

    def items(self, mask: int) -> str:
        """`p0 and p2` for the bits 0 and 2."""
        named = [f"{self.item}{k}" for k in range(mask.bit_length()) if mask >> k & 1]
        return _and(named) or NONE_OF[self.item]


BASE_WORDS = Words(DOES, TO_MEMBER, CODES, PARKS, HEARS, NOTES, item="p")


def _and(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def sent(step: Step, after: Mapping[str, Any]) -> str:
    """The API of the request that a step sends over a connection that then breaks: the coordinator
    handles it in this step, or it is still on its way.
    """
    me = step.firing.me
    for firing in step.urgent:
        rule = firing.name.partition(":")[0]
        if firing.me == me and rule in REQUESTS:
            return REQUESTS[rule]
    return api_of(after["link"][me].late)


def api_of(request: Request) -> str:
    """The API of a request; a protocol may give it more fields."""
    return next(kind.__name__ for kind in type(request).__mro__ if kind in get_args(Request))


def partitions(mask: int) -> str:
    return _and([f"p{k}" for k in range(mask.bit_length()) if mask >> k & 1]) or "no partition"
