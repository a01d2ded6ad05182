"""Steps of the classic protocol in words: what a member or the coordinator does, and what follows
from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from groupcheck.model.engine.verdict import Firing, Step
from groupcheck.model.protocol.classic.client import NOTHING
from groupcheck.model.protocol.codes import name_of

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
    "disconnect": "loses its connection while its request is parked, and connects again",
    "late_commit": "sends JoinGroup and, behind it on the same connection, one more commit",
    "fail_over": "moves to another broker, which loads the last group record; connections break",
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
}
# The same for rules of the coordinator that concern one member.
TO_MEMBER = {
    "session_timeout:member": "hears nothing from {who} for session.timeout.ms and removes {who}",
    "session_timeout:pending": "forgets an id that it gave to {who} and that was never used",
    "new_member_timeout": "removes {who}, a new member that has waited for five minutes",
    "read_next": "reads the next request of {who}",
    "late_request": "receives a request that {who} sent over an earlier connection",
}
REQUESTS = {
    "join_group": "JoinGroup",
    "sync_group": "SyncGroup",
    "heartbeat": "Heartbeat",
    "leave_group": "LeaveGroup",
    "offset_commit": "OffsetCommit",
}
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
}
# What the coordinator does with a request that it parks.
PARKS = {
    "added": ("adds {who} to the group", "parks the request"),
    "restarted": ("parks the request", "starts a new round"),
    "led": ("parks the request", "appends the leader's assignment"),
}
# What an answer makes a member do: the label of its outcome -> words after the subject.
HEARS = {
    "refused": "gives up its generation and must join again",
    "told_to_rejoin": "must join again",
    "fatal": "stops with an error",
}


def tell(step: Step, before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """One sentence for a step; `before` and `after` map slots to values (arrays: tuples)."""
    clauses = [(subject(step.firing), _does(step, after))]
    clauses += [clause for firing in step.urgent for clause in _follows(firing, after)]
    return "; ".join(
        f"{who} {_and([what for _, what in several])}"
        for who, several in groupby(clauses, key=lambda clause: clause[0])
    )


def _and(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def subject(firing: Firing) -> str:
    """Who acts: `member A` or `the coordinator`."""
    rule = firing.name.partition(":")[0]
    if (
        firing.me is None
        or firing.name in TO_MEMBER
        or rule in ("append_committed", "append_failed", "fail_over")
    ):
        return THE_COORDINATOR
    return member(firing.me)


def _does(step: Step, after: Mapping[str, Any]) -> str:
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
    if name in TO_MEMBER:
        return TO_MEMBER[name].format(who=member(me))
    return DOES.get(name, name.replace("_", " ").replace(":", ", "))


def sent(step: Step, after: Mapping[str, Any]) -> str:
    """The API of the request that a step sends over a connection that then breaks: the coordinator
    handles it in this step, or it is still on its way.
    """
    me = step.firing.me
    for firing in step.urgent:
        rule = firing.name.partition(":")[0]
        if firing.me == me and rule in REQUESTS:
            return REQUESTS[rule]
    return type(after["link"][me].late).__name__


def _follows(firing: Firing, after: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What an urgent outcome adds to the sentence, as subjects with what they do."""
    name, me = firing.name, firing.me
    rule, _, label = name.partition(":")
    if name in CODES:
        code = CODES[name]
        if code is None:
            for does in PARKS.get(label, ("parks the request",)):
                yield THE_COORDINATOR, does.format(who=member(me))
        elif code:
            yield THE_COORDINATOR, f"answers {name_of(code)}"
    elif name == "join_answer:joined":
        yield member(me), f"joins generation {after['client'][me].generation}"
    elif name == "sync_answer:assigned":
        client = after["client"][me]
        share = client.owned if client.granted == NOTHING else client.granted
        yield member(me), f"gets {_partitions(share)}"
    elif label in HEARS:
        yield member(me), HEARS[label]
    elif rule == "store_offset":
        back = "back " if label == "backwards" else ""
        yield THE_COORDINATOR, f"sets the committed offset {back}to {after['offsets'].committed}"


def _partitions(mask: int) -> str:
    return _and([f"p{k}" for k in range(mask.bit_length()) if mask >> k & 1]) or "no partition"
