"""A feature of the classic group: members of both rebalance protocols in one group, as during a
rolling upgrade from eager to cooperative rebalancing (KIP-429). It comes after `cooperative`.

The processes list different assignors. A member's protocol follows from its own list: the highest
one that all its assignors support. `cooperative-sticky` supports both, all others only EAGER; so a
member with `cooperative-sticky,range` is eager. The coordinator does not know of protocols: it
accepts a member if some assignor is listed by all members, and then the members vote for one.

Kafka documents two rolling bounces: each process is restarted once with `cooperative-sticky,range`,
and then once more with `cooperative-sticky` alone. `bounces` lists the lists that each process goes
through. The fault `bounce` gives a process that is down the next one.

What it leaves out: a bounce while the group still remembers an earlier id of the process, or would
load it. Such an id has the old list.

Kafka: ConsumerCoordinator (constructor), CooperativeStickyAssignor.supportedProtocols,
ClassicGroup.selectProtocol, supportsProtocols.

A member's protocol is a slot (`keeps`), not a flag of the scope. The rules of members get the scope
of a cooperative or of an eager member, so that they are written once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, ClassVar

import attrs
from attrs import frozen

from groupcheck.model.engine import ScopeError, Spec, array, evolve, rule
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.bounds import bound, is_a
from groupcheck.model.protocol.classic import client, client_faults, coordinator, offsets
from groupcheck.model.protocol.classic import client as member
from groupcheck.model.protocol.classic.client import Client
from groupcheck.model.protocol.classic.coordinator import Outcome
from groupcheck.model.protocol.classic.feature import Feature
from groupcheck.model.protocol.classic.features.callbacks import call_back, callback_runs
from groupcheck.model.protocol.classic.features.cooperative import FAMILY as COOPERATIVE_GROUP
from groupcheck.model.protocol.classic.features.cooperative import CooperativeScope
from groupcheck.model.protocol.classic.features.cooperative_topics import (
    FAMILY as COOPERATIVE_TOPICS,
)
from groupcheck.model.protocol.classic.group import Core, Seats
from groupcheck.model.protocol.classic.plain_group import ROWS_IN_PHASES
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.classic.step_words import Words
from groupcheck.model.protocol.family import Family
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.mutation import SEEDED, Mutation, seeded
from groupcheck.model.protocol.transform import rebuilt, rewritten

FAMILY = Family("rolling upgrade", base="upgrade")

COOPERATIVE = "cooperative-sticky"  # the one assignor of Kafka's that supports both protocols
KNOWN = ("range", "roundrobin", "sticky", COOPERATIVE)
MORE: Mapping[str, str] = {
    "bounce": (
        "A process that is down, and that the group has forgotten, is configured with the next list"
        " of assignors in `bounces`."
    ),
}


@frozen(slots=False)
class UpgradeScope(CooperativeScope):
    """The scope of a group with members of both protocols."""

    MORE: ClassVar[Mapping[str, str]] = MORE
    NO_USER_DATA: ClassVar[str] = "members of both protocols are followed without them"

    bounces: str = bound(
        f"range>{COOPERATIVE},range>{COOPERATIVE}",
        "The lists of assignors that every process goes through, one after each `bounce`. It begins"
        " with the first one, or with its own in `protocols`.",
        is_a(str, "not a text"),
    )

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        strange = {name for names in (*self.stages, *self.lists) for name in names} - {*KNOWN}
        if strange:
            raise ScopeError(
                f"protocols and bounces list assignors of Kafka's, and {min(strange)!r} is none",
                where="scope",
                do=f"list some of {', '.join(KNOWN)}, as in bounces=range>{COOPERATIVE},range",
            )

    @property
    def stages(self) -> tuple[tuple[str, ...], ...]:
        """The lists that a process goes through."""
        return tuple(tuple(names.split(",")) for names in self.bounces.split(">"))

    @property
    def lists(self) -> tuple[tuple[str, ...], ...]:
        """The assignors that each member lists at the beginning."""
        return super().lists or self.stages[:1] * self.members

    @property
    def assignors_listed(self) -> tuple[str, ...]:
        """All assignors that some member lists at any time, in alphabetical order."""
        return tuple(sorted({name for names in (*self.lists, *self.stages) for name in names}))

    def of_member(self, member: int) -> UpgradeScope:
        """The scope as this member's own rules see it: its protocol follows from its list."""
        return _as_seen(self, is_cooperative(self.lists[member]))

    def looks_at_claims(self, assignor: int | None) -> bool:
        """The leader does so only with `cooperative-sticky`."""
        sticky = assignor is not None and self.assignors_listed[assignor] == COOPERATIVE
        return sticky and super().looks_at_claims(assignor)


