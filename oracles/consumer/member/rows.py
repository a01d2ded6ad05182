"""Rows: what may happen to Java's member in one of its memories, and what the model makes of it.

The rules are the variant's own. The coordinator is not there: any answer may come.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import frozen

from groupcheck.model.engine import Spec, array, evolve, rule, single
from groupcheck.model.engine.rule import Rule
from groupcheck.model.engine.step import Semantics
from groupcheck.model.protocol.codes import NONE
from groupcheck.model.protocol.consumer import java_rules
from groupcheck.model.protocol.consumer.client import Member
from groupcheck.model.protocol.consumer.java_member import Calls, JavaMember
from groupcheck.model.protocol.consumer.messages import LEAVES, Answer, Link, Tag
from groupcheck.model.protocol.consumer.plans import instance_of, name
from groupcheck.model.protocol.consumer.scope import AS_KAFKA, ConsumerScope
from groupcheck.model.protocol.faults import Budget
from groupcheck.oracles.consumer.facts import by_name, topics_of

ANY = 99  # a fault that may happen may happen any number of times
FAULTS = ("callback_failure", "close", "poll_timeout", "unsubscribe")
READINGS: Mapping[str, Any] = {
    "k1": AS_KAFKA, "k1_prime": AS_KAFKA, "k16": AS_KAFKA, "k23": AS_KAFKA, "k25": AS_KAFKA,
}  # fmt: skip
# Errors that a heartbeat may be answered with; the last one is one that the member does not know.
CODES = (14, 15, 16, 25, 29, 30, 35, 42, 69, 81, 82, 110, 111, 112, 128, 74)
MOST_BEHIND = 1  # requests behind the oldest one
INTERVAL_MS, BACKOFF_MS, MAX_POLL_MS = 5_000, 10, 100_000_000
EPOCH, LEFT = 5, -1  # of answers
CALLBACKS = ("assigned", "lost", "revoked")
ADDED = "added"  # where unsubscribe() has told the background, and not looked yet what it asks
State = tuple[Any, ...]
Command = Mapping[str, Any]


@rule
def anything_is_answered(link: Link, scope: ConsumerScope) -> Iterator[Link]:
    """The oldest heartbeat is answered, in any way."""
    if link.out is None:
        return
    first = link.behind[0] if link.behind else None
    left = evolve(link, out=first, behind=link.behind[1:])
    if link.out.unheard:
        yield left
        return
    for code, share in _answers(scope, leaves=link.out.kind in LEAVES):
        last = link.out.kind in LEAVES
        yield evolve(left, answer=Answer(code, Tag.CURRENT, share, last, link.out.before))


def _answers(scope: ConsumerScope, *, leaves: bool) -> Iterator[tuple[int, int | None]]:
    yield NONE, None
    if not leaves:
        yield from ((NONE, share) for share in range(scope.everything + 1))
    yield from ((code, None) for code in CODES)


@rule(when=lambda link: link.out is not None)
def connection_breaks(client: JavaMember, link: Link) -> Iterator[tuple[JavaMember, Link]]:
    """The connection breaks, with all that is on it."""
    waits = any(r is not None and not r.unheard for r in (link.out, *link.behind))
    yield client.unanswered() if waits else client, evolve(link, out=None, behind=())


@rule(
    when=lambda client: (
        client.state == Member.UNSUBSCRIBED
        and not client.updated
        and not client.unsubscribing
        and client.running is None
    )
)
def application_subscribes_to_one(client: JavaMember, scope: ConsumerScope) -> Iterator[JavaMember]:
    """The application subscribes to the first topic. The member cannot resolve the others."""
    yield evolve(client, subscribed=scope.topic(0), updated=True, told=False)


SURROUNDINGS = (anything_is_answered, connection_breaks)
# Rules that no row executes, and no whole group -> why.
APART: Mapping[str, str] = {
    java_rules.commit_ends.name: "A commit needs positions; rows and whole groups lack them.",
}
# Outcomes that no row has -> why.
NEVER: Mapping[str, str] = {
    "application_polls:dropped": "A member that is mended does so.",
}


@frozen
class MemberRow:
    """Something that happens in a memory."""

    before: State
    # The rules that fire, with their outcomes.
    fired: tuple[str, ...]
    after: State
    # The answer that the member hears, if it does.
    answer: Answer | None = None

    @property
    def closes(self) -> bool:
        """Does close() give up everything, and leave? No row follows it."""
        return self.fired[0].endswith(":closed")

    @property
    def client(self) -> JavaMember:
        """The member before it."""
        client = self.before[0]
        assert isinstance(client, JavaMember)
        return client


class MemberRows:
    """The rows of Java's member at a scope."""

    def __init__(self, scope: ConsumerScope, of_member: tuple[Rule, ...]) -> None:
        """`of_member`: the rules of the member."""
        self.scope = scope
        subscribes = scope.topics > 1
        rules = [
            application_subscribes_to_one
            if subscribes and r.name == java_rules.application_subscribes.name
            else r
            for r in of_member
            if r.name not in APART
        ]
        slots = {
            "budget": single(Budget(tuple((fault, ANY) for fault in FAULTS))),
            "client": array(1, JavaMember()),
            "link": array(1, Link(static=scope.static_members > 0)),
        }
        spec = Spec("member", slots, (*rules, *SURROUNDINGS), scope, deadlock=False)
        self._see = Semantics(spec)
        self._at = tuple(self._see.at[slot, 0] for slot in ("client", "link"))
        ((_, _, start),) = self._see.starts()
        self._whole = start
        self.start = self._part(start)
        # All outcomes of the rules.
        self.outcomes = frozenset(n for r in rules for n in r.names)

    def _part(self, state: State) -> State:
        client, link = (state[at] for at in self._at)
        return client, evolve(link, answer=None, tag=Tag.OLD)

    def of(self, place: State) -> Iterator[MemberRow]:
        """All rows of a memory."""
        state = list(self._whole)
        for at, value in zip(self._at, place):
            state[at] = value
        for instance in self._see.ordinary:
            for firing, after, _ in self._see.firings(instance, tuple(state)):
                answer = after[self._at[1]].answer
                for chain, rest, _ in self._see.settle(after):
                    fired = (firing.name, *(f.name for f in chain))
                    row = MemberRow(place, fired, self._part(rest), answer)
                    if not self._calls_again(row) and (
                        one_at_a_time(row) or adds_to_what_waits(row)
                    ):
                        yield row
        yield from self._in_one_go(place, tuple(state))

    def _calls_again(self, row: MemberRow) -> bool:
        """Has K25 ended the membership of a member that closes? There Kafka 4.2 calls
        onPartitionsLost for what it had; the model has forgotten it.
        """
        closes = row.fired[0].startswith(java_rules.application_closes.name)
        return closes and row.client.ended and not self.scope.java_release.applies_in_poll

    def _in_one_go(self, place: State, state: State) -> Iterator[MemberRow]:
        """In unsubscribe() the application takes all that waits without a pause. Each callback but
        the last one returns at once.
        """
        client: JavaMember = place[0]
        if not client.leaving or len(client.waiting) < 1 + (client.running is None):
            return
        fired: tuple[str, ...] = ()
        while client.waiting:
            wanted = GOES_ON if client.running is None else RETURNS
            steps = [
                (firing.name, after)
                for instance in self._see.ordinary
                if instance.rule.name == wanted
                for firing, after, _ in self._see.firings(instance, state)
                if not firing.name.endswith(":failed")
            ]
            if not steps:
                return
            [(name, state)] = steps
            fired, client = (*fired, name), state[self._at[0]]
        yield MemberRow(place, fired, self._part(state))

    # -- the same for the real member

    @property
    def setup(self) -> Command:
        """The real member before anything has happened."""
        scope = self.scope
        instance = {"instance": instance_of(0)} if scope.static_members else {}
        topics = {name(t): scope.partitions for t in range(scope.topics)}
        return {
            **instance,
            "topics": topics,
            "listener": scope.listens,
            "maxPollMs": MAX_POLL_MS,
            "parts": True,
        }

    @property
    def first(self) -> tuple[Command, ...]:
        """It has found its coordinator, and its callbacks wait."""
        return ({"op": "background", "hold": CALLBACKS},)

    def commands(self, row: MemberRow) -> tuple[Command, ...]:
        """What the real member is told."""
        return commands_of(row, self.scope)


