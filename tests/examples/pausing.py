"""A feature that another package offers: the application pauses the watched partition and resumes
it (KafkaConsumer.pause, KafkaConsumer.resume).

A paused partition stays the member's, which goes on polling and sending heartbeats; its records
are not handed to the application. The flag belongs to the state of an assigned partition, so an
eager member loses it with each round (SubscriptionState.assignFromSubscribed).

What it leaves out: partitions beside the watched one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from groupcheck.model.engine import (
    Spec,
    array,
    goal,
    invariant,
    rule,
    step_invariant,
    urgent,
)
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.classic import offsets
from groupcheck.model.protocol.classic.client import Client
from groupcheck.model.protocol.classic.feature import Feature
from groupcheck.model.protocol.classic.group import Seats, is_member
from groupcheck.model.protocol.classic.step_words import Words
from groupcheck.model.protocol.family import Family
from groupcheck.model.protocol.mutation import SEEDED, Mutation, seeded
from groupcheck.model.protocol.transform import own, rebuilt, rewritten

FAMILY = Family("paused partitions", base="classic+pausing")


def pausing(spec: Spec) -> Spec:
    """The feature: applications pause and resume the watched partition."""
    usual = own(spec, offsets.process_record)
    processes = rewritten(usual, _unless_paused(usual), *usual.slots, "pause")
    return rebuilt(
        spec,
        [processes],
        [pause, resume, unpause],
        pause=array(spec.scope.members, False),
    )


def _unless_paused(usual: Rule) -> Any:
    def process_record(*args: Any) -> Iterator[Any]:
        *before, paused, scope = args
        if not paused:
            for after in usual.call(*before, scope):
                yield (*after, paused)

    return process_record


@rule
def pause(client: Client, pause: bool) -> Iterator[tuple[Client, bool]]:
    """The application calls pause: the partition stays its own and its records wait."""
    if client.position >= 0 and not client.failed and not pause:
        yield client, True


@rule(when=lambda pause: pause)
def resume(client: Client, pause: bool) -> Iterator[tuple[Client, bool]]:
    """The application calls resume."""
    if client.position >= 0 and not client.failed:
        yield client, False


@urgent(when=lambda pause: pause)
def unpause(client: Client, pause: bool) -> Iterator[tuple[Client, bool]]:
    """The partition is no longer the member's, and the flag goes with its state."""
    if client.position < 0:
        yield client, False


# -- What it promises


@step_invariant(
    "pause",
    rules=(offsets.process_record.name,),
    source="KafkaConsumer.pause",
    broken="{name} processes a record of a partition that it has paused",
    of=FAMILY,
)
def paused_is_not_processed(before: Any, after: Any) -> bool:
    """No record of a paused partition is handed to the application."""
    return not before.pause


@invariant(
    source="KafkaConsumer.pause; SubscriptionState.assignFromSubscribed",
    broken="{name} has paused a partition that it does not own",
    of=FAMILY,
)
def pause_ends_with_ownership(
    client: Annotated[Client, "client[i]"], pause: Annotated[bool, "pause[i]"]
) -> bool:
    """A member that does not own the watched partition has not paused it."""
    return not pause or client.position >= 0


@goal(source="KafkaConsumer.pause", of=FAMILY)
def paused_outlives_membership(
    seats: Annotated[Seats, "seats[i]"],
    client: Annotated[Client, "client[i]"],
    pause: Annotated[bool, "pause[i]"],
) -> bool:
    """The group has removed a member that holds a paused partition."""
    return pause and not is_member(seats[client.id])


# -- How it can be wrong


@seeded(unpause)
def _stays_paused(client: Client, pause: bool) -> Iterator[tuple[Client, bool]]:
    yield from ()


def _buffered(usual: Rule) -> Rule:
    def call(*args: Any) -> Iterator[Any]:
        *before, paused, scope = args
        for *after, _ in usual.call(*before, False, scope):
            yield (*after, paused)

    return rewritten(usual, call)


NOT_YET = "The rows have no command for pause and resume yet."

FEATURE = Feature(
    name="pausing",
    title="applications that pause their partition",
    doc="An application pauses the watched partition and resumes it (KafkaConsumer.pause).",
    change=pausing,
    families=(FAMILY,),
    promises=(paused_is_not_processed, pause_ends_with_ownership, paused_outlives_membership),
    bugs=(
        Mutation(
            id="pause_survives_rebalance",
            ticket=SEEDED,
            title="A partition that was paused before a rebalance is paused after it, too.",
            family=FAMILY,
            invariant="pause_ends_with_ownership",
            doc="The flag is kept by the name of the partition.",
            scope={"members": 1, "generations": 1, "faults": {"session_timeout": 1}},
            seeds=(_stays_paused,),
        ),
        Mutation(
            id="paused_buffer_is_read",
            ticket=SEEDED,
            title="Records that were fetched before pause are handed to the application.",
            family=FAMILY,
            invariant="paused_is_not_processed",
            doc="poll returns what it has buffered.",
            scope={"members": 1, "generations": 1},
            twists={offsets.process_record.name: _buffered},
        ),
    ),
    words=Words(
        does={"pause": "pauses its partition", "resume": "resumes its partition"},
        hears={"unpause": ""},
        notes={"pause": "event", "resume": "event"},
    ),
    member_apart=dict.fromkeys(("pause", "resume", "unpause"), NOT_YET),
)
