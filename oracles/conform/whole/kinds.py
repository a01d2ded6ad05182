"""The kinds of steps of one member: when it can take them, the commands for them, and the rules of
the model that they may be.

The record of a takeover is written in the step of its JoinGroup, so a step of a static member may
be that rule followed by `takeover_committed`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import field, frozen

from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.classic import client, client_faults, offsets, timers
from groupcheck.model.protocol.classic.features.static import remove_instance
from groupcheck.oracles.conform.whole.look import WATCHED, MemberLook
from groupcheck.oracles.conform.whole.real import forgets, sync_waits

# A rule of the model, or one of its outcomes.
May = Rule | tuple[Rule, str]


@frozen
class Kind:
    """A kind of step of one member."""

    # How often it is drawn, beside the others.
    weight: float
    # May it happen now?
    when: Callable[[MemberLook], bool]
    # Commands of the driver; `i` is added to each but `settle`.
    commands: tuple[str, ...]
    # The sequences of rules that it may be; an empty one is nothing.
    chances: tuple[tuple[May, ...], ...]
    # Is it a step of static members alone, or of dynamic ones alone? None: of both.
    static: bool | None = None
    # More fields of the commands, from the member's look.
    fields: Callable[[MemberLook], Mapping[str, Any]] = field(default=lambda member: {})


def running(m: MemberLook) -> bool:
    return not m.failed and not m.closing


def idle(m: MemberLook) -> bool:
    """None of its requests waits at the coordinator or on the connection."""
    return running(m) and m.outstanding is None and not m.unread and not m.unsent


def unread(m: MemberLook) -> bool:
    """Could the coordinator read a request, other than the SyncGroup after a JoinGroup?"""
    return bool(m.unread) and m.outstanding is None and not sync_waits(m)


def wants_to_join(m: MemberLook) -> bool:
    due = m.rejoin and not (m.state == "STABLE" and m.joining)
    return idle(m) and due


def is_due(m: MemberLook) -> bool:
    """Would a poll join, or run onJoinComplete?"""
    return wants_to_join(m) or (idle(m) and m.state == "STABLE" and m.joining)


def commits_first(m: MemberLook) -> bool:
    """Will it commit before it joins?"""
    fresh = m.state == "STABLE" and m.prepare and m.committing in ("none", "retriable")
    return wants_to_join(m) and m.auto and fresh and not m.prepare_over and has_position(m)


def has_position(m: MemberLook) -> bool:
    return m.position >= 0


def can_commit(m: MemberLook) -> bool:
    stable = m.state == "STABLE" and m.prepare and m.committing == "none"
    return idle(m) and stable and not m.joining and has_position(m)


def can_fetch(m: MemberLook) -> bool:
    owned = bool(m.owned >> WATCHED & 1)
    return idle(m) and owned and not has_position(m) and m.committing == "none"


def beats(m: MemberLook) -> bool:
    return idle(m) and m.heart == "on" and not m.poll_over


def leaves(m: MemberLook) -> bool:
    """Would it send LeaveGroup, if it closed?"""
    joined = m.state != "UNJOINED" and m.id != ""
    return not m.closing and joined and m.coordinator and not m.unsent and not m.unread


def may_leave(m: MemberLook) -> bool:
    """Would it send LeaveGroup, and does it go on?"""
    return running(m) and leaves(m)


def closes(m: MemberLook) -> bool:
    settled = not has_position(m) or m.committing == "none"
    return may_leave(m) and settled and (m.outstanding is not None or idle(m))


def closes_unjoined(m: MemberLook) -> bool:
    """Has it kept its id, although it has left its generation? Then it sends no LeaveGroup."""
    return idle(m) and m.state == "UNJOINED" and m.id != ""


def times_out(m: MemberLook) -> bool:
    active = m.state in ("COMPLETING_REBALANCE", "STABLE")
    return may_leave(m) and m.heart == "on" and active and not sync_waits(m)


def started(m: MemberLook) -> bool:
    named = m.id != "" and not forgets(m)
    return bool(m.failed or m.closing or named or m.owned or m.state != "UNJOINED")


def loses(m: MemberLook) -> bool:
    """Would a poll take a cooperative member's partitions, while it waits for an answer?"""
    return m.state == "UNJOINED" and m.owned != 0


