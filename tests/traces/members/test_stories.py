"""The story of a group comes out of its clients' logs alone.

live.tar.xz has recordings of real groups on Kafka 4.3.0 (kafka-python 3.0.12, confluent-kafka
2.16.1, Java 4.3.0; classic and KIP-848): the log of each client, and truth.json: what each program
saw in its callbacks, the generations and epochs by the broker's request log, and why each began.
"""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from groupcheck.traces.causes.evidence import Evidence
from groupcheck.traces.clients.client_log import ClientLog
from groupcheck.traces.members.group_story import GroupStory
from groupcheck.traces.members.story import MemberStory
from groupcheck.traces.story.events import RebalanceCause

RECORDED = Path(__file__).parents[2] / "data" / "clients" / "live.tar.xz"
CALLBACK_MS, ANSWER_MS = 150, 60
"""So much later than its library a program learns of its partitions, and so much later than the
coordinator answers the library says so, at most.
"""
EXPECTED = {
    "joined": {RebalanceCause.JOIN, RebalanceCause.MEMBER_REJOIN},
    "left": {RebalanceCause.LEAVE},
    "session": {RebalanceCause.GONE},
    "static": {RebalanceCause.GONE},
    "second": {RebalanceCause.MEMBER_REJOIN},
    "client": {RebalanceCause.LEADER_REJOIN},
    "partitions": {RebalanceCause.METADATA_CHANGE},
    "topic": {RebalanceCause.METADATA_CHANGE},
    "subscription": {RebalanceCause.METADATA_CHANGE},
}
"""The first word of a cause in truth.json -> what a story says."""
UNTOLD = {
    # The logs of the members that caused them are empty, and so is their leader's.
    *(("rolling_dynamic", "g1", generation) for generation in (5, 6, 7)),
    # No log of a client names the other members of a KIP-848 group: one was killed, one has none.
    ("kip848", "g1", 6),
    ("java_kip848", "g1", 6),
    ("broker_restart", "g2", 3),
}


@cache
def files() -> dict[str, str]:
    with tarfile.open(RECORDED) as tar:
        return {
            member.name: data.read().decode()
            for member in tar
            if (data := tar.extractfile(member)) is not None
        }


TRUTH: dict[str, Any] = json.loads(files()["truth.json"])


def stories(logs: Iterable[tuple[str, str]]) -> dict[str, GroupStory]:
    evidence = Evidence()
    for name, text in logs:
        evidence.add_all(ClientLog(name=name).statements(enumerate(text.splitlines(), 1)))
    return {group.group: group.story for group in evidence.by_group()}


@cache
def recorded(name: str) -> dict[str, GroupStory]:
    runs = TRUTH[name]["clients"]
    return stories((run, files()[f"{name}.{run}.log"]) for run in runs)


def told(name: str) -> dict[str, tuple[GroupStory, MemberStory]]:
    """RUN -> its group and its story; of a client whose log names no group there is none."""
    return {m.log: (s, m) for s in recorded(name).values() for m in s.members}


@pytest.mark.parametrize("name", TRUTH)
def test_each_generation_and_epoch_comes_out_of_the_clients_logs(name: str) -> None:
    members = told(name)
    times = [(g["group"], g["generation"], run, answered)
             for g in TRUTH[name]["generations"] for run, _, answered in g["joins"]]  # fmt: skip
    times += [(e["group"], e["epoch"], run, reached)
              for e in TRUTH[name]["epochs"] for run, reached in e["reached"].items()]  # fmt: skip
    for group, generation, run, answered in times:
        if run not in members:
            assert len(files().get(f"{name}.{run}.log", "")) < 3000  # it tells nothing
            continue
        seen = recorded(name)[group].rounds[generation]
        shown = [r.joined.time for m, r in seen if m.log == run and r.joined is not None]
        assert any(t is not None and abs(t - answered) < ANSWER_MS for t in shown), generation
    for g in TRUTH[name]["generations"]:
        if g["leader"] in members:
            rounds = members[g["leader"]][0].timeline.rounds
            (leader,) = (r.leader for r in rounds if r.to_generation == g["generation"])
            assert leader in members[g["leader"]][1].joined


@pytest.mark.parametrize("name", TRUTH)
def test_each_ownership_comes_out_of_the_clients_logs(name: str) -> None:
    """The console consumer has no callbacks that could tell the truth."""
    for run, (_, m) in told(name).items():
        client = TRUTH[name]["clients"][run]
        assert [*m.joined] == client["member_ids"]
        found = sorted((o.partition, o.since, o.until, o.how) for o in m.owned())
        owned = [] if run == "console" else sorted(map(tuple, client["owned"]))
        assert run == "console" or [o[0] for o in found] == [o[0] for o in owned], run
        for (partition, since, until, how), (_, began, ended, why) in zip(found, owned):
            assert abs(since - began) < CALLBACK_MS, partition
            if why == "revoked":
                assert how == "revoked" and abs(until - ended) < CALLBACK_MS, partition
            elif why == "lost":
                assert how == "lost" and until <= ended


