"""Kafka's weak points in regular expressions of consumer groups (KIP-848), and mistakes of
coordinators that resolve them in the background.
"""

from __future__ import annotations

from groupcheck.model.engine import evolve
from groupcheck.model.mutations.twists import Values, after, reads, sees
from groupcheck.model.protocol.consumer import heartbeats, regexes, timers
from groupcheck.model.protocol.consumer.regexes import Age
from groupcheck.model.protocol.consumer.scope import AS_KAFKA
from groupcheck.model.protocol.family import CONSUMER_REGEXES
from groupcheck.model.protocol.mutation import SEEDED, Mutation

ONE = {"members": 1, "topics": 2, "partitions": 1, "regexes": 1}
TWO = {**ONE, "members": 2}
GROWS = {**ONE, "faults": {"metadata": 1}}


def _counts_as_newest(before: Values, label: str, after: Values) -> Values:
    return {"regexes": evolve(after["regexes"], behind=False)}


def _overlooks_new_topics(before: Values, label: str, after: Values) -> Values:
    task = before["regexes"].task
    behind = before["regexes"].behind
    return {"regexes": evolve(after["regexes"], behind=behind, task=task)}


def _keeps_the_target(before: Values, label: str, after: Values) -> Values:
    return {"core": evolve(after["core"], pending=before["core"].pending)}


def _waits_for_nothing(given: Values) -> Values:
    return {"regexes": evolve(given["regexes"], age=max(given["regexes"].age, Age.OLDER))}


def _keeps_results(before: Values, label: str, after: Values) -> Values:
    return {"regexes": evolve(after["regexes"], found=before["regexes"].found)}


def _takes_nothing_away(before: Values, label: str, after: Values) -> Values:
    old, new = before["seat"], after["seat"]
    return {} if new is None else {"seat": evolve(new, pattern=new.pattern | old.pattern)}


MUTATIONS = (
    Mutation(
        id="expression_is_resolved_for_the_asker",
        ticket="K34",
        title="What a regular expression means hangs on who asked last.",
        family=CONSUMER_REGEXES,
        invariant="expression_means_what_it_matches",
        doc=(
            "The coordinator resolves all expressions of a group with the rights of the member"
            " whose heartbeat came first when it was time. If that one may not describe a topic,"
            " no member is given it, until another one asks, 10 minutes later at the earliest."
            " Reading: `k34=as_kafka`, with which members are also given topics that they may not"
            " describe."
        ),
        scope={**TWO, "restricted": True},
        twists=reads(regexes.resolver_looks, k34=AS_KAFKA),
    ),
    Mutation(
        id="expression_counts_as_what_others_read",
        ticket="K35",
        title="A member that waits for its regular expression is to get what others read.",
        family=CONSUMER_REGEXES,
        invariant="plan_is_legal",
        doc=(
            "A join by an expression that is not resolved does not rebalance the group, so the"
            " coordinator does not ask again whether all members subscribe to the same. If the"
            " group needs another target for another reason, as after a leave, the assignor takes"
            " the subscription of the first member for that of all. Reading: `k35=as_kafka`."
        ),
        scope={**TWO, "topics": 1, "faults": {"close": 1}},
        twists=reads(heartbeats.consumer_heartbeat, k35=AS_KAFKA),
    ),
    Mutation(
        id="old_result_counts_as_new",
        ticket=SEEDED,
        title="A result that was found before a topic was created counts as if it came after.",
        family=CONSUMER_REGEXES,
        invariant="expression_means_what_it_matches",
        doc=(
            "The resolver looks at the topics, a topic is created, and the result is written as"
            " that of the newest topics. Nobody asks for the new one before the refresh interval"
            " is over."
        ),
        scope=GROWS,
        twists=after(regexes.resolution_ends, change=_counts_as_newest),
    ),
    Mutation(
        id="new_topics_match_nothing",
        ticket=SEEDED,
        title="Topics that are created are not matched with the regular expressions of groups.",
        family=CONSUMER_REGEXES,
        invariant="expression_means_what_it_matches",
        doc=(
            "The coordinator hears of a new topic, and only groups that subscribe to it by name"
            " look at it. It is not consumed before the refresh interval is over."
        ),
        scope=GROWS,
        twists=after(timers.add_partition, change=_overlooks_new_topics),
    ),
    Mutation(
        id="resolution_moves_nothing",
        ticket=SEEDED,
        title="A regular expression means other topics, and the group keeps its target.",
        family=CONSUMER_REGEXES,
        invariant="other_topics_rebalance",
        doc=(
            "The result is written, and the group epoch is not bumped, so nobody is given the"
            " topics before something else rebalances the group."
        ),
        scope=ONE,
        twists=after(regexes.resolution_ends, change=_keeps_the_target),
    ),
    Mutation(
        id="resolution_waits_for_nothing",
        ticket=SEEDED,
        title="Regular expressions are resolved again at once.",
        family=CONSUMER_REGEXES,
        invariant="resolutions_are_apart",
        doc=(
            "A second expression, or a new topic, has all of them resolved again within 10 s of"
            " the last time. A client that changes its expression in a loop keeps the broker busy."
        ),
        scope=GROWS,
        twists=sees(heartbeats.consumer_heartbeat, change=_waits_for_nothing),
    ),
    Mutation(
        id="result_outlives_its_members",
        ticket=SEEDED,
        title="What a regular expression means is kept when its last member leaves.",
        family=CONSUMER_REGEXES,
        invariant="result_has_a_member",
        doc=(
            "The group still counts as one that subscribes to these topics: it is rebalanced when"
            " they change, and their offsets do not expire."
        ),
        scope={**ONE, "faults": {"close": 1}},
        twists=after(heartbeats.leave_consumer_group, change=_keeps_results),
    ),
    Mutation(
        id="record_keeps_what_is_gone",
        ticket=SEEDED,
        title="A member keeps topics that its regular expression does not mean any more.",
        family=CONSUMER_REGEXES,
        invariant="record_follows_its_expression",
        doc=(
            "A topic is deleted, and the next resolution does not find it. The member's record is"
            " told only what came."
        ),
        scope={**ONE, "faults": {"metadata": 2}},
        twists=after(regexes.tell_member, change=_takes_nothing_away),
    ),
)
