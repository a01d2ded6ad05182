"""The promises that hold while the application's onPartitionsRevoked runs."""

from __future__ import annotations

from typing import Annotated, Any

from groupcheck.model.engine import goal, invariant, step_invariant
from groupcheck.model.protocol.classic.client import Client, Prepare
from groupcheck.model.protocol.classic.features.callbacks import FAMILY as CALLBACKS
from groupcheck.model.protocol.classic.features.callbacks import callback_runs
from groupcheck.model.protocol.classic.group import Seats, is_member
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.messages import JoinGroup


@invariant(
    source="ConsumerCoordinator.onJoinPrepare, onJoinComplete",
    broken="{name} joins again while its onPartitionsRevoked still runs, and it still owns {owned}",
    of=CALLBACKS,
)
def revokes_before_joining(
    client: Annotated[Client, "client[i]"], link: Annotated[Link, "link[i]"]
) -> bool:
    """While onPartitionsRevoked runs, the member waits for no JoinGroup.

    Why: the thread that runs the callback is the one that sends JoinGroup. A round that completes
    meanwhile would give the partitions to others before the application is done with them.
    """
    waits = isinstance(link.parked, JoinGroup)
    return not (client.prepare == Prepare.REVOKING and waits)


@step_invariant(
    "client",
    "link",
    rules=(callback_runs.name,),
    source="KAFKA-9741; KIP-447",
    broken=(
        "{actor} commits from onPartitionsRevoked with a generation that it is not in, so"
        " the commit is refused"
    ),
    of=CALLBACKS,
)
def callback_commits_as_member(before: Any, after: Any, label: str) -> bool:
    """A commit from onPartitionsRevoked carries the member's id and the generation that it is in.

    Why: the coordinator refuses any other. A cooperative member calls back once it is in the new
    generation, so that one counts.
    """
    if label != "committed":
        return True
    sent = after.link.request
    return bool((sent.id, sent.generation) == (before.client.id, before.client.generation))


@goal(source="ConsumerRebalanceListener; FINDINGS.md, 20", of=CALLBACKS)
def callback_outlasts_membership(
    seats: Annotated[Seats, "seats[i]"], client: Annotated[Client, "client[i]"]
) -> bool:
    """The group has removed a member whose onPartitionsRevoked runs: it still owns what others may
    get, and a commit from now on is refused.
    """
    return client.prepare == Prepare.REVOKING and not is_member(seats[client.id])