@pytest.mark.parametrize("name", TRUTH)
def test_a_story_says_why_each_rebalance_began_or_that_no_log_tells(name: str) -> None:
    found = 0
    for cause in TRUTH[name]["causes"]:
        number, group = cause.get("generation", cause.get("epoch")), cause["group"]
        for r in recorded(name)[group].timeline.rounds:
            if r.to_generation != number:
                continue
            found += 1
            untold = (name, group, number) in UNTOLD
            expected = {RebalanceCause.NOT_TOLD} if untold else EXPECTED[cause["cause"].split()[0]]
            assert r.cause in expected, number
            who = {run for run in cause.get("who", "").split(", ") if not untold}
            assert {run for run in who if {*_ids(name, run)} & {*r.causers}} or untold, number
    assert found


def _ids(name: str, run: str) -> list[str]:
    return TRUTH[name]["clients"].get(run, {"member_ids": []})["member_ids"]


ID = "svc-0f1c0a4e-6a4b-4a6e-9d39-8a3b7a1b2c3d"
KAFKAJS = (
    '{{"level":"INFO","timestamp":"2024-05-01T10:00:{at}Z","logger":"kafkajs","message":"[Consumer'
    'Group] Consumer has joined the group","groupId":"g","memberId":"{id}","memberAssignment":'
    '{{"t":{some}}},"groupProtocol":"RoundRobinAssigner","duration":{took}}}'
)
FRANZ = (
    "2024-05-01T10:00:{at}Z [INFO] joined, balancing group; group: g, member_id: {id}, instance_id:"
    " <nil>, generation: {n}, balance_protocol: cooperative-sticky, leader: true"
)
LIBRARIES = {
    "franz-go": (
        "2024-05-01T10:00:01.000Z [INFO] joining group; group: g",
        FRANZ.format(at="04.000", id=ID, n=5),
        "2024-05-01T10:00:04.010Z [INFO] synced; group: g, assigned: t[0 1]",
        "2024-05-01T10:00:04.011Z [INFO] new group session begun; group: g, added: t[0 1], lost: ",
        "2024-05-01T10:00:14.000Z [INFO] joining group; group: g",
        FRANZ.format(at="15.000", id=ID, n=6),
        "2024-05-01T10:00:15.010Z [INFO] synced; group: g, assigned: t[0]",
        "2024-05-01T10:00:15.011Z [INFO] new group session begun; group: g, added: , lost: t[1]",
    ),
    "kafka-go": (
        f"2024/05/01 10:00:04 joined group g as member {ID} in generation 5",
        "2024/05/01 10:00:04 sync group finished for group, g",
        "2024/05/01 10:00:14 rebalancing consumer group, g",
        f"2024/05/01 10:00:15 joined group g as member {ID} in generation 6",
    ),
    "kafkajs": (
        KAFKAJS.format(at="04.000", id=ID, some=[0, 1], took=3000),
        KAFKAJS.format(at="15.000", id=ID, some=[0], took=1000),
    ),
    "aiokafka": (
        "2024-05-01 10:00:01,000 INFO aiokafka.consumer.group_coordinator (Re-)joining group g",
        "2024-05-01 10:00:04,000 INFO aiokafka.consumer.group_coordinator Joined group 'g'"
        f" (generation 5) with member_id {ID}",
        "2024-05-01 10:00:04,011 INFO aiokafka.consumer.group_coordinator Setting newly assigned"
        " partitions {TopicPartition(topic='t', partition=0),"
        " TopicPartition(topic='t', partition=1)} for group g",
        "2024-05-01 10:00:15,000 INFO aiokafka.consumer.group_coordinator Joined group 'g'"
        f" (generation 6) with member_id {ID}",
        "2024-05-01 10:00:15,011 INFO aiokafka.consumer.group_coordinator Setting newly assigned"
        " partitions {TopicPartition(topic='t', partition=0)} for group g",
    ),
    "sarama": (
        f"2024/05/01 10:00:14 consumergroup/session/{ID}/5 released",
        f"2024/05/01 10:00:24 consumergroup/session/{ID}/6 released",
        "2024/05/01 10:00:24 consumergroup/g: lost ownership of t/0 due to x",
    ),
    "brod": (
        "10:00:04.000 [info] Group member (g,coor=#PID<0.5.0>,cb=#PID<0.4.0>,generation=5):",
        "elected=true",
        "10:00:15.000 [info] Group member (g,coor=#PID<0.5.0>,cb=#PID<0.4.0>,generation=6):",
        "elected=false",
    ),
}


