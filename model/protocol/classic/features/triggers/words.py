"""The words for the steps of triggers: what happens to topics and settings, and whom it makes join
again.
"""

from __future__ import annotations

from groupcheck.model.protocol.classic.step_words import Words

ADMIN = "an administrator"
CLUSTER = ("add_partitions", "create_topic", "delete_topic")
WORDS = Words(
    does={
        "change_subscription": "subscribes to other topics, and must join again",
        "refresh_metadata:seen": "learns how the topics are now",
        "refresh_metadata:outdated": (
            "leads the group and learns that topics have changed since it made the plan, so it must"
            " join again"
        ),
        "refresh_metadata:matched": (
            "learns that its pattern matches other topics than before, so it must join again"
        ),
        "add_partitions": "adds a partition to a topic",
        "create_topic": "creates a topic",
        "delete_topic": "deletes a topic",
        "lower_max_size": (
            "moves to another broker, whose group.max.size is smaller and which loads the last"
            " group record; connections break"
        ),
        "change_assignors": "is configured with another list of assignors before it starts",
    },
    hears={
        "sync_answer:mismatched": (
            "does not take its share, because it no longer subscribes to a topic in it, and must"
            " join again"
        ),
        "survey": "",
    },
    notes={
        "change_subscription": "event",
        "refresh_metadata": "event",
        **dict.fromkeys(CLUSTER, "fault"),
        "lower_max_size": "fault",
        "change_assignors": "event",
    },
    others=dict.fromkeys(CLUSTER, ADMIN),
)