JOINS = (client.send_join,)
COMPLETES = (client.join_complete,)
NOTHING: tuple[May, ...] = ()
READ = ("flush", "settle")
KINDS: dict[str, Kind] = {
    "poll": Kind(8, is_due, ("poll", *READ), (JOINS, COMPLETES, (*COMPLETES, *JOINS), NOTHING)),
    "poll early": Kind(
        0.3,
        lambda m: running(m) and not is_due(m) and not unread(m) and not loses(m),
        ("poll", *READ),
        ((client.send_sync,), JOINS, NOTHING),
    ),
    "sync": Kind(
        6, lambda m: running(m) and sync_waits(m), ("network", *READ), ((client.send_sync,),)
    ),
    "beat": Kind(2, beats, ("beat", *READ), ((client.send_heartbeat,), NOTHING)),
    # Its heartbeat thread is not on; then the model's member sends no heartbeat either.
    "beat while off": Kind(
        0.4,
        lambda m: idle(m) and m.heart != "on" and not m.poll_over,
        ("beat", *READ),
        ((client.send_heartbeat,), NOTHING),
    ),
    "fetch": Kind(6, can_fetch, ("fetch", "settle"), ((offsets.fetch_offset,),)),
    "process": Kind(
        2,
        lambda m: running(m) and has_position(m) and m.committing == "none",
        ("position",),
        ((offsets.process_record,),),
        fields=lambda m: {"offset": m.position + 1},
    ),
    "commit": Kind(1.5, can_commit, ("commit", *READ), ((client.send_commit,),)),
    "read": Kind(
        6,
        unread,
        READ,
        ((timers.read_next,),),
    ),
    "late": Kind(0.4, lambda m: m.late is not None, ("late", "settle"), ((timers.late_request,),)),
    "crash": Kind(0.2, started, ("kill", "settle"), ((client_faults.crash,),)),
    "restart": Kind(1, lambda m: bool(m.failed), ("kill", "settle"), ((client_faults.crash,),)),
    "close stopped": Kind(
        4,
        lambda m: bool(m.failed) and leaves(m) and m.outstanding is None,
        ("close", *READ),
        (((client_faults.close, "heard"),),),
        static=False,
    ),
    "disconnect": Kind(
        0.4,
        lambda m: running(m) and m.outstanding is not None,
        ("cut", "settle"),
        ((client_faults.disconnect,), (client.request_timeout,)),
    ),
    "lose answer": Kind(
        0.4,
        wants_to_join,
        ("poll", "void", "settle"),
        ((client_faults.lose_response,), COMPLETES, NOTHING),
    ),
    "lose answer to sync": Kind(
        0.4,
        lambda m: running(m) and sync_waits(m),
        ("network", "void", "settle"),
        ((client_faults.lose_response,),),
    ),
    "lose answer to commit": Kind(
        0.5, can_commit, ("commit", "void", "settle"), ((client_faults.lose_response,),)
    ),
    "lose sync": Kind(
        0.3,
        lambda m: running(m) and sync_waits(m),
        ("network", "cut", "settle"),
        (((client_faults.lose_request, "sync"),),),
    ),
    "lose commit": Kind(
        4,
        commits_first,
        ("poll", "cut", "wait", "settle"),
        (((client_faults.lose_request, "commit"),),),
    ),
    "delay": Kind(
        0.6,
        lambda m: wants_to_join(m) and m.late is None,
        ("poll", "delay", "settle"),
        ((client_faults.delay_request,), COMPLETES, NOTHING),
    ),
    "delay sync": Kind(
        0.4,
        lambda m: running(m) and sync_waits(m) and m.late is None,
        ("network", "delay", "settle"),
        ((client_faults.delay_request,),),
    ),
    "delay commit": Kind(
        1.5,
        lambda m: can_commit(m) and m.late is None,
        ("commit", "delay", "settle"),
        ((client_faults.delay_request,),),
    ),
    "poll time-out": Kind(
        0.3,
        times_out,
        ("pollTimeout", *READ),
        (((client_faults.poll_timeout, "heard"),),),
        static=False,
    ),
    "poll time-out unheard": Kind(
        0.2,
        times_out,
        ("pollTimeout", "cut", "settle"),
        (((client_faults.poll_timeout, "unheard"),),),
        static=False,
    ),
    "close": Kind(
        0.3,
        closes,
        ("close", *READ),
        (
            ((client_faults.close, "heard"),),
            (client.send_commit, (client_faults.close, "heard")),
            ((client_faults.close, "behind"),),
        ),
        static=False,
    ),
    "close unjoined": Kind(
        1,
        closes_unjoined,
        ("close", *READ),
        (((client_faults.close, "unheard"),),),
        static=False,
    ),
    "close unheard": Kind(
        0.2,
        closes,
        ("close", "cut", "kill", "settle"),
        (((client_faults.close, "unheard"),),),
        static=False,
    ),
    "close silently": Kind(
        0.3,
        closes,
        ("close", "flush", "kill", "settle"),
        (((client_faults.close, "silent"),), (client.send_commit, (client_faults.close, "silent"))),
        static=True,
    ),
    "close stopped silently": Kind(
        4,
        lambda m: bool(m.failed) and leaves(m) and m.outstanding is None,
        ("close", "flush", "kill", "settle"),
        (((client_faults.close, "silent"),),),
        static=True,
    ),
    "poll time-out of a static member": Kind(
        0.4,
        times_out,
        ("pollTimeout", *READ),
        (((client_faults.poll_timeout, "silent"),),),
        static=True,
    ),
    "removed by an administrator": Kind(
        0.3, lambda m: True, ("remove", "settle"), ((remove_instance,),), static=True
    ),
}
