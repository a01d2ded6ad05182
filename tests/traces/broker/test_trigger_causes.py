"""What makes a group rebalance although nobody comes or goes: in the broker's log each trigger
begins a round, and the replay names its cause, with what the client said of it.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from test_follow import A, B, C, Log, two_members

from groupcheck.traces.story.events import RebalanceCause

LEADS = f"Leader {A} re-joining group during Stable; client reason: "
CHANGED = "cached metadata has changed from {t=[rack]} at the beginning of the rebalance to "
SUBSCRIBED = "subscription has changed from [t] at the beginning of the rebalance to [t, u]"
# Kafka's own words: ConsumerCoordinator.rejoinNeededOrPending and onJoinComplete,
# GroupMetadataManager. Of each trigger: the reason of the round, its cause, the client's own words.
TRIGGERS = {
    "partitions are added": (
        f"{LEADS}{CHANGED}{{t=2}}",
        RebalanceCause.LEADER_REJOIN,
        CHANGED + "{t=2}",
    ),
    "a topic is deleted": (f"{LEADS}{CHANGED}{{}}", RebalanceCause.LEADER_REJOIN, CHANGED + "{}"),
    "a topic is made anew with fewer partitions": (
        f"{LEADS}{CHANGED}{{t=1}}",
        RebalanceCause.LEADER_REJOIN,
        CHANGED + "{t=1}",
    ),
    "the leader's pattern matches a new topic, or it subscribes to other topics": (
        f"{LEADS}{SUBSCRIBED}",
        RebalanceCause.LEADER_REJOIN,
        SUBSCRIBED,
    ),
    "a follower's pattern matches a new topic, or it subscribes to other topics": (
        f"Updating metadata for member {B} during Stable; client reason: {SUBSCRIBED}",
        RebalanceCause.METADATA_CHANGE,
        SUBSCRIBED,
    ),
    "a group is loaded above a lowered group.max.size": (
        "Freshly-loaded group g (size 2) is over capacity 1. Rebalancing in order to give a chance"
        " for consumers to commit offsets",
        RebalanceCause.OVER_CAPACITY,
        None,
    ),
}


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path)


@pytest.mark.parametrize("trigger", TRIGGERS)
def test_a_trigger_is_named_as_the_cause_of_its_round(trigger: str, log: Log) -> None:
    reason, cause, said = TRIGGERS[trigger]
    two_members(log)
    if cause == RebalanceCause.OVER_CAPACITY:
        unloaded = "[GroupId=g] Unloading group metadata for generation 2."
        log.say(unloaded, "Loaded classic group g with 2 members.")
    over = cause == RebalanceCause.OVER_CAPACITY
    group = log.prepare(2, reason).stable(3, 1 if over else 2, A).group()
    last = group.timeline.rounds[-1]
    assert (group.verdict, last.cause, last.client_reason) == ("holds", cause, said)


def test_a_process_that_comes_back_with_another_list_of_assignors_is_a_new_member(log: Log) -> None:
    """The list is what the process says in its JoinGroup. Nothing else in the log tells of it."""
    two_members(log).say(f"Member {B} in group g has failed, removing it from the group.")
    log.prepare(2, f"removing member {B} on heartbeat expiration.").stable(3, 1, A)
    group = log.added(3, C, "Stable").stable(4, 2, A).group()
    assert group.verdict == "holds"
    assert [r.cause for r in group.timeline.rounds[-2:]] == [
        RebalanceCause.SESSION_EXPIRED,
        RebalanceCause.JOIN,
    ]
