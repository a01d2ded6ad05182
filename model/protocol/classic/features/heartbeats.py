"""A feature of the classic group: a member whose heartbeats are heard stays one. It tells today's
client from that of Kafka before 2.6.1 and 2.7.0, whose heartbeat thread rests longer (KAFKA-10134,
KAFKA-10122).

Elsewhere the session of any member may end at any time: its process may be paused, or its messages
late. Here heartbeats are in time, so that the session of a member ends only if it sends none, or
if they cannot be read: its process is gone, its application has not polled for too long, its
connection waits behind something else.

Today's heartbeat thread beats from the answer to JoinGroup on. In a client with `old_client` it is
disabled when JoinGroup is sent, and enabled by the poll that reads the answer to SyncGroup
(AbstractCoordinator.initiateJoinGroup of 2.6.0). Nobody else polls the network meanwhile. As long
as SyncGroup is parked, the coordinator takes it for a sign of life. But behind the answer the
session timer runs: an application whose poll returned before, because its time-out was over, and
that works for longer than the session, loses a share that it has not even seen. The thread does not
watch max.poll.interval.ms then either.

Between the answer to JoinGroup and SyncGroup no client is heard: the leader makes its plan in the
handler of that answer, which holds the lock that the heartbeat thread needs
(JoinGroupResponseHandler).

The answer to SyncGroup and onJoinComplete are two steps here.

What it leaves out: heartbeats that are late or lost (the faults of messages are there). What else
changed with KAFKA-10134: a heartbeat in PreparingRebalance was answered 27 before and after, and an
old client takes 27 as a reason to join again in any state, which it cannot be told while it rests.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import attrs
from attrs import frozen

from groupcheck.model.engine import Spec
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.bounds import TRUTH, bound
from groupcheck.model.protocol.classic import client as members
from groupcheck.model.protocol.classic import client_faults, timers
from groupcheck.model.protocol.classic.client import NOTHING, Client, Member, beats
from groupcheck.model.protocol.classic.feature import CHANGE_THE_BASE, Feature
from groupcheck.model.protocol.classic.features.commit_styles import only_if
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.family import Family
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.mutation import Mutation
from groupcheck.model.protocol.transform import own, rebuilt, rewritten

FAMILY = Family("members that are heard", base="classic+heartbeats")


@frozen(slots=False)
class HeartbeatsScope(Scope):
    """The bounds of a run in which heartbeats are in time."""

    old_client: bool = bound(
        False,
        "Whether heartbeats rest until a poll reads the answer to SyncGroup, as in clients before"
        " Kafka 2.6.1 and 2.7.0 (KAFKA-10134).",
        TRUTH,
    )


def thread_runs(client: Client, old: bool) -> bool:
    """Is the heartbeat thread enabled?"""
    if old:
        return client.state == Member.STABLE and client.granted == NOTHING
    return beats(client)


def reaches(link: Link) -> bool:
    """Does a heartbeat that is sent now get to the coordinator, which reads it at once? A former
    coordinator may get it instead.
    """
    return link.idle and not link.seeks and not link.stale


def heard(client: Client, link: Link, old: bool) -> bool:
    """Does the coordinator hear the member in time?"""
    return thread_runs(client, old) and reaches(link)


@cache
def of_unheard(session_timeout: Rule, old: bool) -> Rule:
    """The sessions of members that are heard do not end."""
    before = ("client", "link")
    slots = (*session_timeout.slots, *(s for s in before if s not in session_timeout.slots))

    def call(*given: Any) -> Iterator[Any]:
        takes = len(session_timeout.takes)
        values = dict(zip(slots, given[takes:-1], strict=True))
        client: Client = values["client"]
        mine = tuple(values[slot] for slot in session_timeout.slots)
        scope = given[-1:] if session_timeout.takes_scope else ()
        for label, *after in session_timeout.call(*given[:takes], *mine, *scope):
            now = {**values, **dict(zip(session_timeout.slots, after, strict=True))}
            goes = values["seats"][client.id] is not None and now["seats"][client.id] is None
            if not (goes and heard(client, values["link"], old)):
                yield (label, *now.values())

    return rewritten(session_timeout, call, *slots, takes_scope=True)


@cache
def resting(usual: Rule) -> Rule:
    """What the heartbeat thread of an old client does not do while it is disabled."""
    return only_if(usual, lambda client, scope: thread_runs(client, True))


def heartbeats(spec: Spec) -> Spec:
    """The feature: whose heartbeats are heard stays a member."""
    old = spec.scope.old_client
    spec = attrs.evolve(spec, scope=attrs.evolve(spec.scope, atomic_complete=False))
    rules = [of_unheard(own(spec, timers.session_timeout), old)]
    if old:
        thread = (members.send_heartbeat, client_faults.poll_timeout)
        rules += [resting(own(spec, r)) for r in thread]
    return rebuilt(spec, rules)


# -- How it was wrong

BUGS = (
    Mutation(
        id="heartbeats_rest_until_share",
        ticket="KAFKA-10122, KAFKA-10134",
        title="The heartbeat thread rests until the application's poll reads SyncGroup's answer.",
        family=FAMILY,
        invariant="heard_while_it_waits",
        doc=(
            "AbstractCoordinator disabled its heartbeat thread when JoinGroup was sent, and enabled"
            " it when a poll had read the answer to SyncGroup (before 2.6.1 and 2.7.0). A member"
            " that had joined and did not poll for a session's time was removed. `old_client=yes`"
            " is the same client, of which the promise is not asked."
        ),
        scope={"members": 1, "generations": 1, "records": 0, "faults": {"session_timeout": 1}},
        twists={
            members.send_heartbeat.name: resting,
            client_faults.poll_timeout.name: resting,
            timers.session_timeout.name: lambda rule: of_unheard(timers.session_timeout, True),
        },
    ),
)

# -- The feature

UNHEARD = "Whoever is heard keeps its session."

FEATURE = Feature(
    name="heartbeats",
    title="heartbeats that are in time",
    doc=(
        "The session of a member ends only if its heartbeat thread rests or cannot be heard. With"
        " `old_client` that thread rests until a poll reads the answer to SyncGroup, as before"
        " Kafka 2.6.1 and 2.7.0 (KAFKA-10134)."
    ),
    change=heartbeats,
    after=(*CHANGE_THE_BASE, "unsubscribe", "first_lookup"),
    scope_type=HeartbeatsScope,
    families=(FAMILY,),
    no_progress="with --progress, sessions end anyway only where nobody lives",
    shows=(
        {
            "members": 1,
            "generations": 2,
            "records": 0,
            "old_client": True,
            "faults": {"session_timeout": 1},
        },
    ),
    real="",
    unreal="its coordinator is that of `classic`, with members beside it; compare that",
    executed=(),
    conformed=(),
    member_generations=1,
    member_apart=dict.fromkeys(
        timers.session_timeout.names, "The coordinator's timer; its rule looks at the member."
    ),
    bugs=BUGS,
)