@pytest.mark.parametrize("library", LIBRARIES)
def test_members_of_any_library_tell_what_they_print(library: str) -> None:
    """KafkaJS prints no generation, sarama its sessions at their ends, kafka-go and brod no
    partitions in these lines.
    """
    (story,) = stories([("log", "\n".join(LIBRARIES[library]))]).values()
    (m,) = story.members
    numbers = [r.generation for r in m.rounds]
    assert numbers == ([None, None] if library == "kafkajs" else [5, 6])
    joined = [r.joined.time % 60_000 if r.joined and r.joined.time else None for r in m.rounds]
    assert joined == ([None, None] if library == "sarama" else [4000, 15000])
    assert library == "brod" or [*m.joined] == [ID]
    owned = [(o.partition, o.since % 60_000 // 1000, o.until % 60_000 // 1000) for o in m.owned()]
    if library in ("franz-go", "kafkajs", "aiokafka"):
        assert ("t-1", 4, 15) in owned
        assert len(owned) in (2, 3)  # aiokafka names all at each rebalance


def test_two_clients_without_names_in_one_log_claim_nothing() -> None:
    """Their member ids take turns."""
    other = ID.replace("0f1c", "1f1c")
    lines = (FRANZ.format(at=f"{k:02}.000", id=(ID, other)[k % 2], n=5 + k) for k in range(4))
    (story,) = stories([("log", "\n".join(lines))]).values()
    assert [m.shared for m in story.members] == [True]
    assert story.members[0].owned() == []


# --- a step that is never left

CGRP = "%7|17000000{at:02}.000|CGRPJOINSTATE|c#consumer-1| [thrd:main]: "
CHANGED = 'Group "g" changed join state {} -> {} (state up)'
BEATS = CGRP.replace("CGRPJOINSTATE", "HEARTBEAT") + 'Heartbeat for group "g" generation id 5'
JAVA = "[2024-05-01 10:00:{at:02},000] INFO [Consumer clientId=c, groupId=g] {text}"
LATER = "Discovered group coordinator b:9092 (id: 2147483646 rack: null)"


def standing(*lines: str) -> tuple[str, int | None, bool] | None:
    evidence = Evidence()
    evidence.add_all(ClientLog().statements(enumerate(lines, 1)))
    (group,) = evidence.by_group()
    (m,) = group.story.members
    found = m.standing()
    return found and (found.state.waits_for, found.lasted_ms, found.late)


@pytest.mark.parametrize(
    ("state", "waits_for"),
    [
        ("wait-join", "the answer to its JoinGroup"),
        ("wait-sync", "the answer to its SyncGroup"),
        ("wait-assign-call", "the application to take its new assignment"),
        ("wait-assign-rebalance_cb", "the application to take its new assignment"),
        ("wait-unassign-call", "the application to give its assignment up"),
        ("wait-incr-unassign-to-complete", "its partitions to stop"),
        ("assigned", "its fetchers to start"),
    ],
)
def test_a_state_of_librdkafka_that_is_never_left_says_what_ends_it(
    state: str, waits_for: str
) -> None:
    held = 'Group "g": add t [0]'
    lines = [CGRP.format(at=0) + held, CGRP.format(at=1) + CHANGED.format("x", state)]
    beats = [BEATS.format(at=at) for at in (2, 43)]
    assert standing(*lines, *beats) == (waits_for, 42_000, False)
    left = CGRP.format(at=44) + CHANGED.format(state, "steady")
    assert standing(*lines, *beats, left) is None


def test_the_model_says_what_comes_next_for_kafkas_own_client() -> None:
    sent = JAVA.format(at=1, text="(Re-)joining group")
    answered = JAVA.format(
        at=2, text=f"Successfully joined group with generation Generation{{generationId=5, memberId"
        f"='{ID}', protocol='range'}}",
    )  # fmt: skip
    synced = answered.replace("joined group with", "synced group in")
    later = JAVA.format(at=40, text=LATER)
    assert standing(sent, later) == ("the answer to its JoinGroup", 39_000, False)
    assert standing(sent, answered, later) == ("SyncGroup and its answer", 38_000, False)
    assert standing(sent, answered, synced, later) is None
    reset = JAVA.format(
        at=5, text="Resetting generation and member id due to: encountered UNKNOWN_MEMBER_ID from"
        " HEARTBEAT response",
    )  # fmt: skip
    assert standing(sent, answered, synced, reset, later) == ("its next JoinGroup", 35_000, False)
    limit = "[2024-05-01 10:00:00,000] INFO ConsumerConfig values: max.poll.interval.ms = 30000"
    assert standing(limit + " group.id = g client.id = c", sent, later) == (
        "the answer to its JoinGroup", 39_000, True,
    )  # fmt: skip


def test_a_callback_that_never_returns_is_a_step_that_is_never_left() -> None:
    revoked = JAVA.format(at=1, text="Revoke previously assigned partitions t-0")
    later = JAVA.format(at=40, text=LATER)
    assert standing(
        JAVA.format(at=0, text="Adding newly assigned partitions: t-0"), revoked, later
    ) == (
        "the application's callback for revoked partitions, and commits before the next join",
        39_000,
        False,
    )
    assert standing(
        JAVA.format(at=0, text="Adding newly assigned partitions: t-0"),
        revoked,
        JAVA.format(at=2, text="(Re-)joining group"),
        later,
    ) == ("the answer to its JoinGroup", 38_000, False)


# --- what begins nothing

BEAT = '%7|1700000000.{at:03}|HEARTBEAT|c#consumer-1| [thrd:main]: Heartbeat for group "g"'
ANSWER = (
    "%7|1700000000.{at:03}|JOINGROUP|c#consumer-1| [thrd:main]: JoinGroup response: GenerationId"
    f" {{n}}, Protocol range, LeaderId x, my MemberId {ID}, member metadata count 0: (no error)"
)


def test_a_generation_that_a_log_only_mentions_begins_no_rebalance() -> None:
    beats = [BEAT.format(at=k) + " generation id 7" for k in range(3)]
    later = [*beats, ANSWER.format(at=50, n=8), BEAT.format(at=90) + " generation id 8"]
    (story,) = stories([("log", "\n".join(later))]).values()
    assert [(r.from_generation, r.to_generation) for r in story.timeline.rounds] == [(7, 8)]
    # It is newer than the one before, so a rebalance must have been between.
    (story,) = stories(
        [("log", "\n".join([*later, BEAT.format(at=95) + " generation id 9"]))]
    ).values()
    assert [r.to_generation for r in story.timeline.rounds] == [8, 9]


def test_a_member_that_reconciles_was_a_member_before() -> None:
    line = JAVA.format(at=1, text="Member m-1 with epoch 4 transitioned from {} to RECONCILING.")
    (story,) = stories([("log", line.format("STABLE"))]).values()
    assert story.members[0].earlier == "m-1" and not story.timeline.counts["joined"]
    (story,) = stories([("log", line.format("JOINING"))]).values()
    assert story.members[0].earlier == "" and story.timeline.counts["joined"] == 1


def test_several_lines_about_one_refused_commit_are_one() -> None:
    client = JAVA.format(
        at=1, text="Failing OffsetCommit request since the consumer is not part of an active group"
    )
    thrown = (
        "org.apache.kafka.clients.consumer.CommitFailedException: Offset commit cannot be completed"
        " since the consumer is not part of an active group for auto partition assignment; it is"
        " likely that the consumer was kicked out of the group."
    )
    joined = JAVA.format(at=0, text="(Re-)joining group")

    def refused(*lines: str) -> int:
        (story,) = stories([("log", "\n".join((joined, *lines)))]).values()
        return story.members[0].commits_refused

    assert refused(client, thrown) == 1
    assert refused(client, thrown, client, thrown) == 2
    assert refused(client, client.replace("00:01", "00:09")) == 2


THROWN = "CommitFailedException: Offset commit cannot be completed"
UNKNOWN = "Offset commit failed on partition {}: The coordinator is not aware of this member."


@pytest.mark.parametrize(
    ("lines", "refused"),
    [
        ([UNKNOWN.format("t-0 at offset 7"), THROWN + " since the consumer is not part of"], 1),
        ([UNKNOWN.format("t-0 at offset 7"), UNKNOWN.format("u-1 at offset 9")], 1),
        ([UNKNOWN.format("t-0 at offset 7"), UNKNOWN.format("t-0 at offset 8")], 2),
        ([UNKNOWN.format("t-0 at offset 7"), "Committed offset 7 for partition t-0", THROWN], 2),
        ([UNKNOWN.format("t-0 at offset 7"), *["(Re-)joining group"] * 3, THROWN], 2),
    ],
)
def test_two_lines_that_tell_of_one_refused_commit_count_once(
    lines: list[str], refused: int
) -> None:
    framed = (
        f"2024-03-04 10:00:{k // 2:02},{5 * (k % 2)}00 [Consumer clientId=c-1, groupId=g] {text}"
        for k, text in enumerate(["Successfully synced group in generation 3", *lines])
    )
    evidence = Evidence()
    evidence.add_all(ClientLog().statements(enumerate(framed, 1)))
    (group,) = evidence.by_group()
    (m,) = group.story.members
    assert m.commits_refused == refused