@cache
def _eager(of: Any) -> Any:
    """The same type of scope for an eager member."""
    return frozen(slots=False)(type(f"Eager{of.__name__}", (of,), {"cooperative": False}))


@cache
def _as_seen(scope: UpgradeScope, keeps: bool) -> UpgradeScope:
    """The scope for a member of this protocol."""
    if keeps:
        return scope
    fields = {a.name: getattr(scope, a.name) for a in attrs.fields(type(scope))}
    of: Any = type(scope)  # to mypy, types have no hash
    seen: UpgradeScope = _eager(of)(**fields)
    return seen


def is_cooperative(listed: tuple[str, ...]) -> bool:
    """Is a member with these assignors cooperative? The highest protocol that all of them support
    is its own.
    """
    return all(name == COOPERATIVE for name in listed)


def upgrade(spec: Spec) -> Spec:
    """The feature: each member is eager or cooperative, as its list of assignors says."""
    first = tuple(is_cooperative(names) for names in spec.scope.lists)
    spec = rebuilt(
        spec,
        [following(r) for r in spec.rules if r.name in OF_A_PROTOCOL and r.takes_scope],
        [bounce],
        keeps=array(spec.scope.members, first[0]),
    )
    return attrs.evolve(spec, initial=[{**given, "keeps": first} for given in spec.initial])


@cache
def following(usual: Rule) -> Rule:
    """The rule of a member, which is of the protocol in the slot `keeps`."""

    def call(*given: Any) -> Iterator[Any]:
        *values, keeps, scope = given
        for outcome in usual.call(*values, _as_seen(scope, keeps)):
            yield (*outcome, keeps) if isinstance(outcome, tuple) else (outcome, keeps)

    call.__doc__ = usual.doc
    return rewritten(usual, call, *usual.slots, "keeps")


@rule(when=lambda budget: budget.allows("bounce"))
def bounce(
    client: Client, seats: Seats, keeps: bool, budget: Budget, scope: UpgradeScope
) -> Iterator[tuple[Client, Seats, bool, Budget]]:
    """A process that is down is configured with the next list of assignors, from which its protocol
    follows.
    """
    forgotten = not seats.ids and not seats.durable
    later = dict(zip(scope.stages, scope.stages[1:], strict=False)).get(seats.listed)
    if client == Client() and forgotten and later is not None:
        yield client, evolve(seats, listed=later), is_cooperative(later), budget.spend("bounce")


# The rules that ask which protocol a member is of.
OF_A_PROTOCOL = frozenset(
    r.name
    for r in (
        client.send_join,
        client.sync_answer,
        client.join_complete,
        client_faults.lose_response,
        client_faults.delay_request,
        client_faults.late_commit,
        offsets.fetch_offset,
        offsets.process_record,
        call_back,
        callback_runs,
        client.commit_answer,
    )
)

EVERY_FAULT = {
    "append_failure": 1,
    "fail_over": 1,
    "new_member_timeout": 1,
    "rebalance_timeout": 1,
    "session_timeout": 1,
    "sync_timeout": 1,
}
ASKED: Mapping[str, Any] = {
    "members": 2,
    "generations": 2,
    "faults": {},
    "settings": {"protocols": f"{COOPERATIVE},range|{COOPERATIVE}"},
}


# -- How it can be wrong


@seeded(bounce)
def _first_assignor_decides(
    client: Client, seats: Seats, keeps: bool, budget: Budget, scope: UpgradeScope
) -> Iterator[tuple[Client, Seats, bool, Budget]]:
    for down, known, _, spent in bounce.call(client, seats, keeps, budget, scope):
        yield down, known, known.listed[0] == COOPERATIVE, spent


@seeded(coordinator.join_group)
def _anybody_is_let_in(core: Core, seats: Seats, link: Link, scope: Scope) -> Iterator[Outcome]:
    listed = seats.listed
    if not coordinator.agrees(core, seats, scope):
        seats = evolve(seats, listed=(*listed, *set(scope.assignors_listed) - {*listed}))
    for label, after, known, told in coordinator.join_group.call(core, seats, link, scope):
        yield label, after, evolve(known, listed=listed), told


