"""Steps of share groups in words."""

from __future__ import annotations

from functools import partial

from groupcheck.model.protocol.codes import name_of
from groupcheck.model.protocol.consumer.words import DOES, SILENT, Words
from groupcheck.model.protocol.consumer.words import story_of as story_of_consumers
from groupcheck.model.protocol.consumer.words import tell as tell_of_consumers
from groupcheck.model.protocol.share.heartbeats import REFUSED

UNAVAILABLE = "answers 15 COORDINATOR_NOT_AVAILABLE"
WORDS = Words(
    does={
        **DOES,
        "subscribe_share": "subscribes to all topics",
        "send_share_heartbeat": "sends a heartbeat",
        "anybody_shares:request": "sends some heartbeat",
        "anybody_shares:failing": "sends some heartbeat whose append fails",
        "share_session_timeout:removed": DOES["session_timeout:removed"],
        "share_session_timeout:failed": DOES["session_timeout:failed"],
        "share_ghost_expires": DOES["ghost_expires"],
        "move_share_coordinator": DOES["move_coordinator"],
        "persister_answers:initialized": "hears that the partitions are initialized",
        "persister_answers:failed": "hears that the partitions cannot be initialized",
        "initialization_overdue": "may ask the persister again",
        "share_session_over": DOES["session_over"],
    },
    handles={
        "share_heartbeat:added": "adds {who}",
        "share_heartbeat:rejoined": "lets {who} begin anew",
        "assign_member:advanced": "gives {assigned} to {who}",
        "assign_member:failed": UNAVAILABLE,
        "leave_share_group:left": "removes {who}",
        "leave_share_group:failed": UNAVAILABLE,
        "target_written": "has a new target",
        **{
            f"{rule}:{why}": f"answers {name_of(code)}"
            for rule in ("share_heartbeat", "leave_share_group")
            for why, code in REFUSED.items()
        },
    },
    silent=SILENT
    | {
        "compute_share_target",
        "share_heartbeat:accepted",
        "assign_member:kept",
        "hear_share_answer:well",
        "hear_share_answer:unavailable",
    },
    hears={
        "hear_share_answer:fenced": "gives up its partitions and joins again",
        "hear_share_answer:fatal": "stops with an error",
    },
    timers=(
        "share_session_timeout",
        "share_ghost_expires",
        "interval_passes",
        "initialization_overdue",
        "share_session_over",
    ),
    faults=(
        "crash",
        "close_consumer",
        "lose_answer",
        "fail_append",
        "change_subscription",
        "move_share_coordinator",
        "add_partition",
    ),
    heartbeats=("send_share_heartbeat",),
    handlers={"share_heartbeat": "heartbeat", "leave_share_group": "heartbeat"},
    last=("share_heartbeat", "leave_share_group", "assign_member"),
    hearers=("hear_share_answer",),
)
tell = partial(tell_of_consumers, words=WORDS)
story_of = partial(story_of_consumers, words=WORDS)
