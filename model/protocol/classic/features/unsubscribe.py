"""A feature of the classic group: the application unsubscribes, and subscribes again
(KafkaConsumer.unsubscribe).

Within the call the member gives up its partitions (onPartitionsRevoked; onPartitionsLost if it has
lost its generation or a round runs), sends LeaveGroup, once, and forgets its id and generation. It
commits nothing, with enable.auto.commit neither: what it has processed since its last commit is
processed again. close() commits first; that is the difference, and that the process goes on over
the same connection. So its LeaveGroup stands behind a JoinGroup that is parked, whose answer the
member then ignores, and it joins as a new member after both.

    heard     The coordinator reads LeaveGroup in the same step.
    behind    LeaveGroup waits on the connection.
    unheard   LeaveGroup is lost with the connection; nobody sends it again.
    silent    None is sent: the member is static, or knows no coordinator, or is UNJOINED (it has
              been told to forget its generation and has not polled since).

Between unsubscribe() and subscribe() a member does nothing, so both are one step. What it leaves
out: callbacks that take time or throw (`oracles/conform/member/application.py` has these as rows
of the member); one that unsubscribes before its SyncGroup was sent, which the call sends first.

Kafka: ClassicKafkaConsumer.unsubscribe, ConsumerCoordinator.onLeavePrepare,
AbstractCoordinator.maybeLeaveGroup, resetGenerationOnLeaveGroup.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, ClassVar

from attrs import frozen

from groupcheck.model.engine import Spec, evolve, rule
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.classic.client import (
    Client,
    Member,
    Prepare,
    give_up,
    join_answer,
    reset,
)
from groupcheck.model.protocol.classic.client_faults import Labelled
from groupcheck.model.protocol.classic.feature import CHANGE_THE_BASE, Feature
from groupcheck.model.protocol.classic.features.commit_styles import only_if, waits
from groupcheck.model.protocol.classic.features.mixed import by_kind
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.classic.step_words import Words
from groupcheck.model.protocol.family import Family
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.link import Link, send
from groupcheck.model.protocol.messages import NO_ID, LeaveGroup
from groupcheck.model.protocol.mutation import SEEDED, Mutation
from groupcheck.model.protocol.transform import outcomes_changed, own, rebuilt, rewritten

FAMILY = Family("members that unsubscribe", base="classic+unsubscribe")

MORE: Mapping[str, str] = {
    "unsubscribe": (
        "The application unsubscribes and subscribes again: the member gives up its partitions"
        " without a commit, sends LeaveGroup, and joins as a new member."
    ),
}


@frozen(slots=False)
class UnsubscribeScope(Scope):
    """The bounds of a run in which applications unsubscribe."""

    MORE: ClassVar[Mapping[str, str]] = MORE


def forgets(client: Client) -> Client:
    """onLeavePrepare and resetGenerationOnLeaveGroup."""
    return give_up(reset(client, True))


def may_unsubscribe(client: Client, link: Link) -> bool:
    """Is there a call to unsubscribe that changes something, and does the step begin with it? What
    was sent before and is unread, the coordinator reads first.
    """
    calls = not (
        client.failed or client.closing or client.prepare in (Prepare.SYNC, Prepare.REVOKING)
    )
    unread = bool(link.queue) and link.parked is None
    return calls and not unread and forgets(client) != client


@rule("heard", "behind", "unheard", "silent", when=lambda budget: budget.allows("unsubscribe"))
def unsubscribe(client: Client, link: Link, budget: Budget) -> Iterator[Labelled]:
    """The application unsubscribes, and subscribes again."""
    if not may_unsubscribe(client, link):
        return
    spent = budget.spend("unsubscribe")
    if client.id == NO_ID or client.state == Member.UNJOINED:
        yield "silent", forgets(client), link, spent
        return
    left = send(link, LeaveGroup(client.id))
    yield "heard" if link.idle else "behind", forgets(client), left, spent
    if spent.allows("lose_request"):
        lost = spent.spend("lose_request")
        yield "unheard", forgets(client), Link(late=link.late), lost


def static_unsubscribes(client: Client, link: Link, budget: Budget) -> Iterator[Labelled]:
    """The same of a static member, which sends no LeaveGroup."""
    if may_unsubscribe(client, link):
        yield "silent", forgets(client), link, budget.spend("unsubscribe")


SILENT = rewritten(unsubscribe, static_unsubscribes, labels=("silent",))
BY_KIND = by_kind(SILENT, unsubscribe)


@cache
def ignoring(join_answer: Rule) -> Rule:
    """JoinGroupResponseHandler: 25 for an id that the member has forgotten meanwhile changes
    nothing.
    """

    def change(
        before: dict[str, Any], label: str, after: dict[str, Any]
    ) -> dict[str, Any] | tuple[str, dict[str, Any]]:
        request = before["link"].answer.request
        left = label == "refused" and request.id != before["client"].id
        return ("ignored", {**after, "client": before["client"]}) if left else after

    return outcomes_changed(join_answer, change)


def unsubscribing(spec: Spec) -> Spec:
    """The feature: applications unsubscribe."""
    count = spec.scope.static_count
    mine = unsubscribe
    if count:
        mine = BY_KIND if count < spec.scope.members else SILENT
    return rebuilt(spec, [ignoring(own(spec, join_answer))], [mine])


def styles(spec: Spec) -> Spec:
    """An application that waits in commitSync or close does nothing else."""
    usual = own(spec, unsubscribe)
    return rebuilt(spec, [only_if(usual, lambda client, scope: not waits(client))])


WORDS = Words(
    does={
        "unsubscribe:heard": (
            "unsubscribes: it gives up its partitions without a commit and sends LeaveGroup"
        ),
        "unsubscribe:behind": "unsubscribes, and its LeaveGroup waits behind the parked request",
        "unsubscribe:unheard": "unsubscribes, but its LeaveGroup never arrives",
        "unsubscribe:silent": "unsubscribes and sends no LeaveGroup",
    },
    notes={"unsubscribe": "fault"},
)


# -- How it can be wrong


def _keeps(rule: Rule) -> Rule:
    def call(client: Client, *others: Any) -> Iterator[Any]:
        for label, after, *more in rule.call(client, *others):
            kept = evolve(after, owned=client.owned, position=client.position)
            yield label, kept, *more

    return rewritten(rule, call)


def _stays(rule: Rule) -> Rule:
    def call(client: Client, link: Link, budget: Budget, *others: Any) -> Iterator[Any]:
        for label, after, there, *more in rule.call(client, link, budget, *others):
            yield label, after, link if label == "heard" else there, *more

    return rewritten(rule, call)


BUGS = (
    Mutation(
        id="leaves_with_partitions",
        ticket=SEEDED,
        title="A member that unsubscribes leaves the group and goes on with its partitions.",
        family=FAMILY,
        invariant="unsubscribed_owns_nothing",
        doc=(
            "ConsumerCoordinator.onLeavePrepare takes the assignment away before LeaveGroup is"
            " sent. Seeded: the member keeps it until its next round, while another one gets it."
        ),
        scope={"members": 1, "generations": 1, "faults": {"unsubscribe": 1}},
        twists={unsubscribe.name: _keeps},
    ),
    Mutation(
        id="unsubscribes_silently",
        ticket=SEEDED,
        title="A member that unsubscribes does not leave, and its partitions wait for its session.",
        family=FAMILY,
        invariant="unsubscribed_has_left",
        doc=(
            "AbstractCoordinator.maybeLeaveGroup sends LeaveGroup for a dynamic member. Seeded: the"
            " client forgets its id and sends nothing, so the others wait until its session ends."
        ),
        scope={"members": 1, "generations": 1, "records": 0, "faults": {"unsubscribe": 1}},
        twists={unsubscribe.name: _stays},
    ),
)

# -- The feature

FEATURE = Feature(
    name="unsubscribe",
    title="applications that unsubscribe",
    doc=(
        "The application unsubscribes and subscribes again: the member gives up its partitions"
        " without a commit, sends LeaveGroup and joins as a new one (KafkaConsumer.unsubscribe,"
        " AbstractCoordinator.maybeLeaveGroup)."
    ),
    change=unsubscribing,
    after=CHANGE_THE_BASE,
    scope_type=UnsubscribeScope,
    families=(FAMILY,),
    words=WORDS,
    styles=styles,
    spent_by={
        "unsubscribe": (
            "unsubscribe:heard",
            "unsubscribe:behind",
            "unsubscribe:unheard",
            "unsubscribe:silent",
        ),
    },
    not_simulated={"unsubscribe": "no application unsubscribes"},
    shows=(
        {"members": 1, "generations": 1, "faults": {"unsubscribe": 1, "lose_request": 1}},
        {"members": 1, "generations": 1, "faults": {"unsubscribe": 1, "poll_timeout": 1}},
        {"members": 2, "generations": 2, "faults": {"unsubscribe": 1}},
    ),
    member_generations=1,
    member_apart={
        "unsubscribe:unheard": (
            "Nobody sends a LeaveGroup again; the row of a member that polls too late loses one."
        ),
    },
    bugs=BUGS,
)
