"""A static leader that comes back (KIP-814), on Kafka's own client: it watches the topics of the
group, makes no plan, and takes what it sees then for what the plan was made from.
"""

from __future__ import annotations

import pytest

from groupcheck.oracles.kafka.client import (
    Look,
    Schedule,
    Transcript,
    coordinator_found,
    joined,
    synced,
)
from groupcheck.oracles.kafka.client_commands import (
    Answer,
    Command,
    Network,
    Poll,
    Reset,
    SetTopics,
)
from groupcheck.oracles.kafka.driver import shared

ONE, TWO = (("t", 1),), (("t", 2),)
ASKING = (Poll(), coordinator_found(), Poll())
SHARE = (Network(), Network(), synced({"t": [0]}), Poll())
GROWS = (SetTopics(topics=TWO), Network(), Poll())
KIP_814 = Answer(
    api="JoinGroup", data={**joined(1, "m2", "m2", {"m2": ("t",)}).data, "skipAssignment": True}
)
BEFORE = joined(1, "m2", "m1")  # its old id leads
VERSIONS = pytest.mark.parametrize("version", ["4.3.0", "4.0.0"])


def back(version: str, told: Command, *then: Command, topics: object = ONE) -> Look:
    """The member whose JoinGroup in a Stable group of generation 1 is answered like that."""
    setup = Reset(instance="i", topics=topics, auto_commit=False)  # type: ignore[arg-type]
    result = shared(version).run(Schedule((*ASKING, told, *SHARE, *then), setup))
    assert isinstance(result, Transcript) and not result.refused, result
    return result.last


@VERSIONS
def test_a_leader_that_comes_back_sends_no_plan(version: str) -> None:
    setup = Reset(instance="i", topics=ONE, auto_commit=False)
    result = shared(version).run(Schedule((*ASKING, KIP_814, Network(), Network()), setup))
    assert isinstance(result, Transcript) and not result.refused
    sync = result.last.waiting("SyncGroup")
    assert sync is not None and sync.data["assignments"] == []


@VERSIONS
def test_a_leader_that_comes_back_joins_again_when_a_partition_is_added(version: str) -> None:
    assert back(version, KIP_814).owned == {("t", 0)}
    assert back(version, KIP_814, *GROWS).waiting("JoinGroup") is not None


@VERSIONS
def test_told_that_its_old_id_leads_it_notices_no_partition_that_is_added(version: str) -> None:
    assert back(version, BEFORE, *GROWS).waiting("JoinGroup") is None


@VERSIONS
def test_a_partition_that_was_added_while_the_leader_was_down_is_never_noticed(
    version: str,
) -> None:
    rests = back(version, KIP_814, *GROWS, topics=TWO)
    assert rests.owned == {("t", 0)} and not rests.rejoin
    assert rests.waiting("JoinGroup") is None
    more = (SetTopics(topics=(("t", 3),)), Network(), Poll())
    assert back(version, KIP_814, *more, topics=TWO).waiting("JoinGroup") is not None
