"""A feature of static members: two processes with one instance id at the same time, as a deployment
has them whose configuration was copied. It comes after `static_membership`.

The first two processes are the twins. To the coordinator they are one instance: a JoinGroup without
a member id from one of them takes the place of the other's id, and what the other one asks from
then on is answered 82. It goes on until it hears so.

`Seats` holds what the coordinator knows of one process's ids, and a rule sees those of one process.
So what is known of the instance stands at the twin whose id it has (`meet_twin` moves it), in the
numbers of that twin: the ids of the other one are shown as `OTHERS` more. If an id comes back,
because the record that replaced it could not be written or was not found, it returns to its own
process.

Kafka: ClassicGroup (replaceStaticMember, validateMember), which knows instances and no processes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import attrs

from groupcheck.model.engine import ScopeError, Spec, evolve, urgent
from groupcheck.model.protocol.classic import coordinator
from groupcheck.model.protocol.classic.feature import Feature
from groupcheck.model.protocol.classic.group import Record, Seats
from groupcheck.model.protocol.classic.plain_group import PHASES_SCOPE, ROWS_IN_PHASES
from groupcheck.model.protocol.classic.step_words import Words
from groupcheck.model.protocol.codes import FENCED_INSTANCE_ID, UNKNOWN_MEMBER_ID
from groupcheck.model.protocol.family import Family
from groupcheck.model.protocol.link import Link, deliver, orphan
from groupcheck.model.protocol.messages import (
    NO_ID,
    JoinGroup,
    OffsetFetch,
    Store,
    SyncGroup,
    TxnOffsetCommit,
)
from groupcheck.model.protocol.mutation import SEEDED, Mutation, seeded
from groupcheck.model.protocol.transform import inserted

FAMILY = Family("static members with twins", base="twins")

TWINS = (0, 1)  # the indexes of the twins
OTHERS = 1000  # an id of the other twin's is this much more than its number there


def twins(spec: Spec) -> Spec:
    """The feature: the first two processes have the same instance id. Raises `ScopeError` if fewer
    than two members are static.
    """
    if spec.scope.members < 2 or spec.scope.static_count < 2:
        raise ScopeError(
            "twins are two static members",
            where="scope",
            do="take two or more static members",
        )
    spec = inserted(spec, coordinator.join_group, meet_twin)
    spec = attrs.evolve(spec, rules=(*spec.rules, *TWIN_RULES[1:]))
    plain = spec.slots["seats"].initial
    initial = []
    for given in spec.initial:
        seats = given.get("seats", (plain,) * spec.scope.members)
        marked = [evolve(mine, twin=k in TWINS) for k, mine in enumerate(seats)]
        initial.append({**given, "seats": tuple(marked)})
    return attrs.evolve(spec, initial=initial)


@urgent("moved", "fenced", when=lambda link: link.request is not None)
def meet_twin(
    theirs: Annotated[Seats, "seats[i]"],
    mine: Annotated[Seats, "seats[j]"],
    link: Annotated[Link, "link[j]"],
) -> Iterator[tuple[str, Seats, Seats, Link]]:
    """One of the twins asks for something while the instance id belongs to the other one. With a
    member id, which must be an old one, it will be fenced. Without one it names the instance, so
    that what the coordinator knows of that moves to it.
    """
    request = link.request
    apart = not (theirs.twin and mine.twin and theirs.ids) or mine.elsewhere
    if apart or request is None or isinstance(request, Store | OffsetFetch):
        return
    if isinstance(request, TxnOffsetCommit) and request.id == NO_ID:  # from nobody known
        return
    if request.id != NO_ID:
        yield "fenced", theirs, evolve(mine, elsewhere=True), link
    else:
        yield "moved", *moved(theirs, mine), link


@urgent(when=lambda theirs: any(id >= OTHERS for id, _ in theirs.ids))
def return_to_twin(
    mine: Annotated[Seats, "seats[i]"], theirs: Annotated[Seats, "seats[j]"]
) -> Iterator[tuple[Seats, Seats]]:
    """The instance has an id of the other twin's again."""
    if mine.twin and theirs.twin:
        theirs, mine = moved(theirs, mine)
        yield mine, theirs


@urgent(when=lambda link: link.parked is not None and not link.orphaned)
def tell_twin(
    mine: Annotated[Seats, "seats[i]"],
    link: Annotated[Link, "link[i]"],
    theirs: Annotated[Seats, "seats[j]"],
) -> Iterator[tuple[Seats, Link, Seats]]:
    """The twin whose id was replaced waits for an answer and hears that (82), or that an
    administrator has removed the instance.
    """
    waits = link.parked
    if not (mine.twin and theirs.twin) or waits is None or mine[waits.id] is not None:
        return
    if theirs.ids or isinstance(waits, JoinGroup):
        code = FENCED_INSTANCE_ID if theirs.ids else UNKNOWN_MEMBER_ID
        yield mine, deliver(link, type(waits), waits.id, code), theirs
    else:
        yield mine, orphan(link, SyncGroup, waits.id), theirs


@urgent(when=lambda seats: seats.elsewhere)
def look_away(seats: Seats, link: Link) -> Iterator[tuple[Seats, Link]]:
    """The request of a twin that has lost its id is answered."""
    if link.request is None:
        yield evolve(seats, elsewhere=False), link


