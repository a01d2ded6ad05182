"""Bugs of the ways in which applications commit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from groupcheck.model.engine import evolve
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.classic import client_faults
from groupcheck.model.protocol.classic.client import Calls, commit_answer, send_join
from groupcheck.model.protocol.classic.features.commit_styles import FAMILY as STYLES
from groupcheck.model.protocol.classic.scope import AUTO, SYNC
from groupcheck.model.protocol.mutation import SEEDED, Mutation
from groupcheck.model.protocol.transform import extended, rewritten


def _gives_up(rule: Rule) -> Rule:
    def change(
        before: dict[str, Any], label: str, after: dict[str, Any], scope: Any
    ) -> dict[str, Any]:
        done = evolve(after["client"], calls=Calls.NOTHING, dirty=False)
        return {**after, "client": done} if label == "retry" else after

    return extended(rule, change)


def _joins(rule: Rule) -> Rule:
    """The rule takes no notice of a call in which the application waits."""
    taken, given = len(rule.takes) + rule.slots.index("client"), 1 + rule.slots.index("client")

    def call(*args: Any) -> Iterator[Any]:
        client = args[taken]
        unaware = evolve(client, calls=Calls.NOTHING, dirty=False)
        for outcome in rule.call(*args[:taken], unaware, *args[taken + 1 :]):
            after = outcome[given]
            dirty = client.dirty and after.position == client.position  # what it gives up is clean
            after = evolve(after, calls=client.calls, dirty=dirty)
            yield (*outcome[:given], after, *outcome[given + 1 :])

    return rewritten(rule, call)


def _closes(rule: Rule) -> Rule:
    """The rule takes no notice of what the member has processed."""
    taken = len(rule.takes) + rule.slots.index("client")

    def call(*args: Any) -> Iterator[Any]:
        clean = evolve(args[taken], dirty=False)
        yield from rule.call(*args[:taken], clean, *args[taken + 1 :])

    return rewritten(rule, call)


MUTATIONS = (
    Mutation(
        id="commit_sync_gives_up",
        ticket=SEEDED,
        title="commitSync returns although its commit was answered with an error that passes.",
        family=STYLES,
        invariant="one_record_at_risk",
        doc="The error counts as an answer, and the application takes the record for committed.",
        scope={
            "members": 1,
            "generations": 1,
            "records": 2,
            "commit_style": SYNC,
            "phases": True,
            "faults": {"fail_over": 1},
        },
        twists={commit_answer.name: _gives_up},
        progress="commits_arrive",
        progress_scope={
            "members": 1,
            "records": 2,
            "commit_style": SYNC,
            "phases": True,
            "faults": {"fail_over": 1},
        },
    ),
    Mutation(
        id="joins_while_committing",
        ticket=SEEDED,
        title="A member joins again while its application waits in commitSync.",
        family=STYLES,
        invariant="calls_hold_the_thread",
        doc="The member joins in a thread of its own, which does not know of the commit.",
        scope={
            "members": 2,
            "generations": 1,
            "commit_style": SYNC,
            "faults": {"lose_response": 1},
        },
        twists={send_join.name: _joins},
    ),
    Mutation(
        id="closes_without_commit",
        ticket="KAFKA-15327",
        title="A member that commits by itself closes without a commit.",
        family=STYLES,
        invariant="close_commits",
        doc=(
            "The consumer of the new threading model left its group in close and did not commit"
            " what it had processed."
        ),
        scope={
            "members": 1,
            "generations": 1,
            "commit_style": AUTO,
            "faults": {"close": 1},
        },
        twists={client_faults.close.name: _closes},
    ),
)