def commands_of(row: MemberRow, scope: ConsumerScope) -> tuple[Command, ...]:
    """What the real member is told, so that just this happens to it."""
    rule_name, _, label = row.fired[0].partition(":")
    done = [*_steps(rule_name, label, row, scope)]
    if returns(row):
        done.append({"op": "look again"})
    return tuple(done)


def returns(row: MemberRow) -> bool:
    """Does unsubscribe() return, when it looks again whether it may?"""
    after: JavaMember = row.after[0]
    began = row.client.unsubscribing or row.fired[0].startswith(UNSUBSCRIBES)
    return began and not after.unsubscribing and after.running is None


def _steps(rule_name: str, label: str, row: MemberRow, scope: ConsumerScope) -> Iterator[Command]:
    """The steps of the two threads."""
    if rule_name in (java_rules.application_subscribes.name, SUBSCRIBES_TO_ONE):
        subscribed = row.after[0].subscribed
        yield {"op": "subscribe", "topics": list(topics_of(subscribed, scope))}
    elif rule_name == java_rules.application_polls.name:
        yield {"op": "poll"}
        yield part("events")
    elif rule_name in (GOES_ON, RETURNS):
        yield from _goes_on(row, throws=label == "failed")
    elif rule_name == java_rules.java_heartbeat.name:
        yield {"op": "advance", "ms": INTERVAL_MS}
        yield from HEARTBEAT
    elif rule_name == java_rules.background_reconciles.name:
        yield part("membership")
    elif rule_name == java_rules.find_coordinator.name:
        yield {"op": "advance", "ms": BACKOFF_MS}
        yield part("coordinator")
        yield part("send")
        yield {"op": "answer", "api": "FindCoordinator"}
        yield part("network")
    elif rule_name == java_rules.java_poll_timeout.name:
        yield {"op": "advance", "ms": MAX_POLL_MS}
        yield from HEARTBEAT
    elif rule_name == UNSUBSCRIBES:
        # With something waiting: the background is quicker than the application.
        quick = [ADDED] if row.client.waiting else []
        yield {"op": "unsubscribe", "hold": [*CALLBACKS, *quick]}
        yield {**part("events"), "hold": CALLBACKS}
        if label == "left":
            yield from HEARTBEAT
    elif rule_name == java_rules.application_closes.name:
        yield {"op": "close"}
        yield from HEARTBEAT if row.closes else (part("events"),)
    elif rule_name == connection_breaks.name:
        yield {"op": "cut"}
        yield part("network")
    else:
        assert rule_name == anything_is_answered.name, rule_name
        yield _answered(row, scope)
        yield part("network")


