"""Bugs around rebalance callbacks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from groupcheck.model.engine import but
from groupcheck.model.engine.rule import Rule
from groupcheck.model.mutations.mutation import SEEDED, Mutation
from groupcheck.model.protocol.classic.client import Client, Member, Prepare, send_join
from groupcheck.model.protocol.classic.features.callbacks import callback_runs
from groupcheck.model.protocol.family import CALLBACKS
from groupcheck.model.protocol.link import Link, send
from groupcheck.model.protocol.messages import JoinGroup, OffsetCommit
from groupcheck.model.protocol.transform import rewritten


def _late_metadata(rule: Rule) -> Rule:
    def call(client: Client, link: Link, scope: Any) -> Iterator[Any]:
        for label, after, there in rule.call(client, link, scope):
            if label == "committed":
                commit = OffsetCommit(client.id, client.generation - 1, client.position)
                there = send(link, commit)
            yield label, after, there

    return rewritten(rule, call)


def _keeps(rule: Rule) -> Rule:
    def call(client: Client, link: Link, scope: Any) -> Iterator[Any]:
        for label, after, there in rule.call(client, link, scope):
            yield label, after, there
            if label == "returned":
                kept = but(after, owned=after.owned | client.owned)
                yield "threw", kept, there

    return rewritten(rule, call)


def _joins_first(rule: Rule) -> Rule:
    def call(client: Client, link: Link, scope: Any) -> Iterator[Any]:
        yield from rule.call(client, link, scope)
        if client.prepare == Prepare.REVOKING and client.state == Member.STABLE and link.idle:
            join = JoinGroup(client.id, client.generation, owned=client.owned)
            yield "sent", but(client, state=Member.PREPARING, rejoin=False), send(link, join)

    return rewritten(rule, call)


MUTATIONS = (
    Mutation(
        id="callback_commits_in_old_generation",
        ticket="KAFKA-9741",
        title="A commit from onPartitionsRevoked carries the generation before.",
        family=CALLBACKS,
        invariant="callback_commits_as_member",
        doc=(
            "The group metadata that a transactional producer sends with its offsets was updated"
            " after onPartitionsRevoked, so that a commit from the callback was refused (fixed in"
            " 2.5.0). Seeded: each commit from the callback carries the generation before."
        ),
        scope={"members": 2, "generations": 2},
        twists={callback_runs.name: _late_metadata},
    ),
    Mutation(
        id="joins_while_revoking",
        ticket=SEEDED,
        title="A member joins again while its onPartitionsRevoked still runs.",
        family=CALLBACKS,
        invariant="revokes_before_joining",
        doc="The callback runs in a thread of its own, and nobody waits for it.",
        scope={"members": 2, "generations": 2},
        twists={send_join.name: _joins_first},
    ),
    Mutation(
        id="throwing_callback_keeps_partitions",
        ticket=SEEDED,
        title="A member whose onPartitionsRevoked throws keeps what it revokes.",
        family=CALLBACKS,
        invariant="views_agree",
        doc=(
            "The exception ends the rebalance before the partitions are given up, and the member"
            " goes on with them."
        ),
        scope={"members": 2, "generations": 2},
        twists={callback_runs.name: _keeps},
    ),
)
