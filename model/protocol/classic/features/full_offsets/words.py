"""The words for the steps of offsets in full."""

from __future__ import annotations

from groupcheck.model.protocol.classic.features.full_offsets.admin import ADMIN_RULES
from groupcheck.model.protocol.classic.step_words import Words
from groupcheck.model.protocol.codes import (
    COORDINATOR_LOAD_IN_PROGRESS,
    GROUP_ID_NOT_FOUND,
    ILLEGAL_GENERATION,
    UNKNOWN_MEMBER_ID,
    UNSTABLE_OFFSET_COMMIT,
)

ADMIN = "an administrator"
REQUESTS = [r for r in ADMIN_RULES if r.name != "expire_offsets"]
WORDS = Words(
    does={
        "fetch_offset": "asks for the committed offset",
        "send_txn_commit": "commits in its transaction what it has processed",
        "end_transaction:commit": "commits its transaction, and the marker is on its way",
        "end_transaction:abort": (
            "aborts its transaction and reads on from the committed offset; the marker is on its"
            " way"
        ),
        "reset_offsets:accepted": "sets the committed offset back to 0",
        "reset_offsets:refused": (
            "wants to set the committed offset back to 0 and is refused, because the group is not"
            " Empty: 25 UNKNOWN_MEMBER_ID"
        ),
        "delete_offsets:deleted": "deletes the committed offset",
        "delete_offsets:subscribed": (
            "wants to delete the committed offset and is refused, because members subscribe to the"
            " topic: 86 GROUP_SUBSCRIBED_TO_TOPIC"
        ),
        "delete_offsets:no_group": (
            "wants to delete the offset of a group that is not there: 69 GROUP_ID_NOT_FOUND"
        ),
        "delete_groups:deleted": "deletes the group and another one",
        "delete_groups:non_empty": (
            "wants to delete the group and another one; the other one goes, and this one has"
            " members: 68 NON_EMPTY_GROUP"
        ),
        "delete_groups:no_group": (
            "wants to delete the group and another one; the other one goes, and this one is not"
            " there: 69 GROUP_ID_NOT_FOUND"
        ),
        "sweep": "finds that the group is Empty and its offsets have expired, and deletes both",
        "expire_offsets:deleted": (
            "finds that the offset has expired, and deletes it and the group"
        ),
        "expire_offsets:spared": "looks for offsets that have expired, and spares the group",
    },
    to_member={
        "write_marker:committed": (
            "learns that the transaction of {who} is committed, and its offset counts"
        ),
        "write_marker:superseded": (
            "learns that the transaction of {who} is committed, but a newer offset is there"
        ),
        "write_marker:aborted": "learns that the transaction of {who} is aborted",
        "write_marker:void": (
            "learns how the transaction of {who} has ended, whose offset was deleted"
        ),
    },
    codes={
        "offset_commit:no_group": GROUP_ID_NOT_FOUND,
        "txn_offset_commit:no_group": ILLEGAL_GENERATION,
        "txn_offset_commit:unknown": UNKNOWN_MEMBER_ID,
        "txn_offset_commit:illegal_generation": ILLEGAL_GENERATION,
        "txn_offset_commit:accepted": 0,
        "txn_offset_commit:anonymous": 0,
        "offset_fetch:committed": 0,
        "offset_fetch:nothing": 0,
        "offset_fetch:unstable": UNSTABLE_OFFSET_COMMIT,
        "txn_offset_commit:loading": COORDINATOR_LOAD_IN_PROGRESS,
        "offset_fetch:loading": COORDINATOR_LOAD_IN_PROGRESS,
    },
    hears={
        "txn_answer:added": "",
        "txn_answer:retry": "",
        "txn_answer:refused": "aborts its transaction and reads on from the committed offset",
        "fetch_answer:started": "starts at the committed offset",
        "fetch_answer:reset": "finds none, and starts where auto.offset.reset says",
        "fetch_answer:stopped": "finds none, and stops with an error",
        "fetch_answer:unstable": "",
        "fetch_answer:retry": "",
        "erase": "",
    },
    notes={
        "send_txn_commit": "event",
        "end_transaction": "event",
        "write_marker": "event",
        "expire_offsets": "timer",
        "sweep": "timer",
        **{r.name: "fault" for r in REQUESTS},
    },
    others={name: ADMIN for r in REQUESTS for name in r.names},
)
