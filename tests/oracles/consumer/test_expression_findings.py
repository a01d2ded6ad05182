"""What FINDINGS.md says of regular expressions of consumer groups, on Kafka's own code: K34
and K35."""

from __future__ import annotations

from typing import Any

import pytest

from groupcheck.oracles.consumer.committing import RETENTION, SILENT_MS
from groupcheck.oracles.consumer.resolving import BLIND, REFRESH_MS
from groupcheck.oracles.kafka.commands import Advance, Command, ConsumerGroupHeartbeat, Reset
from groupcheck.oracles.kafka.driver import shared
from groupcheck.oracles.kafka.memory import ConsumerMemory
from groupcheck.oracles.kafka.schedule import Schedule

OLD = ("4.0.0", "4.1.1", "4.2.0", "4.4.0")
VERSIONS = ["4.3.1", *(pytest.param(v, marks=pytest.mark.night) for v in OLD)]


def join(
    member: str, regex: str | None = None, topics: tuple[str, ...] = (), **more: Any
) -> Command:
    fields: dict[str, Any] = {"owned": {}, "rebalance_timeout_ms": SILENT_MS, **more}
    return ConsumerGroupHeartbeat(member=member, epoch=0, regex=regex, topics=topics, **fields)


def leave(member: str) -> Command:
    return ConsumerGroupHeartbeat(member=member, epoch=-1)


def after(kafka: str, *commands: Command) -> ConsumerMemory:
    config = dict(RETENTION)
    if kafka >= "4.3":
        config["group.consumer.assignment.interval.ms"] = "0"
    setup = Reset(topics={"t0": 2, "t1": 1}, config=config, denied={BLIND: "t1"})
    found = shared(kafka).run(Schedule(commands, setup))
    assert not found.refused
    memory = found.steps[-1].memory
    assert isinstance(memory, ConsumerMemory)
    return memory


def target(memory: ConsumerMemory) -> dict[str, set[str]]:
    return {member: {topic for topic, _ in given} for member, given in memory.target}


@pytest.mark.parametrize("kafka", VERSIONS)
def test_k34_an_expression_means_what_the_one_who_asked_may_describe(kafka: str) -> None:
    blind = (join("a", "t.*", client=BLIND), join("b", "t.*"))
    (known,) = after(kafka, *blind).regexes
    assert known.topics == ("t0",)
    assert set.union(*target(after(kafka, *blind)).values()) == {"t0"}  # nobody has t1
    # The other way round, the one that may not describe a topic is given it.
    both = (join("b", "t.*"), join("a", "t.*", client=BLIND))
    sighted = (*both, leave("b"), join("a", client=BLIND))
    assert target(after(kafka, *sighted))["a"] == {"t0", "t1"}


@pytest.mark.parametrize("kafka", VERSIONS[:1] + VERSIONS[2:])
def test_k34_each_refresh_by_another_one_rebalances_the_group(kafka: str) -> None:
    """From 4.1 on: 4.0 has no refresh."""
    commands: tuple[Command, ...] = (join("b", "t.*"), join("a", "t.*", client=BLIND))
    epochs = [after(kafka, *commands).epoch]
    for member, client in (("a", BLIND), ("b", "c"), ("a", BLIND)):
        commands = (*commands, Advance(ms=REFRESH_MS + 1), join(member, client=client))
        epochs.append(after(kafka, *commands).epoch)
    assert epochs == sorted({*epochs})


@pytest.mark.parametrize("kafka", VERSIONS)
@pytest.mark.parametrize("regex", ["none.*", "t1"])
def test_k35_a_member_whose_expression_is_not_resolved_takes_what_others_read(
    kafka: str, regex: str
) -> None:
    """An expression that matches nothing takes it for good."""
    began = (join("a", topics=("t0",)), join("b", topics=("t0",)), leave("a"), join("c", regex))
    memory = after(kafka, *began, Advance(ms=REFRESH_MS + 1), join("b", topics=("t0",)))
    given = dict(memory.target)
    missing = {("t0", 0), ("t0", 1)} - {*given.get("b", ())}
    if regex == "t1":  # it is resolved, and that rebalances the group
        assert not missing and given["c"] == {("t1", 0)}
        return
    assert missing
    # From 4.2 on, C is not given what it does not subscribe to.
    consumed = {p for m in memory.members for p in m.assigned or ()}
    assert (("t0", 0) in consumed and ("t0", 1) in consumed) == (kafka < "4.2")
