"""A feature of the classic group: a member that starts looks for its coordinator.

Without it a process begins connected. Here it knows the brokers of `bootstrap.servers` alone, and
sends nothing to the group before one of them has told it who coordinates (`Link.seeks`).

    ask_broker        The member asks the least loaded broker (NetworkClient.leastLoadedNode): one
                      to which it has a connection, because nothing else is in flight there;
                      otherwise it connects to the one that it has tried longest ago. A broker
                      whose connection has just failed is left out until reconnect.backoff.ms is
                      over.
    lookup_answer
        creates       `__consumer_offsets` does not exist: the broker has it created, and answers
                      15 COORDINATOR_NOT_AVAILABLE.
        unavailable   15, because the broker's metadata have no leader of the partition.
        found         The member opens a second connection to that broker, for the requests of the
                      group alone (Integer.MAX_VALUE - id).
        unreachable   The broker is down: the connection fails, which begins a backoff.
    metadata_spread   A broker learns who leads the partition: each at a time of its own.

It covers a process that starts. A member that loses its connection later is found again in the step
in which it loses it, as in the plain group; `phases` says what happens while the coordinator moves.

What it leaves out: connections that are being opened (they are ready, or fail, in the step that
asks); 30 GROUP_AUTHORIZATION_FAILED, which stops the member; a coordinator that is found and cannot
be reached, which is the same as one that is not found.

Kafka: AbstractCoordinator (ensureCoordinatorReady, lookupCoordinator,
FindCoordinatorResponseHandler), NetworkClient.leastLoadedNode, KafkaApis.getCoordinator.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, ClassVar

import attrs
from attrs import frozen

from groupcheck.model.engine import ScopeError, Spec, array, evolve, rule, single, urgent
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.bounds import between, bound
from groupcheck.model.protocol.classic import client, client_faults, failover
from groupcheck.model.protocol.classic.feature import CHANGE_THE_BASE, Feature
from groupcheck.model.protocol.classic.features.commit_styles import leave
from groupcheck.model.protocol.classic.features.find_coordinator import while_seeking
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.classic.step_words import Words
from groupcheck.model.protocol.family import Family
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.link import Link, send
from groupcheck.model.protocol.messages import NO_ID, JoinGroup
from groupcheck.model.protocol.mutation import SEEDED, Mutation
from groupcheck.model.protocol.transform import (
    extended,
    outcomes_changed,
    own,
    rebuilt,
    rewritten,
)

FAMILY = Family("a first look-up", base="classic+first_lookup")

Values = dict[str, Any]
COORDINATOR = 0  # the broker that coordinates; it is never down
MORE: Mapping[str, str] = {
    "broker_down": "A broker stops that is not the coordinator; members know its address.",
}
# Rules with which a process ends, in whose place another one starts.
ENDING = (client_faults.crash, client_faults.close, client_faults.delay_request, client.closed)


@frozen(slots=False)
class FirstLookupScope(Scope):
    """The bounds of a run in which members look for the coordinator when they start."""

    MORE: ClassVar[Mapping[str, str]] = MORE

    brokers: int = bound(
        2, "Brokers in bootstrap.servers; the first one coordinates the group.", between(1, 4)
    )
    new_cluster: bool = bound(
        False, "Whether `__consumer_offsets` does not exist before a member looks for it."
    )


@frozen
class Brokers:
    """What the brokers know, each set of brokers as a bit mask."""

    # `__consumer_offsets` exists.
    created: bool = True
    # Those whose metadata say who leads the group's partition.
    know: int = 0
    # Those that are down.
    down: int = 0


@frozen
class Lookup:
    """One process's network client. Of one that has found the coordinator nothing else is kept."""

    # The member has found the coordinator.
    found: bool = False
    # The broker that has not answered yet.
    asked: int | None = None
    # Brokers to which there is a connection, as a bit mask.
    connected: int = 0
    # Brokers whose connection has failed and must not be tried yet, as a bit mask.
    backing_off: int = 0
    # Brokers whose connection has failed, the one first that was tried longest ago.
    failed: tuple[int, ...] = ()


def least_loaded(lookup: Lookup, brokers: int) -> tuple[int, ...]:
    """The brokers that NetworkClient.leastLoadedNode may choose; several, because it begins its
    search at a random one. Empty if all of them back off.
    """
    every = range(brokers)
    ready = tuple([b for b in every if lookup.connected >> b & 1])
    if ready:
        return ready
    untried = tuple([b for b in every if b not in lookup.failed])
    may = [b for b in lookup.failed if not lookup.backing_off >> b & 1]
    return untried or tuple(may[:1])


@rule("connected", "connects", when=lambda link: link.seeks)
def ask_broker(
    link: Link, lookup: Lookup, scope: FirstLookupScope
) -> Iterator[tuple[str, Link, Lookup]]:
    """The member sends FindCoordinator to the least loaded broker."""
    if lookup.asked is None:
        for broker in least_loaded(lookup, scope.brokers):
            there = lookup.connected >> broker & 1
            yield "connected" if there else "connects", link, evolve(lookup, asked=broker)


