"""What becomes of the records of a partition that the members of a share group read."""

from __future__ import annotations

from groupcheck.model.protocol.covers import Fields, covers_of
from groupcheck.model.protocol.family import SHARE_PARTITION
from groupcheck.model.protocol.share_partition.rules import spec
from groupcheck.model.protocol.share_partition.scope import FAULTS, SharePartitionScope
from groupcheck.model.protocol.share_partition.words import story_of, tell
from groupcheck.model.protocol.variant import Variant

# The smallest first.
SHOWS: tuple[Fields, ...] = (
    {"members": 1},
    {"members": 2},
    {"members": 1, "records": 2},
    {"members": 1, "faults": {"fail_over": 1}},
    {"members": 1, "faults": {"lose_response": 1}},
    {"members": 1, "any_faults": 1},
    {"members": 1, "any_faults": 2},
    {"members": 1, "records": 2, "batch": 2},
    {"members": 1, "records": 2, "batch": 2, "faults": {"lose_response": 1}},
)

VARIANT = Variant(
    name="share_partition",
    title="Records of a share group (KIP-932)",
    doc=(
        "The leader of a partition gives each record to one member at a time, with an acquisition"
        " lock that runs out. The member accepts, releases or rejects it; that is written by the"
        " persister first. A record that was acquired as often as the limit allows is archived"
        " (KIP-932)."
    ),
    scope_type=SharePartitionScope,
    spec=spec,
    faults=FAULTS,
    families=(SHARE_PARTITION,),
    tell=tell,
    story=story_of,
    spent_by={
        "lose_response": (
            "acquire_records:lost",
            "fetch_batches:lost",
            "fetch_one_batch:lost",
            "fetch_one_record:lost",
        ),
        "session_end": ("session_ends",),
        "persister_failure": ("write_ends:failed", "lock_runs_out:unwritten"),
        "persister_timeout": ("write_ends:unanswered",),
        "fail_over": ("leader_changes:unwritten", "leader_changes:written"),
    },
    shows=SHOWS,
    covers=covers_of("share_partition"),
    unreached={
        **dict.fromkeys(
            ("acknowledge_record:passed", "acknowledge_in_batches:passed"),
            "Only with k33=as_kafka, where it breaks a promise.",
        ),
        "acknowledge_in_batches:broken": "Only with k33=as_kafka: what begins before is refused.",
    },
    unreal="its rows have a comparison of their own, `conform share_partition`",
    unreal_member="a member that reads records has no rows",
)
