"""Wrong assignors, each with one mistake that somebody makes: the contract has to find all of them.

Each is Kafka's own function, made wrong, or a simple assignor of one's own. `WRONG` names them,
with the assignor of Kafka whose promises they claim to make.
"""

from __future__ import annotations

from attrs import evolve

from groupcheck.model.assignors import (
    connect_tasks,
    cooperative_sticky,
    range_,
    round_robin,
    server_range,
    sticky,
    uniform,
)
from groupcheck.model.assignors.group import every_partition, instance_first, subscribed_sizes
from groupcheck.oracles.assignment.promises import subscriptions_equal

WRONG = {}


def wrong(like):
    """Enters a function into `WRONG`."""

    def enter(function):
        WRONG[f"{like}: {function.__name__}"] = like, function
        return function

    return enter


def without_claims(group):
    return evolve(group, members=[evolve(m, owned=(), generation=-1) for m in group.members])


def without_instances(group):
    return evolve(group, members=[evolve(m, instance=None) for m in group.members])


def subscribers(group, topic, order=instance_first):
    return [m.id for m in sorted(group.members, key=order) if topic in m.topics]


def ranges(group, *, shift=False, order=instance_first, round_up=False):
    """Ranges of each topic. `shift`: each topic begins with another member; `round_up`: everybody
    gets the longer range.
    """
    given = {m.id: [] for m in group.members}
    for n, (topic, size) in enumerate(subscribed_sizes(group).items()):
        members = subscribers(group, topic, order)
        turned = members[n % len(members) :] + members[: n % len(members)] if shift else members
        quota, longer = divmod(size, len(members))
        start = 0
        for k, member in enumerate(turned):
            each = quota + (longer > 0 if round_up else k < longer)
            given[member] += [(topic, p) for p in range(start, min(size, start + each))]
            start += each
    return given


def to_one(group, partitions=None):
    """Every partition to its first subscriber."""
    given = {m.id: [] for m in group.members}
    for topic, number in partitions or every_partition(subscribed_sizes(group)):
        given[subscribers(group, topic)[0]].append((topic, number))
    return given


def moved(given, frm, to, partition):
    """The same with one partition elsewhere."""
    changed = {m: set(p) for m, p in given.items()}
    changed[frm].discard(partition)
    changed[to].add(partition)
    return changed


def first_two(group, given):
    """A partition of the first member that another member could have, and that member."""
    for member in group.members:
        for partition in sorted(given[member.id]):
            for other in group.members:
                if other is not member and partition[0] in other.topics:
                    return member.id, other.id, partition
    return None


# Range.


@wrong("range")
def begins_each_topic_with_another_member(group):
    return ranges(group, shift=True)


@wrong("range")
def ignores_instance_ids(group):
    return range_(without_instances(group))


@wrong("range")
def gives_everybody_the_longer_range(group):
    return ranges(group, round_up=True)


@wrong("range")
def deals_one_by_one(group):
    given = {m.id: [] for m in group.members}
    for topic, number in every_partition(subscribed_sizes(group)):
        members = subscribers(group, topic)
        given[members[number % len(members)]].append((topic, number))
    return given


@wrong("range")
def ends_at_partition_9(group):
    return {m: [p for p in given if p[1] < 10] for m, given in range_(group).items()}


@wrong("range")
def crashes_on_a_topic_that_does_not_exist(group):
    sizes = dict(group.topics)
    assert all(sizes[topic] >= 0 for m in group.members for topic in m.topics)
    return range_(group)


@wrong("range")
def crashes_on_an_empty_topic(group):
    for _, size in group.topics:
        1 // size
    return range_(group)


@wrong("range")
def leaves_out_members_without_topics_and_crashes_if_all_are(group):
    return (
        {m.id: range_(group)[m.id] for m in group.members if m.topics}
        if any(m.topics for m in group.members)
        else 1 // 0
    )


@wrong("range")
def takes_the_subscription_of_the_first_member_for_all(group):
    return range_(
        evolve(group, members=[evolve(m, topics=group.members[0].topics) for m in group.members])
    )


@wrong("range")
def keeps_ranges_together_only_below_five_members(group):
    return range_(group) if len(group.members) < 5 else ranges(group, shift=True)


@wrong("range")
def goes_by_racks_alone(group):
    """Every partition to the first subscriber that is near, whatever it has already."""
    if not group.racks:
        return range_(group)
    racks = dict(group.racks)
    given = {m.id: [] for m in group.members}
    for topic, number in every_partition(subscribed_sizes(group)):
        near = [m.id for m in group.members if topic in m.topics and m.rack in racks[topic][number]]
        given[(near or subscribers(group, topic))[0]].append((topic, number))
    return given


