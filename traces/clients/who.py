"""Names in a line of a client's log: its library, group, client, member and instance.

Java prints them in a prefix, librdkafka in the handle's name, the libraries for JavaScript and Go
as fields after the sentence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from attrs import evolve, frozen

from groupcheck.traces.lines.marks import is_mask
from groupcheck.traces.lines.shapes import LONGEST, by_shape, shape_of, shape_text

NAMES = ("group", "client", "member", "instance")


@frozen
class Names:
    """The writer of a line, as far as the line tells; else empty."""

    library: str = ""
    group: str = ""
    client: str = ""
    member: str = ""
    instance: str = ""


NOBODY = Names()
BROKER, TOOL = "broker", "kafka-consumer-groups"
JAVA, LIBRDKAFKA, KAFKA_PYTHON, AIOKAFKA = "java", "librdkafka", "kafka-python", "aiokafka"
SARAMA, FRANZ_GO, KAFKA_GO, KAFKAJS, RUBY = "sarama", "franz-go", "kafka-go", "kafkajs", "ruby"

_JAVA_PREFIX = re.compile(
    r"\[(?:Consumer|Worker|AdminClient|Producer|ShareConsumer|Schema registry) "
    r"(?:instanceId=(?P<instance>[^,\]]{1,300}), )?clientId=(?P<client>[^,\]]{0,300})"
    r"(?:, (?:groupId=(?P<group>[^\]]{0,300})|transactionalId=[^\]]{0,300}))?\]"
)
# %7|1795247443.207|CGRPSTATE|a#consumer-1| [thrd:main]:
_LIBRDKAFKA_LINE = re.compile(
    r"%\d\|\d{9,11}\.\d{1,3}\|\w{1,20}\|(?P<client>[^|]{1,250}#(?:consumer|producer)-\d{1,9})\|"
)
_HANDLE = re.compile(r"(?P<client>[^\s|\[\]:'\"(]{1,200}#(?:consumer|producer)-\d{1,9})\b")
_MARKS = (
    (
        BROKER,
        re.compile(r"\[GroupCoordinator (?:id=)?\d|\[GroupMetadataManager|\[Group Metadata Manager"
                   r"|kafka\.coordinator\.group\b"),
    ),
    (
        JAVA,
        re.compile(r"org[./]apache[./]kafka[./](?!coordinator)|\bo\.a\.k\.|stream-thread \["
                   r"|stream-client \[|Worker(?:Sink|Source)Task\{|\bSRMSG\d|\bSRHCK\d"
                   r"|org\.springframework\.kafka\.|\bo\.s\.k\.|KafkaMessageListenerContainer"
                   r"|a(?:kka|pache\.pekko)?\.kafka\.internal\.|kafka-coordinator-heartbeat-thread"
                   r"|kafka\.consumer\.(?:Zookeeper|ConsumerRebalanceFailed)"
                   r"|(?:Consumer|Distributed|Streams)Config values"),
    ),
    (
        LIBRDKAFKA,
        re.compile(r"\bStorageKafka2? \(|\barroyo\b|%[0-7]\|\d{9,}"
                   r"|severity\"?: ?\d, ?\"?fac\"?:|RDKAFKA-\d-"
                   r"|rdkafka|\[thrd:|Confluent\.Kafka|KafkaError\{"
                   r"|\bERR__|confluent[-_]kafka|\bLocal: [A-Z]|\bBroker: (?:Unknown|Group"
                   r"|Specified|Static|Coordinator|Not coord|The member|The group"
                   r"|Inconsistent|Consumer group|Topic auth|Invalid|Offset out|API version)"),
    ),
    (AIOKAFKA, re.compile(r"\baiokafka\b")),
    (KAFKAJS, re.compile(r"\"logger\":\s?\"kafkajs\"|KafkaJS|node_modules/kafkajs/|ClientKafka")),
    (
        KAFKA_PYTHON,  # its loggers; those of the broker and of Kafka 0.8 have names of classes
        re.compile(r"\bkafka\.(?:coordinator|consumer|conn|client|client_async|cluster|net|errors)\b"
                   r"(?!(?:\.[a-z]+)?\.[A-Z]|:type="
                   r"|[\w.-]{0,200}\.(?:local|svc|internal|com|net|org)\b)"
                   r"|\b_(?:send|handle)_(?:join|sync|leave)_group_(?:request|response):\d"
                   r"|-packages/kafka/"  # nor Java's names for JMX
                   r"|\bkafka\.errors\.\w{1,60}Error\b"
                   r"|\b[A-Z][A-Za-z]{3,40}(?:Request|Response)_v\d{1,2}\("),
    ),
    (SARAMA, re.compile(r"[Ss]arama|SARAMA|\bkafka server: |consumergroup/session/"
                       r"|\bkafka: (?:[Cc]lient has run|error (?:while|decod)|invalid|tried)")),
    (FRANZ_GO, re.compile(r"\bkgo\b|franz|unable to open connection to broker"
                          r"|read from broker errored|\b[A-Z]{3,}_[A-Z_]+: Th(?:e|is|ere) "
                          r"|; group: [^,;\s]{1,200}(?:, [a-z_]+: |$)")),
    ("kafka-node", re.compile(r"\bkafka-node:[A-Z]")),
    (KAFKA_GO, re.compile(r"segmentio|\bkafka-go\b")),
    (RUBY, re.compile(r"\bKafka::|ruby-kafka|[Rr]acecar|\[\[[^\]\s]{1,300}\] \{[^{}]{0,300}\}:\]")),
    ("brod", re.compile(r"Group member \([^,]{1,300},coor=|\bbrod\b|coordinator \(groupId=")),
    ("pykafka", re.compile(r"\bpykafka\b")),
)  # fmt: skip
_HEARTBEAT_THREAD = re.compile(
    r"kafka-coordinator-heartbeat-thread \| (?P<group>[^\]\s\",]{1,300})"
)
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_STREAMS = re.compile(
    rf"stream-(?:thread|client) \[(?P<id>(?:(?P<group>[^\]]{{1,250}}?)-{_UUID}|[^\]]{{1,250}}?)"
    r"(?P<thread>-StreamThread-\d{1,5})?)\]"
)
_SINK_TASK = re.compile(
    r"\[(?P<connector>[^\]|\[]{1,250})\|task-(?P<task>\d{1,5})(?:\|[\w-]{1,40})?\]"
    r"|WorkerSinkTask\{id=(?P<id>[^}]{1,250}-\d{1,5})\}"
)
_BROD_MEMBER = re.compile(r"\bcoor=(?:#PID)?(?P<client><\d{1,9}\.\d{1,9}\.\d{1,9}>)")
"""The process of a member; brod sends the node and this as the member's client id."""
_VALUE = r"[\"']?\s?[:=]\s?(?:u(?=['\"]))?[\"']?(?!\(no error)([^\s\"',;})\]]{1,300})"
_FIELDS = {
    "group": re.compile(
        rf"\b(?:groupId|group_id|group\.id|(?<![A-Za-z] )group(?!: Group auth)){_VALUE}"
        rf"|(?<=[A-Za-z] )\bgroup(?=[\"']?\s?=){_VALUE}"
        # "consumer group: orders", and not "closing consumer group: kafka: error while ..."
        r"|(?<=[A-Za-z] )(?<!members in )\bgroup: ?[\"']?(?!EOF\b)"
        r"([^\s\"',;})\]]{1,300})(?=[\"',;})\]]|\s*\Z)"
        r"|\b[Gg]roup(?: id| name| named)? "
        r"(?:\"([^\"]{1,300})\"|'([^'\s]{1,300})'|`([^`\s]{1,300})`)"
        r"|\bGroup member \(([^,]{1,300}),coor="  # brod
        r"|\bGroup (\S{1,300}) rebalance: "  # karafka
        r"|\bfor group (?!(?:coordinator|leader|management|member|metadata|rebalance|and|but|in|is"
        r"|to|with)\b)['\"]?([^\s'\",;:)]{1,300})"  # Python
    ),
    "client": re.compile(rf"\b(?:clientId|client_id|client\.id){_VALUE}"),
    "member": re.compile(
        rf"\b(?:memberId|member_id){_VALUE}|my MemberId ([^\s,]{{1,300}})"
        r"|\bmember id (?:\"([^\"(]{1,300})\"(?! ->)|'([^'\s]{1,300})'|`([^`\s]{1,300})`)"
    ),
    "instance": re.compile(  # not the end of the sentence "... with same group.instance.id"
        rf"(?<!same )\b(?:groupInstanceId|instance_id|group\.instance\.id){_VALUE}"
    ),
}
_NONE = {"null", "None", "nil", "undefined", "<nil>", "Optional.empty"}


