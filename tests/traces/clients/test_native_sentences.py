"""What clients outside the JVM print is understood: by sentence, by error, and by who owned what.

The recordings in tests/data/clients are runs of confluent-kafka 2.16.1 (librdkafka 2.16.0) and of
kafka-python 3.0.12 against Kafka 4.3.0; owned.json holds what each program saw in its callbacks,
and what the broker answered.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from groupcheck.traces.clients.client_log import ClientLog
from groupcheck.traces.clients.errors import errors
from groupcheck.traces.clients.partitions import Holdings, partitions_of
from groupcheck.traces.clients.sentences import kinds
from groupcheck.traces.clients.statement import Statement
from groupcheck.traces.clients.who import names

RECORDED = Path(__file__).parents[2] / "data" / "clients"
OWNED = json.loads((RECORDED / "owned.json").read_text())
CALLBACK_MS = 150
"""A program learns of its partitions so much later than its library at most."""


def said(*lines: str) -> list[Statement]:
    return list(ClientLog().statements(enumerate(lines, 1)))


def recording(name: str) -> list[str]:
    return gzip.decompress((RECORDED / f"{name}.log.gz").read_bytes()).decode().splitlines()


def kinds_of(some: Iterable[Statement]) -> list[str]:
    return [each.kind for each in some]


ERRORS = {
    "KafkaError{code=UNKNOWN_MEMBER_ID,val=25,str='x'}": ("member_unknown", "UNKNOWN_MEMBER_ID"),
    "Broker: Unknown member": ("member_unknown", "UNKNOWN_MEMBER_ID"),
    "kafka server: The provided member is not known in the current generation": (
        "member_unknown", "UNKNOWN_MEMBER_ID"),
    "[25] Unknown Member ID: the member id is not in the current generation": (
        "member_unknown", "UNKNOWN_MEMBER_ID"),
    "UNKNOWN_MEMBER_ID: The coordinator is not aware of this member.": (
        "member_unknown", "UNKNOWN_MEMBER_ID"),
    "kafka.errors.UnknownMemberIdError: [Error 25]": ("member_unknown", "UNKNOWN_MEMBER_ID"),
    "{error,unknown_member_id}": ("member_unknown", "UNKNOWN_MEMBER_ID"),
    "JoinGroupResponse_v0(error_code=26, generation_id=-1)": (
        "session_refused", "INVALID_SESSION_TIMEOUT"),
    "Kafka::InconsistentGroupProtocol": ("protocol_mismatch", "INCONSISTENT_GROUP_PROTOCOL"),
    "RebalanceInProgressError": ("rebalancing", "REBALANCE_IN_PROGRESS"),
    "sync failed with RebalanceInProgress": ("rebalancing", "REBALANCE_IN_PROGRESS"),
    "[22] Illegal Generation: the generation id provided in the request": (
        "generation_old", "ILLEGAL_GENERATION"),
    "Broker: The member epoch is stale": ("generation_old", "STALE_MEMBER_EPOCH"),
    "GROUP_COORDINATOR_NOT_AVAILABLE": ("coordinator_unavailable", "COORDINATOR_NOT_AVAILABLE"),
    "Broker: Group coordinator not available": (
        "coordinator_unavailable", "COORDINATOR_NOT_AVAILABLE"),
    "NotCoordinatorForGroup": ("not_coordinator", "NOT_COORDINATOR"),
    "Broker: Coordinator load in progress": (
        "coordinator_loading", "COORDINATOR_LOAD_IN_PROGRESS"),
    "kafka server: The client is not authorized to access this group": (
        "not_authorized", "GROUP_AUTHORIZATION_FAILED"),
    "Topic authorization failed": ("not_authorized", "TOPIC_AUTHORIZATION_FAILED"),
    "Broker: Consumer group has reached maximum size": ("group_full", "GROUP_MAX_SIZE_REACHED"),
    "Static consumer fenced by other consumer with same group.instance.id": (
        "instance_fenced", "FENCED_INSTANCE_ID"),
    "errorCode=110": ("member_fenced", "FENCED_MEMBER_EPOCH"),
    "error code 111": ("instance_in_use", "UNRELEASED_INSTANCE_ID"),
    "UNSUPPORTED_ASSIGNOR": ("assignor_refused", "UNSUPPORTED_ASSIGNOR"),
    "Broker: The group id does not exist": ("group_id_missing", "GROUP_ID_NOT_FOUND"),
    "MemberIdRequiredError": ("id_given", "MEMBER_ID_REQUIRED"),
    "ERR__MAX_POLL_EXCEEDED": ("poll_expired", "_MAX_POLL_EXCEEDED"),
    "ErrorCode.Local_MaxPollExceeded": ("poll_expired", "_MAX_POLL_EXCEEDED"),
    "Message consumption error: PollExceeded (Local: Maximum application poll interval": (
        "poll_expired", "_MAX_POLL_EXCEEDED"),
}  # fmt: skip


@pytest.mark.parametrize("text", ERRORS)
def test_an_error_means_the_same_in_every_library(text: str) -> None:
    kind, error = ERRORS[text]
    found = said(f"2024-03-01 10:00:00 ERROR app - coordinator: {text}")
    assert [(s.kind, s.fields["error"]) for s in found] == [(kind, error)]


def test_numbers_of_errors_are_those_of_the_protocol() -> None:
    numbers = [error.number for error in errors().values()]
    assert len({*numbers}) == len(numbers)
    assert {errors()[n].number for n in ("ILLEGAL_GENERATION", "FENCED_INSTANCE_ID")} == {22, 82}
    assert {e.kind for e in errors().values() if e.kind} <= {*kinds()}


def test_every_error_of_kafka_is_known_under_its_number() -> None:
    """The list was written from Kafka's Errors.java and librdkafka's rdkafka.h."""
    lines = (RECORDED / "errors.txt").read_text("utf-8").splitlines()
    told = dict(line.split("\t") for line in lines if not line.startswith("#"))
    known = {str(error.number): name for name, error in errors().items() if error.number >= -1}
    assert len(told) > 130
    assert known == told


def test_a_small_error_code_of_another_program_is_no_error_of_kafka() -> None:
    assert said("the export of partitions ended with error code: 1") == []


def test_a_number_that_is_no_error_says_nothing() -> None:
    assert said("group: JoinGroupResponse_v0(error_code=0, generation_id=25)") == []


def test_a_refused_request_has_the_name_of_its_error_whatever_the_library_prints() -> None:
    line = (
        '%7|1646316162.104|HEARTBEAT|a#consumer-1| [thrd:main]: Group "g" heartbeat error response'
        " in state up (join-state steady, 3 partition(s) assigned): Broker: Unknown member"
    )
    failed, unknown = said(line)
    assert (failed.kind, failed.fields["error"]) == ("heartbeat_failed", "UNKNOWN_MEMBER_ID")
    assert unknown.kind == "member_unknown"
    assert {(s.group, s.client, s.time) for s in (failed, unknown)} == {
        ("g", "a#consumer-1", 1646316162104)
    }


MAXPOLL = (
    "Application maximum poll interval (300000ms) exceeded by 88ms (adjust max.poll.interval.ms for"
    " long-running message processing): leaving group"
)
LAYOUTS = {
    "stderr": "%4|1662554232.243|MAXPOLL|web#consumer-2| [thrd:main]: {}",
    "before 1.0": "%4|1662554232.243|MAXPOLL|web#consumer-2| {}",
    "C examples": "1662554232.243 RDKAFKA-4-MAXPOLL: web#consumer-2: [thrd:main]: {}",
    "syslog": "Sep  7 12:37:12 host app[7]: MAXPOLL: web#consumer-2: [thrd:main]: {}",
    ".NET": "4|2022-09-07 12:37:12.243|web#consumer-2|MAXPOLL| [thrd:main]: {}",
    "Serilog": "[12:37:12 WRN] Handle: web#consumer-2\tLevel: Warning\tMessage:[thrd:main]: {}",
    "Node": "{{ severity: 4, fac: 'MAXPOLL', name: 'web#consumer-2', message: '[thrd:main]: {}' }}",
    "JSON": '{{"level":"warn","msg":"web#consumer-2 [thrd:main]: {}"}}',
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_librdkafka_is_understood_in_the_layouts_of_its_wrappers(layout: str) -> None:
    (found,) = said(layout.format(MAXPOLL))
    assert (found.kind, found.library) == ("poll_expired", "librdkafka")
    assert found.client == "web#consumer-2"
    assert found.fields["limit"] == 300_000
    assert found.fields["setting_max__poll__interval__ms"] == "300000"


SAYS = {
    'Group "g": application *assign() call failed: Changes to the': ["assign_misused"],
    "Consumer group session timed out (in join-state steady) after 45010 ms without a successful"
    " response from the group coordinator (broker 3, last error was Success): revoking": [
        "session_timed_out"],
    'Group "g": synchronization failed: Broker: Group rebalance in progress: rejoining': [
        "sync_failed", "rebalancing"],
    "Offset commit (manual) failed for 1/1 partition(s) in join-state wait-unassign-call: Broker:"
    " Unknown member: t[0]@5(Broker: Unknown member)": ["commit_refused", "member_unknown"],
    "JoinGroup failed: Broker: Inconsistent group protocol": ["join_failed", "protocol_mismatch"],
    "ConsumerGroupHeartbeat fatal error: Broker: API version not supported": [
        "kip848_refused", "version_refused"],
    "GroupCoordinator/1: Received JoinGroupResponse (v5, 108 bytes, CorrId 5, rtt 566725.56ms)": [
        "request_answered"],
    "Broker does not support KIP-62 (requires Apache Kafka >= v0.10.1.0): consumer configuration"
    " `max.poll.interval.ms` (300000) is effectively limited by `session.timeout.ms` (10000)": [
        "poll_limit_unsupported"],
}  # fmt: skip


@pytest.mark.parametrize("text", SAYS)
def test_librdkafka_says(text: str) -> None:
    assert kinds_of(said(f"%4|1662554232.243|X|a#consumer-1| [thrd:main]: {text}")) == SAYS[text]


PYTHON = {
    "WARNING:kafka.coordinator:Heartbeat poll expired, leaving group": "kafka-python poll_expired",
    "INFO kafka.coordinator (Re-)joining group g": "kafka-python joining g",
    "INFO kafka.coordinator Successfully joined group g with generation 3": (
        "kafka-python joined g - 3"),
    "INFO kafka.coordinator Successfully joined group g <Generation 3 (member_id: c-ab, protocol:"
    " range)>": "kafka-python joined g c-ab 3",
    "INFO aiokafka.consumer Joined group 'g' (generation 3) with member_id c-ab": (
        "aiokafka joined g c-ab 3"),
    "DEBUG kafka.coordinator Heartbeat: g[3] c-ab": "kafka-python heartbeat g c-ab 3",
    "WARNING:aiokafka.consumer.group_coordinator:Heartbeat failed for group g because it is"
    " rebalancing": "aiokafka rebalancing g",
    "WARNING aiokafka.consumer.group_coordinator Heartbeat failed for group g: generation id is"
    " not  current.": "aiokafka generation_old g",
    "ERROR aiokafka.consumer.group_coordinator Heartbeat session expired - marking coordinator"
    " dead": "aiokafka session_timed_out",
    "WARNING:kafka.coordinator.consumer:Auto offset commit failed for group g: CommitFailedError:"
    " Commit cannot be completed since the group has already": "kafka-python commit_refused g",
    "aiokafka.errors.CommitFailedError: [Error] CommitFailedError: ('Commit cannot be completed"
    " since the group has already\\n    rebalanced": "aiokafka commit_refused",
    "WARNING:kafka.coordinator:Marking the coordinator dead (node 3) for group g: [Error 15]"
    " GroupCoordinatorNotAvailableError.": (
        "kafka-python coordinator_lost g", "kafka-python coordinator_unavailable g"),
    "ERROR kafka.coordinator Attempt to join group g failed due to fatal error: [Error 26]"
    " InvalidSessionTimeoutError: JoinGroupResponse_v0(error_code=26": (
        "kafka-python join_failed g", "kafka-python session_refused g"),
    "INFO aiokafka Failed to join: OffsetCommit failed for group g due to group error ([Error 22]"
    " IllegalGenerationError), will rejoin": (
        "aiokafka commit_refused g", "aiokafka generation_old g"),
    "WARNING kafka.conn <BrokerConnection node_id=2> timed out after 305000 ms. Closing"
    " connection.": "kafka-python request_timed_out",
}  # fmt: skip


@pytest.mark.parametrize("line", PYTHON)
def test_libraries_for_python_say(line: str) -> None:
    """Each value names the library and the kind, then the group, the member and the generation."""
    wanted = PYTHON[line] if isinstance(PYTHON[line], tuple) else (PYTHON[line],)
    for found, words in zip(said(f"2024-03-01 10:00:00,123 {line}"), wanted, strict=True):
        library, kind, *more = str(words).split()
        group, member, generation = [*more, "", "", ""][:3]
        assert (found.library, found.kind, found.group) == (library, kind, group)
        assert found.member == member.strip("-")
        assert str(found.fields.get("generation", "")) == generation


def test_the_loggers_of_a_broker_are_not_those_of_python() -> None:
    for logger in ("kafka.coordinator.group.GroupCoordinator", "kafka.consumer.Zookeeper"):
        assert names(f"INFO [x]: text ({logger})").library != "kafka-python"
    assert names("INFO kafka.consumer.group text").library == "kafka-python"


JSON_JOINED = (
    '{"level":"INFO","timestamp":"2023-10-06T12:00:50.029Z","logger":"kafkajs","message":"'
    '[ConsumerGroup] Consumer has joined the group","groupId":"g","memberId":"m-1","isLeader":true,'
    '"memberAssignment":{"t":[0,1],"u":[3]},"groupProtocol":"RoundRobinAssigner","duration":3012}'
)
JSON_HEARTBEAT = (
    '{"level":"ERROR","logger":"kafkajs","message":"[Connection] Response Heartbeat(key: 12, '
    'version: 0)","broker":"b:9092","clientId":"m","error":"%s","correlationId":9,"size":6}'
)
OTHERS = {
    # franz-go: its own logger, and plugins that print JSON
    "[INFO] joined; group: g, member_id: kgo-1, instance_id: <nil>, generation: 412, leader: no": (
        "franz-go joined g kgo-1 412"),
    '{"msg":"joined","group":"g","member_id":"kgo-1","instance_id":"<nil>","generation":3}': (
        "franz-go joined g kgo-1 3"),
    "[INFO] sync failed with RebalanceInProgress, rejoining; group: g": "franz-go rebalancing g",
    "[INFO] heartbeat errored; group: g, err: REBALANCE_IN_PROGRESS: The group is rebalancing, so a"
    " rejoin is needed.": "franz-go rebalancing g",
    "[ERROR] default commit failed; group: g, err: UNKNOWN_MEMBER_ID: The coordinator is not aware"
    " of this member.": ("franz-go commit_refused g", "franz-go member_unknown g"),
    "[WARN] join group failed; group: g, err: GROUP_AUTHORIZATION_FAILED: Not authorized to access"
    " group: Group authorization failed.": (
        "franz-go join_failed g", "franz-go not_authorized g"),
    # sarama
    "SARAMA: 09:30:06 client/coordinator coordinator for consumergroup g is #3 (b:9092)": (
        "sarama coordinator_found g"),
    "[sarama] consumergroup/session/sarama-ab-cd/12 heartbeat loop stopped": (
        "sarama detail - sarama-ab-cd 12"),
    "[Sarama] consumer/broker/3 abandoned subscription to t/0 because consuming was taking too"
    " long": "sarama handler_slow",
    "error: kafka server: The provided session timeout is outside the allowed range": (
        "sarama session_refused"),
    # kafka-go
    "joined group g as member main@host (github.com/segmentio/kafka-go)-11 in generation 4": (
        "kafka-go joined g main@host_(github.com/segmentio/kafka-go)-11 4"),
    "kafka-go: Failed to join group g: [27] Rebalance In Progress: the coordinator has begun"
    " rebalancing the group": "kafka-go rebalancing g",
    "kafka-go: Failed to sync group g: [25] Unknown Member ID: the member id is not in": (
        "kafka-go sync_failed g", "kafka-go member_unknown g"),
    # KafkaJS
    JSON_JOINED: ("kafkajs joined g m-1", "kafkajs assigned g m-1"),
    JSON_HEARTBEAT % "The group is rebalancing, so a rejoin is needed": "kafkajs rebalancing",
    JSON_HEARTBEAT % "The coordinator is not aware of this member": (
        "kafkajs heartbeat_failed", "kafkajs member_unknown"),
    '{"level":"ERROR","logger":"kafkajs","message":"[Consumer] Crash: KafkaJSNonRetriableError:'
    ' Request JoinGroup(key: 11, version: 5) timed out","groupId":"g"}': (
        "kafkajs fatal g", "kafkajs request_timed_out g"),
    # ruby-kafka
    "ERROR -- : [[g] {}:] [join_group] Timed out while waiting for response 2": (
        "ruby request_timed_out"),
}  # fmt: skip


@pytest.mark.parametrize("line", OTHERS)
def test_libraries_for_go_javascript_and_ruby_say(line: str) -> None:
    wanted = OTHERS[line] if isinstance(OTHERS[line], tuple) else (OTHERS[line],)
    for found, words in zip(said(line), wanted, strict=True):
        library, kind, *more = str(words).split()
        group, member, generation = [*more, "", "", ""][:3]
        assert (found.library, found.kind, found.group) == (library, kind, group.strip("-"))
        assert found.member == member.replace("_", " ")
        assert str(found.fields.get("generation", "")) == generation


def test_the_second_line_of_a_record_of_brod_belongs_to_the_group_of_the_first() -> None:
    head = "12:00:00.1 [info] Group member (g,coor=<0.211.0>,cb=<0.200.0>,generation=3):"
    _, failed, unknown = said(head, "failed to join group", "reason: unknown_member_id")
    assert (failed.library, failed.kind, failed.group) == ("brod", "join_failed", "g")
    assert unknown.kind == "member_unknown"


@pytest.mark.parametrize(
    "line",
    [
        "Error: group rebalance in progress",
        "  origin: 'kafka', message: 'group rebalance in progress', code: -1",
        "ErrorCode.RebalanceInProgress",
        "RDKafkaErrorCode::RebalanceInProgress",
        "kafka.RebalanceInProgressError",
    ],
)
def test_wrappers_of_librdkafka_name_its_errors_in_their_own_way(line: str) -> None:
    (found,) = said(line)
    assert (found.kind, found.fields["error"]) == ("rebalancing", "REBALANCE_IN_PROGRESS")


def test_the_lines_of_redpanda_are_those_of_a_broker() -> None:
    (found,) = said("TRACE 2023-01-01 10:00:00,123 kafka - [N:g S:Stable G:3] Removing unjoined"
                    " member m-1")  # fmt: skip
    assert (found.kind, found.group, found.member) == ("broker_left", "g", "m-1")
    assert found.fields["generation"] == 3


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("write tcp 10.0.0.1:40112->10.0.0.9:9092: write: broken pipe", "write: broken pipe"),
        ("dial tcp 10.0.0.9:9093: connect: connection refused", "connect: connection refused"),
        ("kafka.errors.NoBrokersAvailable: NoBrokersAvailable", "NoBrokersAvailable"),
    ],
)
def test_a_connection_that_ends_tells_why(line: str, reason: str) -> None:
    (found,) = said(line)
    assert (found.kind, found.fields["reason"]) == ("disconnected", reason)


@pytest.mark.parametrize(
    "line",
    [
        "dial tcp 10.0.0.1:5432: connect: connection refused",
        "PHP Fatal error: Uncaught Exception in /app/group.php",
        "git: Commit failed: no member",
        "leaving group chat",
        "Heartbeat failed: the load balancer does not answer",
    ],
)
def test_common_words_of_other_programs_say_nothing(line: str) -> None:
    assert said(f"2024-03-01 10:00:00 ERROR coordinator {line}") == []


def test_assignments_of_go_and_javascript_are_partitions() -> None:
    holdings = Holdings()
    for line in (
        "[INFO] new group session begun; group: g, added: t[0 1], u[3], lost: ",
        "[INFO] calling onRevoke at the end of a session; group: g, lost: map[t:[1]], stage: 1",
    ):
        for each in said(line):
            holdings.add(each)
    assert sorted(holdings.now) == ["t-0", "u-3"]
    (_, assigned) = said(JSON_JOINED)
    holdings.add(assigned)
    assert sorted(holdings.now) == ["t-0", "t-1", "u-3"]


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        (
            "consumer: read tcp 10.0.9.4:38146->b:9092: i/o timeout, exiting",
            {"host": "b"},
        ),
        ("Response: Request JoinGroup(key: 11, version: 5) timed out", {"api": "JoinGroup"}),
    ],
)
def test_a_request_that_waits_too_long_is_told(text: str, fields: dict[str, str]) -> None:
    (found,) = said(text)
    assert found.kind == "request_timed_out"
    assert fields.items() <= found.fields.items()


SAID_OF = {"HEARTBEAT 27": "rebalancing", "JOIN_GROUP 79": "id_given"}
SAID_OF |= {"OFFSET_COMMIT 22": "commit_refused", "OFFSET_COMMIT 25": "commit_refused"}


@pytest.mark.parametrize("name", OWNED)
def test_each_answer_with_an_error_is_told_once(name: str) -> None:
    """owned.json has the broker's request log, as the number of answers with each error."""
    told = kinds_of(said(*recording(name)))
    refused = OWNED[name]["refused"]
    assert {*refused} <= {*SAID_OF}
    for kind in {*SAID_OF.values()}:
        wanted = sum(n for what, n in refused.items() if SAID_OF[what] == kind)
        assert told.count(kind) == wanted, kind