# Round robin.


@wrong("roundrobin")
def gives_all_to_one_where_subscriptions_differ(group):
    return round_robin(group) if subscriptions_equal(group) else to_one(group)


@wrong("roundrobin")
def sets_the_pointer_back_at_each_topic(group):
    return deals_one_by_one(group)


@wrong("roundrobin")
def skips_a_partition_if_it_is_not_the_members_topic(group):
    members = sorted(group.members, key=instance_first)
    given = {m.id: [] for m in group.members}
    for n, partition in enumerate(every_partition(subscribed_sizes(group))):
        member = members[n % len(members)]
        if partition[0] in member.topics:
            given[member.id].append(partition)
    return given


@wrong("roundrobin")
def sorts_members_by_id_alone(group):
    return round_robin(without_instances(group))


@wrong("roundrobin")
def sorts_static_members_by_their_id(group):
    by_id = {m.instance: m.id for m in group.members if m.instance}
    members = [evolve(m, instance=m.instance and by_id[m.instance]) for m in group.members]
    return round_robin(evolve(group, members=members))


@wrong("roundrobin")
def serves_four_members(group):
    few = evolve(group, members=group.members[:4])
    return {m.id: () for m in group.members} | round_robin(few)


@wrong("roundrobin")
def gives_a_partition_to_two_from_partition_10_on(group):
    given = {m: list(partitions) for m, partitions in round_robin(group).items()}
    for topic, size in subscribed_sizes(group).items():
        if size > 10:
            for member in subscribers(group, topic):
                given[member] = sorted({*given[member], (topic, 10)})
    return given


# Sticky.


@wrong("sticky")
def is_not_sticky(group):
    return sticky(without_claims(group))


@wrong("sticky")
def ignores_claims_where_subscriptions_differ(group):
    return sticky(group if subscriptions_equal(group) else without_claims(group))


@wrong("sticky")
def ignores_claims_of_more_than_four_members(group):
    return sticky(group if len(group.members) < 5 else without_claims(group))


@wrong("sticky")
def keeps_all_claims_and_never_evens_out(group):
    given = {m.id: {p for p in m.owned if p[0] in m.topics} for m in group.members}
    given = (
        {m: set() for m in given}
        if sum(map(len, given.values())) != len(set().union(*given.values()))
        else given
    )
    sizes = subscribed_sizes(group)
    given = {m: {p for p in owned if p[1] < sizes.get(p[0], 0)} for m, owned in given.items()}
    taken = set().union(*given.values())
    for partition in every_partition(sizes):
        if partition not in taken:
            able = subscribers(group, partition[0])
            given[min(able, key=lambda m: len(given[m]))].add(partition)
    return given


@wrong("sticky")
def believes_the_older_claim(group):
    newest = max((m.generation for m in group.members), default=0)
    turned = [
        evolve(m, generation=newest + 1 - m.generation) if m.owned else m for m in group.members
    ]
    return sticky(evolve(group, members=turned))


@wrong("sticky")
def gives_up_one_claim_too_many(group):
    given = sticky(group)
    claims = {p: m.id for m in group.members for p in m.owned}
    for member, owned in given.items():
        for other, others in given.items():
            mine = [p for p in owned if claims.get(p) == member]
            theirs = [p for p in others if claims.get(p) == other and mine and p[0] == mine[0][0]]
            if member != other and mine and theirs:
                once = moved(given, member, other, mine[0])
                return moved(once, other, member, theirs[0])
    return given


@wrong("sticky")
def forgets_claims_after_the_third_generation(group):
    late = [evolve(m, owned=(), generation=-1) if m.generation > 3 else m for m in group.members]
    return sticky(evolve(group, members=late))


@wrong("sticky")
def moves_everything_when_a_member_leaves(group):
    claims = [p for m in group.members for p in m.owned]
    new = any(not m.owned for m in group.members)
    gone = len(claims) < sum(subscribed_sizes(group).values())
    return sticky(without_claims(group) if gone and not new else group)


@wrong("sticky")
def forgets_the_claims_of_static_members(group):
    members = [evolve(m, owned=(), generation=-1) if m.instance else m for m in group.members]
    return sticky(evolve(group, members=members))


@wrong("sticky")
def crashes_on_a_claim_of_a_deleted_topic(group):
    sizes = dict(group.topics)
    assert all(sizes[topic] >= 0 for m in group.members for topic, _ in m.owned)
    return sticky(group)


# Cooperative sticky.


