"""Causes are found by their signs, and their consequences are not called causes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from groupcheck.model.engine.errors import UserError
from groupcheck.traces.causes.diagnosis import Diagnosis, diagnose
from groupcheck.traces.causes.evidence import Evidence
from groupcheck.traces.causes.group_evidence import GroupEvidence
from groupcheck.traces.causes.knowledge import (
    Knowledge,
    knowledge_of,
    read_causes,
    shipped_knowledge,
)
from groupcheck.traces.causes.turn_on import by_library, to_turn_on
from groupcheck.traces.clients.client_log import ClientLog
from groupcheck.traces.clients.durations import told_duration
from groupcheck.traces.clients.settings import settings_told
from groupcheck.traces.clients.statement import Statement
from groupcheck.traces.facts.steps import steps_told
from groupcheck.traces.group_tables.outputs import Outputs
from groupcheck.traces.group_tables.table_log import Watching

PREFIX = "[Consumer clientId=c-1, groupId=orders]"
LOST = f"{PREFIX} Lost previously assigned partitions t-0"
REFUSED = f"{PREFIX} Failing OffsetCommit request since the consumer is not part of an active group"
MINE = """
[[cause]]
kind = "mine"
severity = "troubled"
title = "t"
text = "{{ who }} in {{ group }}"
action = "a"
[[cause.signs]]
needs = [{ kind = "lost", at_least = 2 }]
"""


def diagnosed(*lines: str) -> Diagnosis:
    evidence = Evidence()
    evidence.add_all(ClientLog().statements(enumerate(lines, 1)))
    (group,) = evidence.by_group()
    return diagnose(group, shipped_knowledge())


def test_a_cause_names_who_and_quotes_the_lines() -> None:
    found = diagnosed(REFUSED, LOST)
    (cause,) = found.causes
    assert (found.health, cause.cause.kind, cause.confidence) == (
        "broken",
        "poll_timeout",
        "likely",
    )
    assert "c-1" in cause.text
    assert [s.line for s in cause.evidence] == [1, 2]


def test_trouble_without_a_cause_says_what_to_look_for() -> None:
    found = diagnosed(LOST)
    assert (found.health, found.causes) == ("troubled", ())
    assert {f.cause.kind for f in found.candidates} == {"poll_timeout", "session_expired_client"}
    assert all("To decide:" in f.text for f in found.candidates)
    assert any("poll timeout has expired" in hint for hint in found.hints)


def test_a_file_of_a_user_adds_causes(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(MINE)
    causes = knowledge_of(tmp_path / "mine.toml").causes
    assert causes["mine"].signs[0].needs[0].at_least == 2
    assert "poll_timeout" in causes


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('"lost"', '"nonsense"', "which no sentence says"),
        ('"troubled"', '"bad"', "severity"),
        ("{{ group }}", "{{ group", "is no template"),
        ("[[cause]]", "[[cause", "is not TOML"),
        ('title = "t"', 'tilte = "t"', "tilte"),
        ('title = "t"', 'title = "t"\ncomes_back = true\novercome_by = ["joined"]', "has both"),
    ],
)
def test_a_mistake_in_a_file_of_causes_is_told(old: str, new: str, told: str) -> None:
    with pytest.raises(UserError, match=told):
        read_causes(MINE.replace(old, new), "mine.toml")


@pytest.mark.parametrize(
    ("more", "text", "severity"),
    [
        ("", "c-1 in orders", "troubled"),
        ("comes_back = true", "It came back: c-1 joined afterwards (line 3).", "troubled"),
        ('overcome_by = ["joined"]', "That is overcome: c-1 joined afterwards (line 3).", "calm"),
    ],
)
def test_a_cause_says_itself_what_a_later_join_means(more: str, text: str, severity: str) -> None:
    (mine,) = read_causes(MINE.replace("[[cause.signs]]", f"{more}\n[[cause.signs]]"), "mine.toml")
    evidence = Evidence()
    lines = (LOST, LOST, f"{PREFIX} Successfully joined group with generation 5")
    evidence.add_all(ClientLog().statements(enumerate(lines, 1)))
    found = diagnose(evidence.by_group()[0], Knowledge({"mine": mine}))
    (cause,) = found.causes
    assert (cause.text.endswith(text), cause.severity) == (True, severity), cause.text


def test_a_step_of_a_user_is_asked_first(tmp_path: Path) -> None:
    own = '[[step]]\nof = [{ kind = "lost" }]\ntext = "drops|: {partitions}"\n'
    (tmp_path / "mine.toml").write_text(own)
    evidence = Evidence()
    evidence.add_all(ClientLog().statements([(1, LOST)]))
    (group,) = evidence.by_group()
    (steps,) = steps_told(group.all(), True, knowledge_of(tmp_path / "mine.toml").steps)
    assert steps.text.startswith("c-1 drops: t-0 (line 1)")
    (tmp_path / "mine.toml").write_text(own.replace("lost", "nonsense"))
    with pytest.raises(UserError, match="a step looks at 'nonsense'"):
        knowledge_of(tmp_path / "mine.toml")


def test_a_text_that_fails_is_told(tmp_path: Path) -> None:
    broken = MINE.replace("{{ who }} in {{ group }}", "{{ 1 / 0 }}").replace(
        "at_least = 2", "at_least = 1"
    )
    (tmp_path / "mine.toml").write_text(broken)
    evidence = Evidence()
    evidence.add_all(ClientLog().statements([(1, LOST)]))
    with pytest.raises(UserError, match="cannot be written: division by zero"):
        diagnose(evidence.by_group()[0], knowledge_of(tmp_path / "mine.toml"))


@pytest.mark.parametrize("library", by_library())
def test_a_log_that_cannot_tell_says_what_to_turn_on_in_its_library(library: str) -> None:
    evidence = GroupEvidence("g")
    evidence.add(
        Statement(kind="commit_failed", line=1, text="", library=library.replace("any", ""))
    )
    assert to_turn_on(evidence) == by_library()[library]


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (
            [
                '%7|1700000042.000|CGRPQUERY|a#consumer-1| [thrd:main]: Group "g": querying for '
                "coordinator: intervaled in state wait-broker",
            ],
            "told its coordinator",
        ),
        (
            [
                "10:00:00,000 DEBUG [Consumer clientId=c-1, groupId=g] Sending JoinGroup "
                "(JoinGroupRequestData(groupId='g')) to coordinator b:9092",
            ],
            "what JoinGroup was answered",
        ),
        (
            [
                "[2024-05-01 10:00:00,385] INFO [GroupCoordinator 1001]: Loading group metadata "
                "for g with generation 1 (kafka.coordinator.group.GroupCoordinator)",
            ],
            "Preparing to rebalance group",
        ),
    ],
)
def test_nobody_is_told_to_turn_on_what_is_on(lines: list[str], told: str) -> None:
    evidence = Evidence()
    evidence.add_all(ClientLog().statements(enumerate(lines, 1)))
    (group,) = evidence.by_group()
    words = to_turn_on(group)
    assert told in words and words not in by_library().values(), words


ROUND = (
    '%7|1700000042.000|HEARTBEAT|a#consumer-1| [thrd:main]: Group "g" heartbeat error response in'
    " state up (join-state steady, 1 partition(s) assigned): Broker: Group rebalance in progress",
    '%7|1700000042.100|JOIN|a#consumer-1| [thrd:main]: Group "g": join with 1 subscribed topic(s)',
    "%7|1700000042.200|SYNCGROUP|a#consumer-1| [thrd:main]: SyncGroup response: Success (9 bytes of"
    " MemberState data)",
)
COORDINATOR = "[2024-05-01 10:00:0{},000] INFO [GroupCoordinator 1]: {} (kafka.coordinator.group.G)"
BEGUN = COORDINATOR.format(
    1, "Preparing to rebalance group g in state PreparingRebalance with old generation 4"
    " (__consumer_offsets-3) (reason: leader m-1 re-joining group during Stable)",
)  # fmt: skip
STABLE = COORDINATOR.format(
    2, "Stabilized group g generation 5 (__consumer_offsets-3) with 1 members"
)


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ([BEGUN], "how the last rebalance ends"),
        ([STABLE, BEGUN], "how the last rebalance ends"),
        ([BEGUN, STABLE], "keep the logs of the clients"),
    ],
)
def test_a_coordinators_log_is_not_said_to_lack_what_it_has(lines: list[str], told: str) -> None:
    assert told in to_turn_on(of_lines(lines))


def test_a_members_log_is_not_said_to_lack_what_it_has() -> None:
    told = next(said for said in REJOINED if said in to_turn_on(of_lines(ROUND)))
    assert told == "keep the coordinator's log"
    told = next(said for said in REJOINED if said in to_turn_on(of_lines([*ROUND[1:], ROUND[0]])))
    assert told == "JoinGroup, its answer"


REJOINED = ("keep the coordinator's log", "JoinGroup, its answer")


def of_lines(lines: Iterable[str]) -> GroupEvidence:
    evidence = Evidence()
    evidence.add_all(ClientLog().statements(enumerate(lines, 1)))
    (group,) = evidence.by_group()
    return group


def test_nobody_is_told_to_turn_the_request_log_on_in_a_request_log() -> None:
    evidence = GroupEvidence("g")
    evidence.add(Statement(kind="zombie", line=1, text="HEARTBEAT was refused", library="broker"))
    assert "kafka.request.logger" in to_turn_on(evidence)
    assert "kafka.request.logger" not in to_turn_on(evidence, of_requests=True)


def test_a_thread_in_a_line_of_librdkafka_shows_no_debug_lines() -> None:
    line = "%4|1700000042.000|FAIL|a#c-1| [thrd:b:1/1]: b:1/1: Disconnected (after 5ms in state UP)"
    evidence = Evidence()
    evidence.add_all(ClientLog().statements([(1, line)]))
    (group,) = evidence.by_group()
    assert to_turn_on(group) == by_library()["librdkafka"]


@pytest.mark.parametrize(
    "line",
    [
        f"{PREFIX} Committed offset 10 for partition t-0",
        f"{PREFIX} Received successful Heartbeat response",
        f"{PREFIX} (Re-)joining group",
        '%7|1700000042.000|FETCHSTART|a#consumer-1| [thrd:main]: Group "g": not starting fetchers '
        "for 3 assigned partition(s) in join-state assigned (usable_offsets=no, v6, line 1): "
        "waiting for 1 commit(s)",
    ],
)
def test_calm_is_a_claim_that_needs_signs(line: str) -> None:
    found = diagnosed(line)
    assert found.health != "calm" and found.healthy == ()


def test_who_may_not_use_the_group_has_a_coordinator() -> None:
    line = (
        '{{"level":"ERROR","timestamp":"2024-05-01T10:00:00.{}Z","logger":"kafkajs","message":"'
        '[Connection] Response GroupCoordinator(key: 10, version: 2)","broker":"b1:9092",'
        '"clientId":"c-1","error":"{}","correlationId":0,"size":49}}'
    )
    denied = "Not authorized to access group: Group authorization failed"
    found = diagnosed(*(line.format(ms, denied) for ms in ("100", "900")))
    assert [f.cause.kind for f in found.causes + found.consequences] == ["authorization"]
    absent = "The group coordinator is not available"
    found = diagnosed(*(line.format(ms, absent) for ms in ("100", "900")))
    assert [f.cause.kind for f in found.causes] == ["coordinator_unavailable"]


def test_a_change_that_a_tool_may_not_make_does_not_trouble_the_group() -> None:
    refused = "Error: Assignments can only be reset if the group 'g' is inactive, but the"
    line = (1, f"{refused} current state is Stable.")
    evidence = Evidence()
    evidence.add_all(Watching().read(Outputs(), [line]))
    (group,) = evidence.by_group()
    found = diagnose(group, shipped_knowledge())
    assert [f.cause.kind for f in found.causes] == ["admin_on_live_group"]
    assert found.health == "unknown"


@pytest.mark.parametrize(
    ("static", "told", "never"),
    [
        (2, "Static members (group.instance.id) do not leave", "close() on SIGTERM"),
        (0, "close() on SIGTERM makes a stop leave at once", "Static members"),
    ],
)
def test_a_static_member_is_not_told_to_close(static: int, told: str, never: str) -> None:
    gone = (
        "[2024-04-01 10:00:00,371] INFO [GroupCoordinator 0]: Preparing to rebalance group g in"
        " state PreparingRebalance with old generation 3 (__consumer_offsets-6) (reason: removing"
        " member 3-20606550-fa61-44b9-81e2-f357697734c2 on heartbeat expiration)"
    )
    rest = (
        "[2024-04-01 10:00:02,568] INFO [GroupCoordinator 0]: Assignment received from leader"
        " 1-41f1f201-fcc0-4d12-a9ed-eeeb467ae0bf for group g for generation 4. The group has 2"
        f" members, {static} of which are static."
    )
    (found,) = diagnosed(gone, rest).causes
    assert told in found.action and never not in found.action


def test_a_setting_that_a_line_tells_is_told_with_its_value() -> None:
    late = "consumer poll timeout has expired. This means the time between calls to poll() was"
    told = "[slow] group=orders, max.poll.interval.ms=10000, max.poll.records=5"
    twin = "[Consumer instanceId=i-1, clientId=c-1, groupId=orders] The group instance id i-1 has"
    refused = "GroupHeartbeatRequest failed due to UNSUPPORTED_VERSION: null"
    cases = {
        "max.poll.interval.ms": ([told, f"{PREFIX} {late}"], "10000"),
        "max.poll.records": ([told, f"{PREFIX} {late}"], "5"),
        "group.instance.id": ([f"{twin} been fenced by another instance"], "i-1"),
        "group.protocol": ([f"{PREFIX} {refused}"], "consumer"),
    }
    for setting, (lines, value) in cases.items():
        (cause, *_) = diagnosed(*lines).causes
        assert cause.present.get(setting) == value, setting
        if setting == "max.poll.interval.ms":
            assert "did in the 10000 ms (10 s) before" in cause.action
    (cause,) = diagnosed(f"{PREFIX} {late}").causes
    assert not cause.present


@pytest.mark.parametrize(
    "told",
    [
        "session.timeout.ms: 6000",
        '{"session.timeout.ms":"6000"}',
        "KafkaConsumer(session_timeout_ms=6000)",
        "{'session_timeout_ms': 6000}",
        "-Dsession.timeout.ms=6000",
    ],
)
def test_a_setting_is_read_as_each_language_writes_it(told: str) -> None:
    assert settings_told(told) == {"setting_session__timeout__ms": 6000}
    assert settings_told(told.replace("6000", "is too short")) == {}


def test_a_duration_that_the_program_prints_is_told_with_its_cause() -> None:
    """Only one in whose time the member was lost."""
    late = f"10:00:50,000 WARN {PREFIX} consumer poll timeout has expired. This means the time"
    slow = "10:00:49,000 WARN resize of a picture took 41200 ms, event loop blocked"
    (cause,) = diagnosed(slow, late).causes
    assert cause.text.endswith("Line 1 says that something took 41200 ms (41 s).")
    (cause,) = diagnosed(late, slow.replace("00:49", "01:09")).causes
    assert "came back" not in cause.text  # that line is of no poll()
    for other in ("10:30:00,000 INFO export took 41200 ms", "10:00:49,000 INFO it took 41 ms"):
        (cause,) = diagnosed(late, other).causes
        assert "took" not in cause.text


@pytest.mark.parametrize(
    ("line", "ms"),
    [
        ("onPartitionsRevoked: done after 88543 ms", 88_543),
        ("blocked for 14 s", 14_000),
        ("batch finished in 14.5 seconds", 14_500),
        ("elapsed: 2 minutes", 120_000),
        ("took 10 members", None),
        ("completed 5 of 7 in 3 retries", None),
        ("took 300 ms", None),
    ],
)
def test_durations_are_read_in_each_unit(line: str, ms: int | None) -> None:
    assert told_duration(line) == ms


def test_two_names_of_one_member_are_told_as_one() -> None:
    fenced = "Received fatal exception: group.instance.id gets fenced"
    caught = "Caught fenced group.instance.id Optional[pod-0] error in heartbeat thread"
    (cause,) = diagnosed(f"{PREFIX} {fenced}", f"{PREFIX} {caught}").causes
    assert cause.text.startswith("pod-0 was fenced") and cause.who == ("pod-0",)


def test_an_empty_object_is_no_name() -> None:
    line = '{"message":"joined","group":"g","member_id":"m-1","instance_id":{},"generation":7}'
    (said,) = ClientLog().statements([(1, line)])
    assert (said.instance, said.member) == ("", "m-1")


def test_a_share_group_has_settings_of_its_own() -> None:
    by = "[GroupCoordinator id=3 topic=__consumer_offsets partition=17] [GroupId shr]"
    gone = f"{by} Member m-1 fenced from the group because the member session expired."
    (cause, *_) = diagnosed(gone, f"{by} Member m-2 left the share group.").causes
    assert [*cause.cause.settings] == ["group.share.session.timeout.ms"]


def test_a_streams_group_has_settings_of_its_own() -> None:
    by = "[GroupCoordinator id=3 topic=__consumer_offsets partition=17] [GroupId app]"
    gone = f"{by} Streams member m-1 fenced from the group because the member session expired."
    (cause, *_) = diagnosed(gone).causes
    assert [*cause.cause.settings] == ["group.streams.session.timeout.ms"]
    assert "m-1" in cause.text


def test_a_key_of_a_record_is_no_process() -> None:
    line = "err | GROUP_AUTHORIZATION_FAILED: Not authorized to access group: Group auth failed."
    (cause,) = diagnosed(line).causes
    assert cause.text.startswith("A member is not allowed")
    (cause,) = diagnosed(line.replace("err |", "web-1 |")).causes
    assert cause.text.startswith("web-1 is not allowed")
