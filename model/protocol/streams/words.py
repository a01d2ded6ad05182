"""Steps of streams groups in words."""

from __future__ import annotations

from functools import partial

from groupcheck.model.protocol.codes import name_of
from groupcheck.model.protocol.consumer.commits import NOT_STORED, REFUSED_COMMITS, STORED
from groupcheck.model.protocol.consumer.words import DOES, SILENT, Words
from groupcheck.model.protocol.consumer.words import story_of as story_of_consumers
from groupcheck.model.protocol.consumer.words import tell as tell_of_consumers
from groupcheck.model.protocol.streams.heartbeats import REFUSED
from groupcheck.model.protocol.streams.tasks import shown

UNAVAILABLE = "answers 15 COORDINATOR_NOT_AVAILABLE"
WORDS = Words(
    does={
        **DOES,
        "start_thread": "starts",
        "send_streams_heartbeat": "sends a heartbeat",
        "ask_to_stop": "asks with a heartbeat that the application stops",
        "anybody_streams:request": "sends some heartbeat",
        "anybody_streams:failing": "sends some heartbeat whose append fails",
        "anybody_commits_streams:request": "sends some commit",
        "anybody_commits_streams:failing": "sends some commit whose append fails",
        "anybody_fetches_streams": "asks for the committed offset",
        "streams_session_timeout:removed": DOES["session_timeout:removed"],
        "streams_session_timeout:failed": DOES["session_timeout:failed"],
        "streams_rebalance_timeout:removed": DOES["rebalance_timeout:removed"],
        "streams_rebalance_timeout:failed": DOES["rebalance_timeout:failed"],
        "streams_ghost_expires": DOES["ghost_expires"],
        "streams_session_over": DOES["session_over"],
        "initial_delay_ends:computed": "makes a target at the end of the initial delay",
        "initial_delay_ends:idle": "makes no target at the end of the initial delay",
        "initial_delay_ends:failed": "cannot append the target at the end of the initial delay",
        "move_streams_coordinator": DOES["move_coordinator"],
        "topics_change": "sees other topics",
    },
    handles={
        "streams_heartbeat:added": "adds {who}",
        "streams_heartbeat:rejoined": "lets {who} begin anew",
        "reconcile_streams_member:unrevoked": "waits for {who} to give up {revoking}",
        "reconcile_streams_member:advanced": "has {assigned} for {who}",
        "reconcile_streams_member:failed": UNAVAILABLE,
        "leave_streams_group:left": "removes {who}",
        "leave_streams_group:failed": UNAVAILABLE,
        "target_written": "has a new target",
        **{f"streams_offset_commit:{label}": "stores the offset" for label in STORED},
        **{
            f"{rule}:{why}": f"answers {name_of(NOT_STORED[why])}"
            for rule, reasons in (
                ("streams_offset_commit", REFUSED_COMMITS),
                ("streams_offset_fetch", ("unknown", "stale")),
            )
            for why in reasons
        },
        **{
            f"streams_offset_fetch:{label}": "answers with what is committed"
            for label in ("absent", "found", "simple")
        },
        **{
            f"{rule}:{why}": f"answers {name_of(code)}"
            for rule in ("streams_heartbeat", "leave_streams_group")
            for why, code in REFUSED.items()
        },
    },
    silent=SILENT
    | {
        "compute_streams_target",
        "forget_former_tasks",
        "streams_heartbeat:accepted",
        "reconcile_streams_member:kept",
        "hear_streams_answer:well",
        "hear_streams_answer:unavailable",
    },
    hears={
        "hear_streams_answer:stops": "stops with the application",
        "hear_streams_answer:fenced": "gives up its tasks and joins again",
        "hear_streams_answer:fatal": "stops with an error",
    },
    timers=(
        "streams_session_timeout",
        "streams_rebalance_timeout",
        "streams_ghost_expires",
        "streams_session_over",
        "interval_passes",
        "initial_delay_ends",
    ),
    faults=(
        "crash",
        "close_consumer",
        "lose_answer",
        "fail_append",
        "ask_to_stop",
        "move_streams_coordinator",
        "topics_change",
    ),
    heartbeats=("send_streams_heartbeat",),
    handlers={"streams_heartbeat": "heartbeat", "leave_streams_group": "heartbeat"},
    last=("streams_heartbeat", "leave_streams_group", "reconcile_streams_member"),
    hearers=("hear_streams_answer",),
    shown=shown,
)
tell = partial(tell_of_consumers, words=WORDS)
story_of = partial(story_of_consumers, words=WORDS)
