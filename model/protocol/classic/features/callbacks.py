"""A feature of the classic group: the application's rebalance callbacks take time, commit, or
throw (ConsumerRebalanceListener; protocol.md 2.3, 2.4).

Without it, revoking is one step with what follows. Here onPartitionsRevoked is a step of its own:
the member goes on owning its partitions, processes nothing, and its heartbeat thread goes on, until
the callback returns. Meanwhile the application may call commitSync, the group may remove the
member, and max.poll.interval.ms may pass. An eager member revokes before it sends JoinGroup. A
cooperative one revokes once its SyncGroup is answered, so it commits in the new generation.

A callback that throws, by itself or because its commit is refused, ends there: the member gives the
partitions up as if it had returned, and the application gets the exception from poll. An eager
member joins in the next poll then, instead of in this one.

What it leaves out:

- onPartitionsLost and onPartitionsAssigned. A commit in onPartitionsLost throws and sends nothing,
  and what is just assigned has no position to commit.
- A commit of a callback whose request or answer is lost. commitSync sends it again, as if the first
  one had not been sent yet.
- The callbacks of close and unsubscribe. `oracles/conform/member/application.py` has these as rows
  of the member; findings 20 and 21 come from there.

Kafka: ConsumerCoordinator (onJoinPrepare, onJoinComplete), ConsumerRebalanceListenerInvoker.

A callback is a step of its own only in these variants. In the others a member revokes in the step
in which it sends JoinGroup or receives the SyncGroup answer, because nothing can be seen in
between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar

from attrs import frozen

from groupcheck.model.engine import Spec, evolve, rule
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.classic import client as members
from groupcheck.model.protocol.classic import client_faults
from groupcheck.model.protocol.classic.client import (
    NOTHING,
    Client,
    Member,
    Prepare,
    committing,
    give_up,
    install,
    joining,
    must_call_back,
    must_commit_first,
    reset,
    send_join,
    wants_to_join,
)
from groupcheck.model.protocol.classic.feature import Feature
from groupcheck.model.protocol.classic.plain_group import PHASES_SCOPE
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.classic.step_words import Words
from groupcheck.model.protocol.codes import NONE, UNKNOWN_MEMBER_ID
from groupcheck.model.protocol.family import Family
from groupcheck.model.protocol.link import Link, send, send_into_the_void
from groupcheck.model.protocol.messages import JoinGroup, OffsetCommit
from groupcheck.model.protocol.mutation import SEEDED, Mutation
from groupcheck.model.protocol.transform import (
    extended,
    outcomes_changed,
    own,
    rebuilt,
    rewritten,
)

FAMILY = Family("rebalance callbacks", base="cooperative_callbacks")

Values = dict[str, Any]

LACKS: Mapping[str, str] = {
    "late_commit": "the application commits in its callback, which ends before JoinGroup is sent",
}
UNREACHED: Mapping[str, str] = dict.fromkeys(
    ("late_commit", "commit_behind_join"),
    "The application commits in its callback, which ends before JoinGroup is sent.",
)


@frozen(slots=False)
class CallbacksScope(Scope):
    """The scope of a group whose callbacks take time."""

    LACKS: ClassVar[Mapping[str, str]] = LACKS
    callbacks: ClassVar[bool] = True
    # Of `features.cooperative`, if it is there.
    NO_USER_DATA: ClassVar[str] = "nobody has looked at callbacks with them"


def callbacks(spec: Spec) -> Spec:
    """The feature: onPartitionsRevoked takes time and may commit."""
    usual = own(spec, members.send_join)
    rules: list[Rule] = [
        rewritten(usual, _after_the_callback(usual.call)),
        outcomes_changed(own(spec, members.sync_answer), _revoking_first),
        outcomes_changed(own(spec, members.join_complete), _revoking_first),
        outcomes_changed(own(spec, members.heartbeat_answer), _still_running),
        extended(own(spec, members.commit_answer), _committed),
        outcomes_changed(own(spec, client_faults.poll_timeout), _still_running),
        outcomes_changed(own(spec, client_faults.close), _only_between_callbacks),
        outcomes_changed(own(spec, client_faults.delay_request), _only_between_callbacks),
    ]
    return rebuilt(spec, rules, [call_back, callback_runs])


# -- it begins


@rule
def call_back(client: Client, link: Link, scope: Scope) -> Iterator[tuple[Client, Link]]:
    """onJoinPrepare of an eager member calls onPartitionsRevoked, behind its own commit."""
    if wants_to_join(client) and link.idle and _calls_back(client, scope):
        yield evolve(client, prepare=Prepare.REVOKING), link


def _calls_back(client: Client, scope: Scope) -> bool:
    return must_call_back(client, scope) and not must_commit_first(client, scope)


def _after_the_callback(usual: Callable[..., Iterable[Any]]) -> Callable[..., Iterator[Any]]:
    def send_join(client: Client, *more: Any) -> Iterator[Any]:
        if not _calls_back(client, more[-1]):
            yield from usual(client, *more)

    return send_join


def _revoking_first(before: Values, label: str, after: Values) -> Mapping[str, Any] | None:
    """onJoinComplete: a cooperative member whose share lacks what it owns calls back before it
    takes its share over.
    """
    was, now = before["client"], after["client"]
    if was.prepare == Prepare.REVOKING:
        return None  # join_complete waits for the callback
    done = now.state == Member.STABLE and now.granted == NOTHING
    if not done or not was.owned & ~now.owned:
        return after
    rejoin = was.rejoin and was.state == Member.STABLE  # what was told since SyncGroup was answered
    revokes = evolve(was, state=Member.STABLE, rejoin=rejoin, granted=now.owned)
    return {**after, "client": evolve(revokes, prepare=Prepare.REVOKING)}


# -- while it runs


def _still_running(before: Values, label: str, after: Values) -> Mapping[str, Any]:
    """The heartbeat thread makes the member forget its generation; the callback runs on. Its share
    was answered before the callback began, so that 22 leaves it its id.
    """
    was, now = before["client"], after["client"]
    if was.prepare != Prepare.REVOKING or now.prepare == Prepare.REVOKING:
        return after
    if label == "refused":
        unknown = before["link"].answer.code == UNKNOWN_MEMBER_ID
        now = reset(evolve(was, granted=NOTHING), unknown)
    return {**after, "client": evolve(now, prepare=Prepare.REVOKING)}


def _only_between_callbacks(before: Values, label: str, after: Values) -> Mapping[str, Any] | None:
    """The thread that runs the callback is the one that would close, and so send a LeaveGroup that
    is delayed.
    """
    return None if before["client"].prepare == Prepare.REVOKING else after


@rule("committed", "returned", "threw", when=lambda client: client.prepare == Prepare.REVOKING)
def callback_runs(client: Client, link: Link, scope: Scope) -> Iterator[tuple[str, Client, Link]]:
    """The application's onPartitionsRevoked: it may commit what it has processed, and it returns or
    throws. Outside a generation commitSync throws and sends nothing (generationIfStable).
    """
    if client.dirty and client.state == Member.STABLE and link.idle:
        after, commit = committing(client)
        yield "committed", after, send(link, commit)
    ended = _ended(client, scope)
    if client.failed:  # the same poll joins, and the next one throws
        _, join = joining(evolve(ended, failed=NONE), scope)
        yield "returned", ended, send_into_the_void(link, join)
        yield "threw", ended, link
    elif ended.prepare == Prepare.DONE:  # onJoinPrepare: JoinGroup follows, unless it threw
        joined, join = joining(ended, scope)
        yield "returned", joined, send(link, join)
        yield "threw", ended, link
    else:
        yield "returned", ended, link


# -- it ends


def _ended(client: Client, scope: Scope) -> Client:
    """The member gives up what it revokes. A member that has left the group meanwhile gives up
    everything: its next onJoinPrepare follows before it fetches.
    """
    if client.state != Member.STABLE:
        return evolve(give_up(client), granted=NOTHING, prepare=Prepare.NEEDED)
    if client.granted != NOTHING:
        return install(evolve(client, prepare=Prepare.NEEDED), scope)
    return evolve(give_up(client), prepare=Prepare.DONE)


def _committed(before: Values, label: str, after: Values, scope: Scope) -> Values:
    """commitSync throws where the commit is refused, and the callback ends with that. In a
    cooperative member onJoinComplete ends with it, too: its next poll finds that the generation is
    gone, and forgets the id (AbstractCoordinator.joinGroupIfNeeded).
    """
    was = before["client"]
    if was.prepare != Prepare.REVOKING or label in ("done", "retry"):
        return after
    return {**after, "client": _ended(after["client"], scope)}


WORDS = Words(
    does={
        "call_back": "calls onPartitionsRevoked before it joins again",
        "callback_runs:committed": "commits in onPartitionsRevoked",
        "callback_runs:returned": "returns from onPartitionsRevoked and gives up what it revokes",
        "callback_runs:threw": "throws in onPartitionsRevoked and gives up what it revokes",
    },
    notes={"call_back": "event", "callback_runs": "event"},
)


# -- How it can be wrong


# Other features may have given these rules more slots, which come last.


def _late_metadata(rule: Rule) -> Rule:
    def call(client: Client, link: Link, *others: Any) -> Iterator[Any]:
        for label, after, there, *more in rule.call(client, link, *others):
            if label == "committed":
                commit = OffsetCommit(client.id, client.generation - 1, client.position)
                there = send(link, commit)
            yield label, after, there, *more

    return rewritten(rule, call)


def _keeps(rule: Rule) -> Rule:
    def call(client: Client, link: Link, *others: Any) -> Iterator[Any]:
        for label, after, there, *more in rule.call(client, link, *others):
            yield label, after, there, *more
            if label == "returned":
                kept = evolve(after, owned=after.owned | client.owned)
                yield "threw", kept, there, *more

    return rewritten(rule, call)


def _joins_first(rule: Rule) -> Rule:
    def call(client: Client, link: Link, *others: Any) -> Iterator[Any]:
        yield from rule.call(client, link, *others)
        if client.prepare == Prepare.REVOKING and client.state == Member.STABLE and link.idle:
            join = JoinGroup(client.id, client.generation, owned=client.owned)
            joins = evolve(client, state=Member.PREPARING, rejoin=False)
            yield "sent", joins, send(link, join), *others[: len(rule.slots) - 2]

    return rewritten(rule, call)


BUGS = (
    Mutation(
        id="callback_commits_in_old_generation",
        ticket="KAFKA-9741",
        title="A commit from onPartitionsRevoked carries the generation before.",
        family=FAMILY,
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
        family=FAMILY,
        invariant="revokes_before_joining",
        doc="The callback runs in a thread of its own, and nobody waits for it.",
        scope={"members": 2, "generations": 2},
        twists={send_join.name: _joins_first},
    ),
    Mutation(
        id="throwing_callback_keeps_partitions",
        ticket=SEEDED,
        title="A member whose onPartitionsRevoked throws keeps what it revokes.",
        family=FAMILY,
        invariant="views_agree",
        doc=(
            "The exception ends the rebalance before the partitions are given up, and the member"
            " goes on with them."
        ),
        scope={"members": 2, "generations": 2},
        twists={callback_runs.name: _keeps},
    ),
)

# -- The feature

FEATURE = Feature(
    name="callbacks",
    title="rebalance callbacks that take time and commit",
    doc=(
        "onPartitionsRevoked takes time: the application commits in it, it throws, or it outlasts a"
        " timeout. A cooperative member revokes once SyncGroup is answered, so a commit there is"
        " one of the new generation (ConsumerRebalanceListener)."
    ),
    change=callbacks,
    after=("static", "mixed", "cooperative", "triggers", "offsets"),
    scope_type=CallbacksScope,
    families=(FAMILY,),
    words=WORDS,
    no_progress="a callback may last for ever, and no promise says when it ends",
    shows=(
        {"members": 1, "generations": 1, "records": 2, "faults": {"delay_request": 1}},
        {"members": 2, "generations": 2, "faults": {"rebalance_timeout": 1}},
        {"members": 2, "generations": 1, "autocommit": False},
        PHASES_SCOPE,
    ),
    unreached=UNREACHED,
    conformed=(),
    member_generations=1,
    bugs=BUGS,
)