def test_times_waits_and_settings_are_fields() -> None:
    (wait,) = said(
        "[thrd:b]: Received JoinGroupResponse (v5, 108 bytes, CorrId 5, rtt 566725.56ms)"
    )
    assert (wait.fields["api"], wait.fields["rtt"]) == ("JoinGroup", 566725.56)
    (old,) = said(
        "[thrd:main]: consumer configuration: Broker does not support KIP-62 (requires Apache Kafka"
        " >= v0.10.1.0): consumer configuration `max.poll.interval.ms` (300000) is effectively"
        " limited by `session.timeout.ms` (10000) with this broker version"
    )
    assert old.fields["setting_session__timeout__ms"] == 10_000


PARTITIONS = {
    "{TopicPartition(topic='t', partition=0), TopicPartition(topic=u'u', partition=2)}": "t-0 u-2",
    "t [3]": "t-3",
    "map[a:[0 1] b:[2]]": "a-0 a-1 b-2",
    "a[0 1], b[2]": "a-0 a-1 b-2",
    '{"a":[0,1],"b":[2]}': "a-0 a-1 b-2",
    "[('a', [0, 1]), ('b', [2])]": "a-0 a-1 b-2",
    "{'a': {0, 1}}": "a-0 a-1",
    "a(6GbKXXqqQcaa4OCzKQ2Yng)[0], a(6GbKXXqqQcaa4OCzKQ2Yng)[1]": "a-0 a-1",
    "[my-topic-0, my-topic-11]": "my-topic-0 my-topic-11",
    "set()": "",
}