_PATTERNS = (_JAVA_PREFIX, _LIBRDKAFKA_LINE, _HANDLE, _HEARTBEAT_THREAD, _STREAMS, _SINK_TASK,
             _BROD_MEMBER, *_FIELDS.values())  # fmt: skip


def names(line: str) -> Names:
    """The names of its writer that the line tells."""
    shape = shape_of(line)
    if len(shape) > LONGEST:
        return _found(line)
    places = _named(shape)
    if not places:
        return _nameless(shape)
    text = shape_text(shape)
    for a, b in places:
        text = text[:a] + line[a:b] + text[b:]
    return _names(text)


@by_shape
def _named(line: str) -> list[tuple[int, int]]:
    """The places where names may stand: no other digit of the line has a part in them."""
    hits = [hit for pattern in _PATTERNS if (hit := pattern.search(line)) is not None]
    return [hit.span(group) for hit in hits for group in range(1, hit.re.groups + 1) if hit[group]]


def _found(line: str) -> Names:
    found = _by_prefix(line)
    return _java_names(line, found) if found.library == JAVA else found


_names = lru_cache(maxsize=1 << 12)(_found)
_nameless = by_shape(_found)


def _java_names(line: str, found: Names) -> Names:
    """Adds the names that threads and tasks carry: a thread of Streams and a sink's task name their
    consumer, and the heartbeat thread its group. Names in the prefix are surer.
    """
    if found.client and found.group:
        return found
    group = client = ""
    if task := task_of(line):
        client = f"connector-consumer-{task}"  # unless the connector overrides it
    elif streams := _STREAMS.search(line):
        # By default the client's id is the application's and a UUID.
        group = streams["group"] or ""
        client = f"{streams['id']}-consumer" if streams["thread"] else ""
    elif thread := _HEARTBEAT_THREAD.search(line):
        group = thread["group"]
    return evolve(found, group=found.group or group, client=found.client or client)