@wrong("cooperative-sticky")
def cooperates_but_is_not_sticky(group):
    """All over again each time; what changes hands waits."""
    planned = sticky(without_claims(group))
    owner = {p: m.id for m in group.members for p in m.owned}
    return {m: {p for p in ps if owner.get(p, m) == m} for m, ps in planned.items()}


@wrong("cooperative-sticky")
def hands_over_in_one_round(group):
    return sticky(group)


@wrong("cooperative-sticky")
def hands_over_in_one_round_from_partition_10_on(group):
    given, all_at_once = cooperative_sticky(group), sticky(group)
    return {m: given[m] | {p for p in all_at_once[m] if p[1] >= 10} for m in given}


@wrong("cooperative-sticky")
def never_takes_anything_away(group):
    """New members get what nobody has, and no more."""
    given = {m.id: {p for p in m.owned if p[0] in m.topics} for m in group.members}
    taken = {p for m in group.members for p in m.owned}
    for partition in every_partition(subscribed_sizes(group)):
        if partition not in taken:
            able = subscribers(group, partition[0])
            given[min(able, key=lambda m: len(given[m]))].add(partition)
    return given


@wrong("cooperative-sticky")
def takes_away_and_does_not_give(group):
    """What was taken away stays nobody's."""
    given = cooperative_sticky(group)
    waiting = any(m.owned for m in group.members)
    return {m.id: given[m.id] & m.owned if waiting else given[m.id] for m in group.members}


@wrong("cooperative-sticky")
def lets_a_topic_wait_for_ever(group):
    sizes = subscribed_sizes(group)
    last = max(sizes, default=None)
    if len(sizes) < 2:
        return cooperative_sticky(group)
    return {m: {p for p in ps if p[0] != last} for m, ps in cooperative_sticky(group).items()}


# Uniform and range of the coordinator.


@wrong("uniform")
def deals_anew_each_time(group):
    return uniform(without_claims(group))


@wrong("uniform")
def gives_all_of_a_topic_to_one_where_subscriptions_differ(group):
    return uniform(group) if subscriptions_equal(group) else to_one(group)


@wrong("uniform")
def keeps_every_target(group):
    return keeps_all_claims_and_never_evens_out(group)


@wrong("uniform")
def moves_one_more_than_needed(group):
    return (
        gives_up_one_claim_too_many(group)
        if subscriptions_equal(group) and len(group.members) > 2
        else uniform(group)
    )


@wrong("uniform")
def is_uneven_by_two(group):
    given = uniform(group)
    sizes = {m: len(p) for m, p in given.items()}
    most, least = max(sizes, key=sizes.get), min(sizes, key=sizes.get)
    topics = {m.id: m.topics for m in group.members}
    for partition in sorted(given[least]):
        if partition[0] in topics[most] and most != least:
            return moved(given, least, most, partition)
    return given


@wrong("server-range")
def ranges_in_the_order_of_the_map(group):
    order = {m.id: n for n, m in enumerate(group.members)}
    return ranges(group, order=lambda m: order[m.id] if m.instance is None else 0)


@wrong("server-range")
def turns_the_ranges_of_every_second_topic(group):
    given = {m.id: [] for m in group.members}
    for n, (topic, size) in enumerate(subscribed_sizes(group).items()):
        members = subscribers(group, topic)[:: -1 if n % 2 else 1]
        quota, longer = divmod(size, len(members))
        start = 0
        for k, member in enumerate(members):
            each = quota + (k < longer)
            given[member] += [(topic, p) for p in range(start, start + each)]
            start += each
    return given


@wrong("server-range")
def sorts_static_and_dynamic_members_by_their_ids(group):
    return server_range(without_instances(group))


@wrong("server-range")
def gives_the_rest_to_the_last_member(group):
    given = {m.id: [] for m in group.members}
    for topic, size in subscribed_sizes(group).items():
        members = subscribers(group, topic)
        quota = size // len(members)
        for k, member in enumerate(members):
            end = size if k == len(members) - 1 else (k + 1) * quota
            given[member] += [(topic, p) for p in range(k * quota, end)]
    return given


@wrong("connect")
def starts_tasks_that_others_still_run(group):
    return connect_tasks(without_claims(group))


@wrong("connect")
def stops_nothing_where_a_worker_comes(group):
    if not any(m.owned for m in group.members):
        return connect_tasks(group)
    owned = {partition for m in group.members for partition in m.owned}
    free = set(every_partition(subscribed_sizes(group))) - owned
    first, *_ = group.members
    return {m.id: {*m.owned, *(free if m is first else ())} for m in group.members}
