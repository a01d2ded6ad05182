"""Steps of the classic protocol in words: what the member or the coordinator did, and what came of
it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from groupcheck.model.engine.verdict import Firing, Step
from groupcheck.model.protocol.classic.client import NOTHING
from groupcheck.model.protocol.codes import name_of

COORDINATOR = "coordinator"


def member(me: int | None) -> str:
    """`member A` for index 0."""
    assert me is not None
    letters = ""
    number = me + 1
    while number:
        number, digit = divmod(number - 1, 26)
        letters = chr(65 + digit) + letters
    return f"member {letters}"


# What somebody does of his own accord: rule (or rule:label) -> words after the subject.
DOES = {
    "send_join:committed_first": "must re-join: before it gives up its partitions it commits",
    "send_join:sent": "sends JoinGroup",
    "send_sync": "sends SyncGroup",
    "send_commit": "commits",
    "send_heartbeat": "sends a heartbeat",
    "join_complete": "takes over its partitions",
    "request_timeout": "waits no longer for an answer and connects anew",
    "fetch_offset": "fetches the committed offset",
    "process_record": "processes the next record",
    "crash": "crashes",
    "close:heard": "closes and sends LeaveGroup",
    "close:behind": "closes, and its LeaveGroup waits behind the request that is parked",
    "close:unheard": "closes, but its LeaveGroup is never read",
    "poll_timeout:heard": (
        "does not poll in time: its heartbeat thread sends LeaveGroup, the application still holds"
        " its partitions"
    ),
    "poll_timeout:unheard": (
        "does not poll in time: its heartbeat thread sends LeaveGroup, which is never read"
    ),
    "lose_request:commit": "must re-join: the commit that it sends first never arrives",
    "lose_request:sync": "sends SyncGroup, which never arrives: it will join again",
    "disconnect": "loses its connection while its request is parked, and connects anew",
    "late_commit": "sends JoinGroup and, behind it on the same connection, one more commit",
    "fail_over": "moves to another broker, which loads the last group record; connections break",
    "append_committed": "has the assignment committed",
    "append_failed": "cannot append the assignment",
    "initial_delay:over": "ends the initial delay",
    "initial_delay:extended": "extends the initial delay",
    "rebalance_timeout:missing": "waits no longer for members that have not joined",
    "rebalance_timeout:nobody": "completes the round at once, as there is no member left",
    "rebalance_timeout:rejected": (
        "waits no longer for the member that it has rejected for the group's size"
    ),
    "sync_timeout": "waits no longer for members that have not sent SyncGroup and removes them",
}
# The same for rules of the coordinator that concern one member.
TO_MEMBER = {
    "session_timeout:member": "hears nothing from {who} for session.timeout.ms and removes it",
    "session_timeout:pending": "forgets an id that {who} was given and never used",
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
# The coordinator's answer to the request at hand: a code, or None where it is parked.
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
PARKED = {
    "added": "{who} is a member now and waits",
    "restarted": "a new round starts",
    "led": "the leader's plan is being appended",
}


def tell(step: Step, before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """One sentence for a step; `before` and `after` map slots to values (arrays: tuples)."""
    first = step.firing
    words = [f"{subject(first)} {_does(step, after)}"]
    for firing in step.urgent:
        text = _follows(firing, after)
        if text:
            words.append(text)
    return "; ".join(words)


def subject(firing: Firing) -> str:
    """Who acts: `member A` or `the coordinator`."""
    rule = firing.name.partition(":")[0]
    if (
        firing.me is None
        or firing.name in TO_MEMBER
        or rule in ("append_committed", "append_failed", "fail_over")
    ):
        return "the coordinator"
    return member(firing.me)


def _does(step: Step, after: Mapping[str, Any]) -> str:
    name, me = step.firing.name, step.firing.me
    if name == "lose_response" and not any(
        f.name.partition(":")[0] in REQUESTS for f in step.urgent
    ):
        return "loses its connection with what stands unread on it"
    if name in ("lose_response", "delay_request"):
        request = sent(step, after)
        lost = (
            "whose answer is lost with the connection"
            if name == "lose_response"
            else "which is held up on the way; it connects anew"
        )
        return f"sends {request}, {lost}"
    if name in TO_MEMBER:
        return TO_MEMBER[name].format(who=member(me))
    return DOES.get(name, name.replace("_", " ").replace(":", ", "))


def sent(step: Step, after: Mapping[str, Any]) -> str:
    """The API of the request that a step sends over a connection that is then lost: handled in this
    step, or still under way.
    """
    me = step.firing.me
    for firing in step.urgent:
        rule = firing.name.partition(":")[0]
        if firing.me == me and rule in REQUESTS:
            return REQUESTS[rule]
    return type(after["link"][me].late).__name__


def _follows(firing: Firing, after: Mapping[str, Any]) -> str:
    """What an urgent outcome adds to the sentence; nothing where the next one says it."""
    name, me = firing.name, firing.me
    rule, _, label = name.partition(":")
    who = member(me) if me is not None else ""
    if name in CODES:
        code = CODES[name]
        if code is None:
            return PARKED.get(label, "it waits").format(who=who)
        return "" if code == 0 else f"the answer is {name_of(code)}"
    if name == "join_answer:joined":
        return f"{who} is in generation {after['client'][me].generation}"
    if name == "sync_answer:assigned":
        client = after["client"][me]
        return (
            f"{who} gets"
            f" {_partitions(client.owned if client.granted == NOTHING else client.granted)}"
        )
    if label == "refused":
        return f"{who} starts over"
    if label == "told_to_rejoin":
        return f"{who} will re-join"
    if label == "fatal":
        return f"{who} stops with an error"
    if rule == "store_offset":
        return f"the committed offset is {after['offsets'].committed}" + (
            " (backwards)" if label == "backwards" else ""
        )
    return ""


def _partitions(mask: int) -> str:
    owned = [f"p{k}" for k in range(mask.bit_length()) if mask >> k & 1]
    return " and ".join(owned) if owned else "no partition"