send_join = following(member.send_join)


@seeded(send_join)
def _eager_member_keeps(*given: Any) -> Iterator[tuple[str, Client, Link, bool]]:
    *values, keeps, scope = given
    for label, after, sent, _ in send_join.call(*values, True, scope):
        yield label, after, sent, keeps


BUGS = (
    Mutation(
        id="eager_member_keeps",
        ticket=SEEDED,
        title="An eager member keeps its partitions while it joins.",
        family=FAMILY,
        invariant="joins_as_its_protocol_says",
        doc=(
            "A member revokes everything before it joins unless all its assignors are cooperative."
            " Seeded: onJoinPrepare always keeps what the member owns, as in a cooperative one."
        ),
        scope={"members": 2, "generations": 2, "records": 0},
        seeds=(_eager_member_keeps,),
    ),
    Mutation(
        id="first_assignor_decides",
        ticket="twmb/franz-go v1.13.0",
        title="A member with assignors of both kinds is cooperative because of the first of them.",
        family=FAMILY,
        invariant="hand_off",
        doc=(
            "After the first bounce a process lists cooperative-sticky before range, and the group"
            " still uses range, because others list nothing else. The member kept its partitions"
            " while it joined, and the eager leader gave them away. Kafka's client takes the"
            " highest protocol that all its assignors support, so it stays eager. Seeded: the first"
            " assignor decides."
        ),
        scope={"members": 3, "generations": 2, "records": 0, "faults": {"bounce": 1}},
        seeds=(_first_assignor_decides,),
    ),
    Mutation(
        id="one_bounce_let_in",
        ticket=SEEDED,
        title="A process that lists cooperative-sticky alone is let into a group that uses range.",
        family=FAMILY,
        invariant="hand_off",
        doc=(
            "With one bounce instead of two, a cooperative member meets eager ones that do not list"
            " its assignor. Kafka answers 23 (supportsProtocols). Seeded: it is let in, and keeps"
            " its partitions while a leader shares them that does not look at claims."
        ),
        scope={
            "members": 3,
            "generations": 2,
            "records": 0,
            "protocols": "range|cooperative-sticky|range",
        },
        seeds=(_anybody_is_let_in,),
    ),
)

# -- The feature

FEATURE = Feature(
    name="upgrade",
    title="from eager to cooperative rebalancing",
    doc=(
        "Processes are restarted one after the other with other lists of assignors. Members of both"
        " rebalance protocols meet in one group, and the vote decides which assignor they use"
        " (KIP-429)."
    ),
    change=upgrade,
    over=("cooperative",),
    after=("offsets", "callbacks"),
    refuses={
        "static": "static members that list different assignors are left out",
        "round_count": "an eager member revokes in each round, which is no round too many",
    },
    scope_type=UpgradeScope,
    families=(FAMILY,),
    # An eager member beside them keeps none of these promises.
    not_owed=(COOPERATIVE_GROUP, COOPERATIVE_TOPICS),
    words=Words(does={"bounce": "is configured with the next list"}, notes={"bounce": "event"}),
    no_progress="no promise about progress was written for it",
    shows=(
        {"members": 1, "generations": 1, "any_faults": 2},
        {"members": 2, "generations": 1, "protocols": f"range|{COOPERATIVE}"},
        {
            "members": 2,
            "generations": 2,
            "protocols": f"{COOPERATIVE},range|{COOPERATIVE}",
        },
    ),
    asked=ASKED,
    executed=(
        {"members": 1, "generations": 1, "faults": EVERY_FAULT},
        {
            "members": 2,
            "generations": 1,
            "faults": {},
            "settings": {"protocols": f"range|{COOPERATIVE}", "max_size": "1"},
        },
    ),
    conformed=(ASKED, ROWS_IN_PHASES),
    member_generations=1,
    member_apart={
        "bounce": (
            "It happens to a process that is down; each kind of member begins with a fresh process."
        )
    },
    # The members of a group that is upgraded: before the first bounce, after it, after the second.
    member_scopes=tuple(
        {"members": 1, "partitions": 2, "protocols": listed}
        for listed in ("range", f"{COOPERATIVE},range", COOPERATIVE)
    ),
    bugs=BUGS,
)
