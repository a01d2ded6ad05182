"""The words for the steps of workers and of their leader."""

from __future__ import annotations

from groupcheck.model.protocol.classic.step_words import BASE_WORDS, Words

ADMIN, LEADER = "an administrator", "the leader"
WORDS = BASE_WORDS | Words(
    does={
        "scheduled_rejoin": "has waited for the delay, and must join again",
        "read_config": "reads what is new in the topic of configurations, and must join again",
        "lose_coordinator": (
            "does not find the coordinator, stops all of its work, and must join again"
        ),
        "update_config": "deletes the last task, or creates it again",
        "bounce": "is configured with the next version of Connect's protocol",
        "delay_over": "has waited for the delay",
        "reads_again": "reads the topic of configurations to its end, and must join again",
        "backs_off_no_more": "has no try left to read the topic of configurations, and stops",
    },
    hears={
        "sync_answer:mismatched": (
            "is told that the leader was behind, goes on with its work, and must join again"
        ),
        "sync_answer:outdated": (
            "has read other configurations than the leader, starts nothing, and must join again"
        ),
        "sync_answer:unread": (
            "cannot read the topic of configurations in time, leaves the group, and goes on with"
            " its work"
        ),
        "survey": "",
        "deal_out": "",
        "make_plan:unheard": "",
        "make_plan:planned": "makes its plan",
        "make_plan:delayed": "makes its plan, after which all join again when a delay is over",
        "make_plan:behind": "is behind a worker, and makes no plan",
    },
    notes={
        "scheduled_rejoin": "timer",
        "delay_over": "timer",
        "reads_again": "event",
        "backs_off_no_more": "timer",
        "read_config": "event",
        "lose_coordinator": "fault",
        "update_config": "event",
        "bounce": "event",
    },
    others={
        "update_config": ADMIN,
        "delay_over": LEADER,
        **{f"make_plan:{label}": LEADER for label in ("planned", "delayed", "behind")},
    },
    item="t",
)
