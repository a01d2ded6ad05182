"""The promises of the three styles of commits, and the moments in which they differ (see
`groupcheck.model.protocol.classic.features.commit_styles`).
"""

from __future__ import annotations

from typing import Annotated, Any

from groupcheck.model.engine import goal, invariant, settles, step_invariant
from groupcheck.model.protocol.classic import client_faults, offsets
from groupcheck.model.protocol.classic.client import Calls, Client, Member
from groupcheck.model.protocol.classic.features.commit_styles import FAMILY as STYLES
from groupcheck.model.protocol.classic.offsets import Offsets
from groupcheck.model.protocol.classic.scope import ASYNC, AUTO, SYNC, Scope
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.messages import JoinGroup


def _goes_back(scope: Scope) -> bool:
    """May a commit that was held up take the place of a later one?"""
    return scope.has("delay_request")


@step_invariant(
    "client",
    "offsets",
    rules=(offsets.process_record.name,),
    source="KafkaConsumer.commitSync",
    broken=(
        "{name} begins another record while only {offsets.committed} are committed, although"
        " commitSync has thrown nothing"
    ),
    of=STYLES,
)
def one_record_at_risk(before: Any, after: Any, scope: Scope) -> bool:
    """With commitSync behind each record, an application begins a record only once all before it
    are committed. Exempt is one whose commitSync has thrown, and what follows a commit that was
    held up and has taken the place of a later one.

    Why: commitSync returns once its commit is answered, and sends it again until then. So one
    record at most is processed twice. With commitAsync, and with commits at an interval, any number
    may be (`nothing_uncommitted`).
    """
    told = before.client.calls == Calls.THREW or _goes_back(scope)
    if scope.commit_style != SYNC or told:
        return True
    return bool(before.offsets.committed >= before.client.position)


@invariant(
    source="ConsumerCoordinator.commitOffsetsSync",
    broken="{name} joins again while its application waits in commitSync",
    of=STYLES,
)
def calls_hold_the_thread(
    client: Annotated[Client, "client[i]"], link: Annotated[Link, "link[i]"]
) -> bool:
    """While the application waits in commitSync, the member waits for no answer to JoinGroup.

    Why: the thread that waits is the one that would join. A round that completes meanwhile would
    give the partitions to others before the application is done with them.
    """
    return not (client.calls == Calls.COMMIT_SYNC and isinstance(link.parked, JoinGroup))


@step_invariant(
    "client",
    rules=(client_faults.close.name,),
    source="ConsumerCoordinator.close; KAFKA-15327",
    broken="{actor} closes and leaves, and has not committed what it has processed",
    of=STYLES,
)
def close_commits(before: Any, after: Any, scope: Scope) -> bool:
    """A member that commits by itself and closes in its generation leaves only once what it has
    processed is committed, or the commit was refused.

    Why: the next owner starts at the committed offset.
    """
    now = before.client
    commits = scope.commit_style == AUTO and now.state == Member.STABLE and not now.failed
    ends = after.client in (Client(), Client(closing=True))
    return not (commits and ends and now.dirty)


@goal(source="KafkaConsumer.commitSync", of=STYLES)
def waits_in_commit_sync(client: Client) -> bool:
    """The application waits in commitSync, whose commit was lost or answered with an error that
    passes.
    """
    return client.calls == Calls.COMMIT_SYNC


@goal(source="CommitFailedException; RebalanceInProgressException", of=STYLES)
def commit_sync_has_thrown(client: Client) -> bool:
    """commitSync has thrown: the application has processed what is not committed, and goes on."""
    return client.calls == Calls.THREW


@goal(source="KafkaConsumer.commitAsync", of=STYLES)
def behind_for_good(offsets: Offsets, client: Client, link: Link, scope: Scope) -> bool:
    """A STABLE member has processed all records and has nothing to commit, and the committed offset
    is behind: a commit was lost that nobody sends again, or one that was held up has taken the
    place of a later one.
    """
    at_rest = client.state == Member.STABLE and not client.rejoin and not client.dirty
    arrived = client.position == scope.records and link.idle and link.late is None
    return at_rest and arrived and offsets.committed < client.position


@settles(source="KafkaConsumer.commitSync; protocol: C8", of=STYLES)
def commits_arrive(offsets: Offsets, client: Client, scope: Scope) -> bool:
    """Once faults stop, what a member has processed that goes on and owns the partition is
    committed.

    Exempt is commitAsync, which nobody repeats (`behind_for_good`), and what follows a commit that
    was held up. Why: commitSync sends its commit again until it is answered, and commits at an
    interval are tried again.
    """
    if client.failed or not client.owned >> offsets.watched & 1:
        return True
    if scope.commit_style == ASYNC or _goes_back(scope):
        return True
    return client.position == offsets.committed
