"""The type of a line of groupcheck's own format of events."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from attrs import frozen

from groupcheck.oracles.show.json_schemas import ABSENT, Also


@frozen(kw_only=True)
class EventLine:
    """One line of groupcheck's own format of events, which `groupcheck replay` reads: for clients
    whose logs it does not know.
    """

    schema: Annotated[
        Literal["groupcheck.event/1"],
        "Name and version of the format. Every line has it: so events are found among other lines.",
    ]
    event: Annotated[
        Literal[
            "started",
            "subscribed",
            "joining",
            "rejoin_requested",
            "id_given",
            "joined",
            "leading",
            "synced",
            "assigned",
            "revoked",
            "lost",
            "rebalancing",
            "left",
            "closed",
            "heartbeat",
            "poll_expired",
            "poll_resumed",
            "session_timed_out",
            "generation_reset",
            "join_failed",
            "sync_failed",
            "heartbeat_failed",
            "commit_failed",
            "commit_refused",
            "request_sent",
            "request_answered",
            "request_retried",
            "request_timed_out",
            "coordinator_query",
            "coordinator_found",
            "coordinator_lost",
            "coordinator_unavailable",
            "coordinator_loading",
            "disconnected",
            "fatal",
            "offset_found",
            "offset_missing",
            "offset_reset",
            "offset_out_of_range",
            "callback_failed",
            "handler_slow",
            "handler_failed",
            "handler_retries",
            "assign_misused",
            "subscription_changed",
            "partitions_changed",
            "topic_unknown",
            "setting_refused",
            "commit",
            "settings",
            "coordinator_changed",
            "error",
            "poll",
            "delivered",
            "processing_started",
            "processing_ended",
        ],
        "What happened. `commit`: offsets were committed; `commit_refused`: the coordinator"
        " refused a commit; `poll`: the application called poll(); `delivered`: it got records;"
        " `processing_started`,"
        " `processing_ended`: its handler began, or ended, a batch; `coordinator_changed`: the"
        " client goes to another coordinator; `error`: the client got an error that no other"
        " event tells; `settings`: what it was configured with. All others are statements of"
        " `groupcheck list statements`, which says what each means.",
    ]
    time: Annotated[
        str | float,
        "When: RFC 3339 text, or a number of seconds or milliseconds since 1970. Events without"
        " it count in the order of their lines, and lead to fewer causes.",
    ] = ABSENT
    group: Annotated[str, "The group: group.id."] = ABSENT
    member: Annotated[str, "The member id that the coordinator gave."] = ABSENT
    client: Annotated[
        str,
        "The client: client.id. Give at least one of `client`, `member` and `instance`, always"
        " the same.",
    ] = ABSENT
    instance: Annotated[str, "The instance id of a static member: group.instance.id."] = ABSENT
    process: Annotated[str, "The process, container or host."] = ABSENT
    library: Annotated[
        str,
        "The client library. Some causes concern one library only: java, librdkafka,"
        " kafka-python, aiokafka, sarama, franz-go, kafka-go, kafkajs, ruby.",
    ] = ABSENT
    generation: Annotated[int, "Generation of the group, or the member's epoch (KIP-848)."] = ABSENT
    partitions: Annotated[
        list[str], "Partitions, each as TOPIC-NUMBER: those of `assigned`, `revoked`, `lost`."
    ] = ABSENT
    whole: Annotated[
        bool,
        "True: `partitions` are all that the member has now (`assigned`) or gives up (`revoked`,"
        " `lost`); else they are added or taken away.",
    ] = ABSENT
    partition: Annotated[
        str,
        "The one partition that the event is about, as TOPIC-NUMBER: of `offset_reset`,"
        " `offset_missing`, `handler_retries`, `delivered`.",
    ] = ABSENT
    offset: Annotated[int, "The offset that the event is about; the first one of `delivered`."] = (
        ABSENT
    )
    last: Annotated[
        int,
        "The last offset of `delivered`, if there are several: records of one partition in the"
        " order of their offsets.",
    ] = ABSENT
    offsets: Annotated[
        dict[str, int],
        Also(maxProperties=10_000),
        "The offsets of `commit`, `commit_failed`, `commit_refused`: TOPIC-NUMBER -> offset.",
    ] = ABSENT
    topic: Annotated[str, "The one topic that the event is about."] = ABSENT
    before: Annotated[
        int,
        "How many topics there were, in `subscription_changed`, or partitions, in"
        " `partitions_changed`.",
    ] = ABSENT
    now: Annotated[int, "How many there are."] = ABSENT
    error: Annotated[
        str | int,
        "The error: Kafka's name (UNKNOWN_MEMBER_ID), its number (25), or the text of the library.",
    ] = ABSENT
    reason: Annotated[
        str, "Why, in words: of `left`, `rejoin_requested`, `disconnected`, `coordinator_lost`."
    ] = ABSENT
    api: Annotated[
        str,
        "The request, such as JoinGroup: of `request_sent`, `request_answered`,"
        " `request_timed_out`.",
    ] = ABSENT
    version: Annotated[str, "Version of the library, or of the request."] = ABSENT
    coordinator: Annotated[
        int, "The coordinator's broker id: of `coordinator_found`, `coordinator_changed`."
    ] = ABSENT
    limit_ms: Annotated[
        int,
        "The time limit that was exceeded, in ms: of `poll_expired`, `session_timed_out`,"
        " `request_timed_out`.",
    ] = ABSENT
    excess_ms: Annotated[int, "By how much it was exceeded, in ms."] = ABSENT
    delay_ms: Annotated[int, "How long the client waits before the next attempt, in ms."] = ABSENT
    duration_ms: Annotated[
        int, "How long it took, in ms: of `request_answered`, `processing_ended`, `handler_slow`."
    ] = ABSENT
    settings: Annotated[
        dict[str, str | float],
        Also(maxProperties=1000),
        "Setting -> value, by Kafka's names. `max.poll.interval.ms` lets groupcheck see polls"
        " that came late.",
    ] = ABSENT
    extra: Annotated[
        dict[str, Any], Also(maxProperties=1000), "Fields of your own; they are not read."
    ] = ABSENT