@pytest.mark.parametrize("text", PARTITIONS)
def test_partitions_are_read_in_every_notation(text: str) -> None:
    assert partitions_of(text) == PARTITIONS[text].split()


@pytest.mark.parametrize("name", OWNED)
def test_who_owned_what_follows_from_the_log(name: str) -> None:
    """The library gives lost partitions up before the program hears of it."""
    holdings = Holdings()
    statements = said(*recording(name))
    for each in statements:
        holdings.add(each)
    found = sorted((s.partition, s.since, s.until, s.how) for s in holdings.spans_until(None))
    owned = sorted(map(tuple, OWNED[name]["owned"]))
    assert [span[0] for span in found] == [span[0] for span in owned]
    for (partition, since, until, how), (_, began, ended, why) in zip(found, owned, strict=True):
        assert since is not None and abs(since - began) < CALLBACK_MS, partition
        if why == "revoked":
            assert until is not None and how == "revoked" and abs(until - ended) < CALLBACK_MS
        elif why == "lost":
            assert until is not None and how == "lost" and until <= ended
        else:
            assert how == "end of log", (partition, why)
    ids = {s.member for s in statements} - {""}
    assert {*OWNED[name]["member_ids"]} <= ids
    assert {s.group for s in statements} <= {"", OWNED[name]["group"]}