def moved(source: Seats, to: Seats) -> tuple[Seats, Seats]:
    """The memory of the instance, at the other twin."""
    to = evolve(to, ids=_renumbered(source.ids), leader=flipped(source.leader))
    source = evolve(source, ids=(), leader=None)
    if source.durable:  # a record has one id of an instance
        record, leader = _renumbered(source.durable), flipped(source.durable_leader)
        to = evolve(to, durable=record, durable_leader=leader)
    return source.unrecorded(), to


def _renumbered(ids: Record) -> Record:
    """The memory of an id, and the other ids in it, in the numbers of the other twin."""
    found = []
    for id, seat in ids:
        takes = seat.takes and (_flipped(seat.takes[0]), seat.takes[1])
        found.append((_flipped(id), evolve(seat, takes=takes, owed=flipped(seat.owed))))
    return tuple(found)


def flipped(id: int | None) -> int | None:
    """The number of an id at the other twin."""
    return None if id is None else _flipped(id)


def _flipped(id: int) -> int:
    return id - OTHERS if id >= OTHERS else id + OTHERS


TWIN_RULES = (meet_twin, return_to_twin, tell_twin, look_away)
IN_STYLE: Mapping[str, Any] = {"members": 2, "generations": 1, "records": 2, "any_faults": 1}
# These rows say all that twins make different; the other outcomes are those of static members.
ASKED: Mapping[str, Any] = {"members": 2, "generations": 1, "faults": {"append_failure": 1}}


# -- How it can be wrong


@seeded(meet_twin)
def _joins_beside(
    theirs: Seats, mine: Seats, link: Link
) -> Iterator[tuple[str, Seats, Seats, Link]]:
    for label, *after in meet_twin.call(theirs, mine, link):
        if label == "fenced":
            yield label, *after


@seeded(tell_twin)
def _waits_on(mine: Seats, link: Link, theirs: Seats) -> Iterator[tuple[Seats, Link, Seats]]:
    yield from ()


BUGS = (
    Mutation(
        id="twin_joins_beside",
        ticket="KAFKA-8500",
        title="A second process with the same instance id becomes a member beside the first one.",
        family=FAMILY,
        invariant="twins_share_one_id",
        doc=(
            "In PreparingRebalance the second process was added, and the first one was not replaced"
            " (before 2.3.0). Seeded: in every phase, a JoinGroup without an id does not look for"
            " the id that its instance has."
        ),
        scope={"members": 2, "generations": 1},
        seeds=(_joins_beside,),
    ),
    Mutation(
        id="replaced_twin_waits_on",
        ticket=SEEDED,
        title="The process whose id another one has taken waits for an answer for ever.",
        family=FAMILY,
        invariant="parked_is_remembered",
        doc=(
            "replaceStaticMember answers the JoinGroup or SyncGroup that is parked under the old id"
            " 82, over the connection of the process that sent it. Seeded: it does not."
        ),
        scope={"members": 2, "generations": 1},
        seeds=(_waits_on,),
    ),
)

# -- The feature

FEATURE = Feature(
    name="twins",
    title="two processes with one instance id",
    doc=(
        "The first two processes have the same group.instance.id by mistake: each takes the place"
        " of the other one, which is fenced (KIP-345)."
    ),
    change=twins,
    over=("static",),
    refuses={"mixed": "twins are two static members, and a group of both kinds may have one"},
    families=(FAMILY,),
    followed=("live",),
    words=Words(hears={name: "" for r in TWIN_RULES for name in r.names}),
    coordinator=TWIN_RULES,
    no_progress="no promise about progress was written for it",
    shows=(
        {"members": 2, "generations": 1},
        {"members": 2, "generations": 1, "faults": {"sync_timeout": 1}},
        {
            "members": 3,
            "generations": 2,
            "max_size": 1,
            "faults": {"rebalance_timeout": 1, "close": 1},
        },
        {"members": 2, "generations": 1, "atomic_complete": False},
        {"members": 2, "generations": 1, "faults": {"append_failure": 1}},
        {"members": 2, "generations": 2, "faults": {"append_failure": 1, "rebalance_timeout": 1}},
        {"members": 2, "generations": 2, "max_size": 1, "any_faults": 1},
        {"members": 3, "generations": 1},
        {"members": 3, "generations": 1, "faults": {"late_commit": 1}},
        {"members": 3, "generations": 2, "max_size": 1, "records": 0, "any_faults": 1},
        {"members": 3, "generations": 1, "faults": {"append_failure": 1}},
        {"members": 3, "generations": 1, "faults": {"lose_request": 1}},
        {"members": 3, "generations": 1, "faults": {"sync_timeout": 1}},
        {"members": 2, "generations": 1, "records": 2, "faults": {"delay_request": 1}},
        PHASES_SCOPE,
        {"members": 3, "generations": 2, "faults": {"rebalance_timeout": 1}},
        {**IN_STYLE, "commit_style": "auto"},
        {**IN_STYLE, "commit_style": "sync"},
        {**IN_STYLE, "commit_style": "async"},
    ),
    asked=ASKED,
    executed=(ASKED,),
    conformed=(
        {**ASKED, "faults": {"append_failure": 1, "fail_over": 1}},
        {**ROWS_IN_PHASES, "members": 2},
    ),
    bookkeeping=dict.fromkeys(
        (name for r in TWIN_RULES for name in r.names),
        "The coordinator knows instance ids, and not which process has sent a request.",
    ),
    member_generations=1,
    member_scopes=({"members": 2, "partitions": 2},),
    bugs=BUGS,
)