@rule(
    "creates",
    "unavailable",
    "found",
    "unreachable",
    when=lambda lookup: lookup.asked is not None,
)
def lookup_answer(
    link: Link, lookup: Lookup, brokers: Brokers
) -> Iterator[tuple[str, Link, Lookup, Brokers]]:
    """FindCoordinator is answered, or its broker cannot be reached."""
    broker = lookup.asked
    assert broker is not None
    bit = 1 << broker
    answered = evolve(lookup, asked=None, connected=lookup.connected | bit)
    if brokers.down & bit:
        tried = (*(b for b in lookup.failed if b != broker), broker)
        gone = evolve(
            lookup,
            asked=None,
            connected=lookup.connected & ~bit,
            backing_off=lookup.backing_off | bit,
            failed=tried,
        )
        yield "unreachable", link, gone, brokers
    elif not brokers.created:
        yield "creates", link, answered, evolve(brokers, created=True)
    elif brokers.know & bit:
        yield "found", evolve(link, seeks=False), Lookup(found=True), brokers
    else:
        yield "unavailable", link, answered, brokers


@rule(when=lambda lookup: bool(lookup.backing_off))
def backoff_over(lookup: Lookup, scope: FirstLookupScope) -> Iterator[Lookup]:
    """reconnect.backoff.ms is over: the broker may be tried again. (That of the broker whose
    connection has failed first.)
    """
    first = next(b for b in lookup.failed if lookup.backing_off >> b & 1)
    yield evolve(lookup, backing_off=lookup.backing_off & ~(1 << first))


@rule
def metadata_spread(brokers: Brokers, scope: FirstLookupScope) -> Iterator[Brokers]:
    """A broker learns who leads the group's partition."""
    if brokers.created:
        for broker in range(scope.brokers):
            if not (brokers.know | brokers.down) >> broker & 1:
                yield evolve(brokers, know=brokers.know | 1 << broker)


@rule(when=lambda budget: budget.allows("broker_down"))
def broker_down(
    brokers: Brokers, budget: Budget, scope: FirstLookupScope
) -> Iterator[tuple[Brokers, Budget]]:
    """A broker stops. What it has not answered fails with its connections."""
    for broker in range(COORDINATOR + 1, scope.brokers):
        if not brokers.down >> broker & 1:
            down = brokers.down | 1 << broker
            yield evolve(brokers, down=down, know=brokers.know & ~down), budget.spend("broker_down")


def first_lookup(spec: Spec) -> Spec:
    """The feature: members look for the coordinator when they start."""
    scope = spec.scope
    if scope.phases:
        raise ScopeError(
            "a fail-over in phases has a look-up of its own, which begins connected",
            where="scope",
            do="leave out phases or first_lookup",
        )
    ending = {r.name for r in ENDING}
    changed = [keeps_seeking(own(spec, failover.reload))]
    for usual in spec.rules:
        r = starts_anew(usual) if usual.name in ending else usual
        if not r.urgent and {"client", "link"} <= {*r.slots}:
            r = while_seeking(r)
        changed += [r] if r is not usual else []
    # A cluster that has had its topic for long has told all brokers.
    every = (1 << scope.brokers) - 1
    brokers = Brokers(created=False) if scope.new_cluster else Brokers(know=every)
    spec = rebuilt(
        spec,
        changed,
        (new_process, ask_broker, lookup_answer, backoff_over, metadata_spread, broker_down),
        link=array(scope.members, Link(seeks=True)),
        lookup=array(scope.members, Lookup()),
        brokers=single(brokers),
    )
    there = [{**given, **_seeking(given)} for given in spec.initial]
    return attrs.evolve(spec, initial=there)


def styles(spec: Spec) -> Spec:
    """A member that commits in close ends with a rule of its own."""
    return rebuilt(spec, [starts_anew(r) for r in spec.rules if r.name == leave.name])


def _seeking(given: Mapping[str, Any]) -> Values:
    """The connections of an initial state, none of which leads to the coordinator yet."""
    links = given.get("link")
    return {"link": tuple([evolve(link, seeks=True) for link in links])} if links else {}


@cache
def keeps_seeking(reload: Rule) -> Rule:
    """A fail-over breaks connections; a member that has none goes on looking for one."""
    return outcomes_changed(
        reload,
        lambda before, label, after: {
            **after,
            "link": evolve(after["link"], seeks=before["link"].seeks),
        },
    )


@cache
def starts_anew(ending: Rule) -> Rule:
    """The process that starts in the place of one that has ended has not found anybody yet."""

    def change(before: Values, label: str, after: Values, scope: Scope) -> Values:
        now: client.Client = after["client"]
        stays = now.state != client.Member.UNJOINED or now.closing or now.calls
        return after if stays else {**after, "lookup": Lookup()}

    return extended(ending, change, "lookup")


