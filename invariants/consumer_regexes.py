"""What a consumer group of KIP-848 promises about regular expressions: each means the topics that
it matches and that its member may describe, soon after these topics are there.
"""

from __future__ import annotations

from typing import Any

from groupcheck.model.engine import goal, invariant, leads_to, step_invariant
from groupcheck.model.protocol.consumer import heartbeats, regexes
from groupcheck.model.protocol.consumer.memory import Core, Seat
from groupcheck.model.protocol.consumer.messages import Link
from groupcheck.model.protocol.consumer.regexes import Age, Regexes, subscribed
from groupcheck.model.protocol.consumer.scope import ConsumerScope
from groupcheck.model.protocol.consumer.subscriptions import hidden, there
from groupcheck.model.protocol.family import CONSUMER_REGEXES


@invariant(
    of=CONSUMER_REGEXES,
    source="KIP-848, regular expressions; TopicRegexResolver",
    broken="a member may describe a topic that its regular expression matches, and the group does"
    " not subscribe to it",
)
def expression_means_what_it_matches(
    core: Core, seat: Seat | None, link: Link, regexes: Regexes, scope: ConsumerScope
) -> bool:
    """Once it is resolved, and no topic was created since, a regular expression means each topic
    that it matches and that its member may describe.

    Why: nobody would consume the others, and nothing asks for them before the next refresh.
    """
    if seat is None or not seat.regex or regexes.behind or regexes.task is not None:
        return True
    if regexes.of(seat.regex) is None:
        return True
    matches = scope.meaning(seat.regex) & there(core, scope)
    return not matches & ~hidden(link, scope) & ~seat.pattern


@invariant(
    of=CONSUMER_REGEXES,
    source="ConsumerGroup.resolvedRegularExpressions",
    broken="a member's record and the group have other topics for one regular expression",
)
def record_follows_its_expression(
    seat: Seat | None, regexes: Regexes, scope: ConsumerScope
) -> bool:
    """A member subscribes to what its regular expression was resolved to, and to nothing by one
    that is not resolved.
    """
    if seat is None:
        return True
    return seat == subscribed(seat, regexes.found, scope)


@invariant(
    of=CONSUMER_REGEXES,
    source="GroupMetadataManager.maybeDeleteResolvedRegularExpressions",
    broken="the group keeps the topics of a regular expression that no member has",
)
def result_has_a_member(regexes: Regexes) -> bool:
    """What a regular expression was resolved to is forgotten with its last member.

    Why: the group would be rebalanced for topics that nobody reads, and their offsets kept.
    """
    return all(n or mask is None for n, mask in zip(regexes.members, regexes.found))


@step_invariant(
    "core",
    "regexes",
    rules=(regexes.resolution_ends.name,),
    source="GroupMetadataManager.handleRegularExpressionsResult",
    broken="a regular expression means other topics, and the group goes on with its old target",
    of=CONSUMER_REGEXES,
)
def other_topics_rebalance(before: Any, after: Any) -> bool:
    """The group is rebalanced if a regular expression means other topics than before."""
    old, new = before.regexes.found, after.regexes.found
    same = all((a or 0) == (b or 0) for a, b in zip(old, new))
    return same or bool(after.core.pending)


@step_invariant(
    "regexes",
    rules=(heartbeats.consumer_heartbeat.name,),
    source="GroupMetadataManager.REGEX_BATCH_REFRESH_MIN_INTERVAL_MS",
    broken="regular expressions are resolved again within 10 s, or twice at a time",
    of=CONSUMER_REGEXES,
)
def resolutions_are_apart(before: Any, after: Any) -> bool:
    """No resolution begins while another one runs, or within 10 s after the last one.

    Why: it matches every topic of the cluster, and any heartbeat could ask for it.
    """
    known = before.regexes
    if after.regexes.task in (None, known.task):
        return True
    return known.task is None and not (known.resolved and known.age == Age.RECENT)


def _waits(seat: Seat | None, regexes: Regexes) -> bool:
    return seat is not None and not seat.parked and regexes.of(seat.regex) is None


@leads_to(
    when=_waits,
    source="GroupMetadataManager.maybeUpdateRegularExpressions",
    of=CONSUMER_REGEXES,
)
def expression_is_resolved(seat: Seat | None, regexes: Regexes) -> bool:
    """A regular expression that a member has is resolved, or the member is gone.

    Why: 10 s after the last resolution, any heartbeat begins another one.
    """
    return not _waits(seat, regexes)


@leads_to(
    when=lambda regexes: regexes.behind,
    source="GroupMetadataManager.onMetadataUpdate; protocol: M6",
    of=CONSUMER_REGEXES,
)
def new_topic_is_matched(core: Core, regexes: Regexes) -> bool:
    """A topic that is created is matched with the group's regular expressions.

    Why: nobody would consume it, although a member asked for all topics of such names.
    """
    return not regexes.behind or core.members == 0


@goal(of=CONSUMER_REGEXES)
def result_is_behind(regexes: Regexes) -> bool:
    """A topic was created after the resolver had looked, and before its result was there."""
    return regexes.task is not None and regexes.task.behind


@goal(of=CONSUMER_REGEXES)
def subscribes_to_nothing_yet(seat: Seat | None, regexes: Regexes) -> bool:
    """A member waits for its regular expression, while another one is resolved."""
    return _waits(seat, regexes) and regexes.resolved