def _goes_on(row: MemberRow, *, throws: bool) -> Iterator[Command]:
    """The application goes on where it waits, in a callback or in unsubscribe()."""
    if row.fired[0].startswith(GOES_ON):
        yield {"op": "return"}
    returned = [name for name in row.fired if name.startswith(RETURNS)]
    yield from ({"op": "return", "throws": throws} for _ in returned)
    if row.closes:
        yield from HEARTBEAT if row.client.beats else ()
    elif returned:
        yield part("events")
        running = row.client.running
        leaves = running is not None and running.calls == Calls.LEAVING
        leaves = leaves or f"{RETURNS}:left" in returned
        if leaves and row.client.state == Member.PREPARE_LEAVING:
            yield from HEARTBEAT


def _answered(row: MemberRow, scope: ConsumerScope) -> Command:
    answer = row.answer or Answer()
    leaves = row.before[1].out.kind in LEAVES
    given: dict[str, Any] = {"epoch": LEFT if leaves else EPOCH, "error": answer.code}
    if answer.assigned is not None:
        given["assigned"] = by_name(answer.assigned, scope)
    return {"op": "answer", **given}


def known_outcomes(rows: MemberRows) -> frozenset[str]:
    """The outcomes that these rows may have: some need a listener, or a version."""
    scope = rows.scope
    lacks = {*NEVER}
    if scope.listens:
        lacks |= {"application_polls:assigned"}
    else:
        lacks |= {n for n in rows.outcomes if n.endswith(":called")}
        lacks |= {n for n in rows.outcomes if n.startswith("java_callback_returns:")}
    if not scope.java_release.applies_in_poll:
        lacks |= {"application_polls:assigned", "unsubscribe_goes_on:skipped"}
    return rows.outcomes - lacks


GOES_ON = java_rules.unsubscribe_goes_on.name
RETURNS = java_rules.java_callback_returns.name
UNSUBSCRIBES = java_rules.application_unsubscribes.name
SUBSCRIBES_TO_ONE = application_subscribes_to_one.name


def part(of: str) -> Command:
    """A part of a round of the background."""
    return {"op": "part", "name": of}


HEARTBEAT = (part("heartbeat"), part("send"))


def adds_to_what_waits(row: MemberRow) -> bool:
    """Does unsubscribe() begin while something waits, so that it takes more than that?"""
    few = len(row.after[1].behind) <= MOST_BEHIND
    return few and row.fired[0].startswith(UNSUBSCRIBES) and row.after[0].leaving is True


def one_at_a_time(row: MemberRow) -> bool:
    """Can it be executed as one step? The application takes all that waits in one go. So
    these are only those with one event at most. Requests that pile up are cut off.
    """
    rule_name = row.fired[0].partition(":")[0]
    client, after = row.client, row.after[0]
    waiting = len(client.waiting)
    if len(row.after[1].behind) > MOST_BEHIND:
        return False
    if rule_name == java_rules.application_polls.name:
        return waiting <= 1
    if rule_name == UNSUBSCRIBES and waiting:
        return after.waiting == client.waiting and bool(after.leaving)
    if client.unsubscribing and waiting:
        return waiting == 1 and rule_name != java_rules.java_callback_returns.name
    return True