@urgent(when=lambda lookup: not lookup.found)
def new_process(link: Link, lookup: Lookup) -> Iterator[tuple[Link, Lookup]]:
    """It has no connection to the coordinator. What the ended one has sent is handled before."""
    if not link.seeks and link.request is None:
        yield evolve(link, seeks=True), lookup


WORDS = Words(
    does={
        "ask_broker:connected": "asks a broker that it is connected to for the coordinator",
        "ask_broker:connects": "connects to a broker and asks it for the coordinator",
        "lookup_answer:creates": (
            "hears 15 COORDINATOR_NOT_AVAILABLE from a broker that has __consumer_offsets created"
        ),
        "lookup_answer:unavailable": (
            "hears 15 COORDINATOR_NOT_AVAILABLE from a broker that knows no leader yet"
        ),
        "lookup_answer:found": "is told the coordinator and connects to it",
        "lookup_answer:unreachable": "cannot reach the broker, and leaves it alone for a while",
        "backoff_over": "may try a broker again that it could not reach",
        "metadata_spread": "learns who leads the group's partition",
        "broker_down": "stops, which does not coordinate the group",
    },
    hears={"new_process": ""},
    notes={
        "ask_broker": "event",
        "lookup_answer": "event",
        "backoff_over": "timer",
        "metadata_spread": "event",
        "broker_down": "fault",
    },
    others={"metadata_spread": "a broker", "broker_down": "a broker"},
)


# -- How it can be wrong


def _first_of_the_list(rule: Rule) -> Rule:
    def call(link: Link, lookup: Lookup, scope: FirstLookupScope) -> Iterator[Any]:
        if lookup.asked is None:
            first = scope.brokers - 1
            yield "connects", link, evolve(lookup, asked=first)

    return rewritten(rule, call)


def _joins_anybody(rule: Rule) -> Rule:
    def call(me: client.Client, link: Link, *others: Any) -> Iterator[Any]:
        yield from rule.call(me, link, *others)
        if link.seeks and me == client.Client() and link.idle:
            joins = evolve(me, state=client.Member.PREPARING)
            yield "sent", joins, send(link, JoinGroup(NO_ID)), *others[: len(rule.slots) - 2]

    return rewritten(rule, call)


BUGS = (
    Mutation(
        id="asks_the_same_broker_again",
        ticket=SEEDED,
        title="A client asks the same broker of its list again, although it cannot be reached.",
        family=FAMILY,
        invariant="asks_least_loaded",
        doc=(
            "NetworkClient.leastLoadedNode leaves a broker out whose connection has just failed."
            " Seeded: the client always asks one broker of bootstrap.servers, and never starts"
            " while that one is down, although the others would answer."
        ),
        scope={"members": 1, "generations": 1, "records": 0, "faults": {"broker_down": 1}},
        twists={ask_broker.name: _first_of_the_list},
    ),
    Mutation(
        id="joins_before_it_looks_up",
        ticket=SEEDED,
        title="A client sends JoinGroup to a broker of its list and does not ask who coordinates.",
        family=FAMILY,
        invariant="looks_up_before_joining",
        doc=(
            "AbstractCoordinator.ensureCoordinatorReady comes before each JoinGroup. Seeded: the"
            " client takes any broker for the coordinator, and is answered 16 by all but one."
        ),
        scope={"members": 1, "generations": 1, "records": 0},
        twists={client.send_join.name: _joins_anybody},
    ),
)

# -- The feature

FEATURE = Feature(
    name="first_lookup",
    title="members that look for the coordinator when they start",
    doc=(
        "A process that starts knows the brokers of bootstrap.servers alone. It asks the least"
        " loaded one for the coordinator (FindCoordinator), as often as it takes, and joins then"
        " (AbstractCoordinator.lookupCoordinator, NetworkClient.leastLoadedNode)."
    ),
    change=first_lookup,
    after=CHANGE_THE_BASE,
    scope_type=FirstLookupScope,
    families=(FAMILY,),
    words=WORDS,
    styles=styles,
    no_progress="nobody says how often a broker answers that there is no coordinator",
    shows=(
        {"members": 1, "generations": 1, "new_cluster": True},
        {"members": 1, "generations": 1, "faults": {"broker_down": 1}},
        {"members": 1, "generations": 1, "brokers": 3, "faults": {"broker_down": 2}},
    ),
    unreached=dict.fromkeys(
        ("commit_answer:retry", "join_answer:retry", "sync_answer:fatal"),
        "Only a coordinator that loads the group, or no longer has it, answers so.",
    ),
    real="",
    unreal="its coordinator is that of `classic`; compare that",
    executed=(),
    conformed=(),
    member_generations=1,
    bugs=BUGS,
)