def task_of(line: str) -> str:
    """The task of a sink that wrote the line, as connector-number; empty if the line names none."""
    if "|task-" not in line and "WorkerSinkTask{" not in line:
        return ""
    task = _SINK_TASK.search(line)
    if task is None:
        return ""
    return task["id"] or f"{task['connector']}-{task['task']}"


@by_shape
def _marked(line: str) -> str:
    """The library whose mark stands in the line; empty if none does."""
    return next((name for name, mark in _MARKS if mark.search(line)), "")


_BROKERS_OWN = re.compile(
    r"\bkafka\.(?:server|log|cluster|controller|network|zk|zookeeper|raft|utils|coordinator|security)"
    r"(?:\.[a-z]\w{0,60}){0,6}\.[A-Z]"
    r"|\borg\.apache\.kafka\.(?:storage|server|controller|image|metadata|raft|queue|network"
    r"|coordinator|security|timeline)\.|\bkafka\.Kafka\b"
)


@by_shape
def is_of_broker(line: str) -> bool:
    """Is there a logger in the line that only brokers and controllers have?"""
    return _BROKERS_OWN.search(line) is not None


def _by_prefix(line: str) -> Names:
    prefix = _JAVA_PREFIX.search(line)
    if line[:1] == "%" and (stock := _LIBRDKAFKA_LINE.match(line)) is not None:
        found = Names(LIBRDKAFKA, client=stock["client"])
    elif prefix is not None:
        found = Names(
            JAVA,
            group=_name(prefix["group"]),
            client=_name(prefix["client"]),
            instance=_name(prefix["instance"]),
        )
    else:
        library = _marked(shape_of(line))
        handle = _HANDLE.search(line) if "#consumer-" in line or "#producer-" in line else None
        found = Names(library, client=handle["client"] if handle else "")
        if not found.client and (member := _BROD_MEMBER.search(line)) is not None:
            found = evolve(found, client=member["client"])
        if handle and not library:
            found = evolve(found, library=LIBRDKAFKA)
    more = {
        key: _name(hit[hit.lastindex or 0]).rstrip(".")
        for key, pattern in _FIELDS.items()
        if not getattr(found, key)
        and key[1:] in line  # without its first letter, which may be a capital
        and (hit := pattern.search(line)) is not None
    }
    if _NO_GROUP.search(more.get("group", "")):
        del more["group"]
    return evolve(found, **more) if more else found


_OPTIONAL = re.compile(r"(?:Optional\[|Some\()(.{1,300})[\])]\Z")
_NO_GROUP = re.compile(r"Container(?:\$\w+)?\Z|\[\d{1,9}\]?\Z")
"""A class of Spring, or a partition as topic[number]."""
_QUOTES = "'\"`"
_BEHIND = re.compile(r"(?<=.)\"\s?[,}]")


def _name(text: str | None) -> str:
    return "" if text is None else shown_name(text)


def shown_name(text: str) -> str:
    """The name without what Java puts around it; empty for the words that mean none."""
    if text[:1] in "OS" and (wrapped := _OPTIONAL.match(text)):
        return wrapped[1]
    if len(text) > 2 and text[0] in _QUOTES and text[-1] == text[0]:
        text = text[1:-1]
    if (end := _BEHIND.search(text)) is not None:  # the sentence was a field of a record of JSON
        text = text[: end.start()]
    return "" if text in _NONE or is_mask(text) or not any(map(str.isalnum, text)) else text


def with_names(fields: Mapping[str, Any], about: Names) -> Names:
    """`about`, with the names among the fields of a sentence. Java's prefix is surer than they."""
    if fields.keys().isdisjoint(NAMES):
        return about
    java = about.library == JAVA
    group = _surer(fields.get("group"), about.group, java)
    if group is not about.group and _NO_GROUP.search(group):
        group = about.group
    return Names(
        about.library,
        group,
        _surer(fields.get("client"), about.client, java),
        _surer(fields.get("member"), about.member, java),
        _surer(fields.get("instance"), about.instance, java),
    )


def _surer(told: Any, known: str, java: bool) -> str:
    """What a field tells, or the name that is known."""
    if not told or (java and known):
        return known
    return shown_name(str(told)) or known
