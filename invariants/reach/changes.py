"""What each option changes in the needs. Written by tests/invariants/derive_reach.py."""

from __future__ import annotations

from collections.abc import Mapping

from groupcheck.invariants.reach.needs import Rows

# fmt: off
CHANGES: Mapping[str, Rows] = {
    "one_step": {
        "initial_delay:extended": (
            ("", 2, 1), ("crash", 1, 1), ("delay_request", 1, 1), ("disconnect", 1, 1), ("lose_response", 1, 1),
            ("new_member_timeout new_member_timeout", 1, 1, 1), ("close new_member_timeout", 1, 2, 2), ("new_member_timeout poll_timeout", 1, 2, 2),
            ("new_member_timeout session_timeout", 1, 2, 2), ("new_member_timeout sync_timeout", 1, 2, 2),
        ),
        "rebalance_timeout:missing": (
            ("rebalance_timeout", 2, 2), ("append_failure rebalance_timeout", 1, 2), ("close rebalance_timeout", 1, 2), ("crash rebalance_timeout", 1, 2),
            ("delay_request rebalance_timeout", 1, 2), ("disconnect rebalance_timeout", 1, 2), ("lose_response rebalance_timeout", 1, 2),
        ),
        "rebalance_timeout:nobody": (),
        "session_timeout:pending": (),
        "send_join:committed_first": (("", 2, 1), ("delay_request", 1, 1),),
        "request_timeout": (
            ("delay_request", 2, 1, 1), ("append_failure delay_request", 1, 1, 1), ("delay_request delay_request", 1, 1, 1),
            ("delay_request disconnect", 1, 1, 1), ("delay_request fail_over", 1, 1, 1), ("delay_request lose_request", 1, 1, 1),
            ("delay_request lose_response", 1, 1, 1),
        ),
        "lose_request:commit": (("lose_request", 2, 1), ("delay_request lose_request", 1, 1),),
        "late_commit": (("late_commit", 2, 1), ("delay_request late_commit", 1, 1),),
        "read_next": (
            ("close", 1, 1), ("poll_timeout", 1, 1), ("late_commit", 2, 2), ("delay_request late_commit", 1, 2), ("late_commit session_timeout", 2, 1),
        ),
        "join_answer:id_given": (),
        "join_answer:refused": (
            ("fail_over", 1, 1), ("new_member_timeout", 1, 1), ("session_timeout", 2, 1), ("rebalance_timeout", 2, 2), ("append_failure session_timeout", 1, 1),
            ("delay_request session_timeout", 1, 1), ("delay_request sync_timeout", 1, 1), ("disconnect session_timeout", 1, 1),
            ("lose_request session_timeout", 1, 1), ("lose_request sync_timeout", 1, 1), ("lose_response session_timeout", 1, 1),
            ("lose_response sync_timeout", 1, 1), ("append_failure rebalance_timeout", 1, 2), ("delay_request rebalance_timeout", 1, 2),
            ("late_commit sync_timeout", 2, 2),
        ),
        "join_answer:ignored": (),
        "sync_answer:refused": (
            ("fail_over", 1, 1), ("session_timeout", 1, 1), ("sync_timeout", 1, 1), ("rebalance_timeout", 2, 2), ("delay_request rebalance_timeout", 1, 2),
        ),
        "sync_answer:retry": (
            ("", 2, 1), ("append_failure", 1, 1), ("delay_request", 1, 1), ("crash session_timeout", 1, 1), ("crash sync_timeout", 1, 1),
            ("disconnect session_timeout", 1, 1), ("disconnect sync_timeout", 1, 1), ("lose_response session_timeout", 1, 1),
            ("lose_response sync_timeout", 1, 1),
        ),
        "sync_answer:ignored": (("close", 1, 1), ("poll_timeout", 1, 1), ("late_commit", 2, 2), ("delay_request late_commit", 1, 2),),
        "heartbeat_answer:told_to_rejoin": (("", 2, 1), ("delay_request", 1, 1),),
        "heartbeat_answer:refused": (
            ("fail_over", 1, 1), ("session_timeout", 1, 1), ("rebalance_timeout", 2, 2), ("delay_request", 2, 3), ("delay_request sync_timeout", 1, 1),
            ("lose_request sync_timeout", 1, 1), ("lose_response sync_timeout", 1, 1), ("append_failure rebalance_timeout", 1, 2),
            ("delay_request rebalance_timeout", 1, 2), ("append_failure delay_request", 1, 3), ("delay_request delay_request", 1, 3),
            ("delay_request disconnect", 1, 3), ("delay_request lose_request", 1, 3), ("delay_request lose_response", 1, 3),
        ),
        "heartbeat_answer:ignored": (
            ("", 2, 1), ("append_failure", 1, 1), ("delay_request", 1, 1), ("crash session_timeout", 1, 1), ("crash sync_timeout", 1, 1),
            ("disconnect session_timeout", 1, 1), ("disconnect sync_timeout", 1, 1), ("lose_response session_timeout", 1, 1),
            ("lose_response sync_timeout", 1, 1),
        ),
        "commit_answer:refused": (
            ("session_timeout", 1, 1), ("late_commit", 2, 2), ("rebalance_timeout", 2, 2), ("delay_request", 2, 3), ("delay_request late_commit", 1, 2),
            ("delay_request rebalance_timeout", 1, 2), ("append_failure delay_request", 1, 3), ("delay_request delay_request", 1, 3),
            ("delay_request disconnect", 1, 3), ("delay_request fail_over", 1, 3), ("delay_request lose_request", 1, 3), ("delay_request lose_response", 1, 3),
        ),
        "elect": (
            ("close", 2, 1), ("poll_timeout", 2, 1), ("session_timeout", 2, 1), ("sync_timeout", 2, 1), ("new_member_timeout", 3, 1),
            ("close delay_request", 1, 1), ("crash session_timeout", 1, 1), ("crash sync_timeout", 1, 1), ("delay_request poll_timeout", 1, 1),
            ("delay_request session_timeout", 1, 1), ("delay_request sync_timeout", 1, 1), ("disconnect session_timeout", 1, 1),
            ("disconnect sync_timeout", 1, 1), ("lose_response session_timeout", 1, 1), ("lose_response sync_timeout", 1, 1),
            ("close session_timeout", 1, 1, 1), ("crash new_member_timeout", 2, 1), ("delay_request new_member_timeout", 2, 1),
            ("lose_response new_member_timeout", 2, 1), ("new_member_timeout new_member_timeout", 2, 1, 1),
        ),
        "join_group:id_required": (),
        "join_group:unknown": (
            ("fail_over", 1, 1), ("session_timeout", 2, 1), ("rebalance_timeout", 2, 2), ("append_failure session_timeout", 1, 1),
            ("delay_request session_timeout", 1, 1), ("delay_request sync_timeout", 1, 1), ("disconnect session_timeout", 1, 1),
            ("lose_request session_timeout", 1, 1), ("lose_request sync_timeout", 1, 1), ("lose_response session_timeout", 1, 1),
            ("lose_response sync_timeout", 1, 1), ("append_failure rebalance_timeout", 1, 2), ("delay_request rebalance_timeout", 1, 2),
            ("late_commit sync_timeout", 2, 2),
        ),
        "join_group:parked": (
            ("", 2, 1), ("append_failure", 1, 1), ("delay_request", 1, 1), ("crash session_timeout", 1, 1), ("crash sync_timeout", 1, 1),
            ("disconnect session_timeout", 1, 1), ("disconnect sync_timeout", 1, 1), ("lose_response session_timeout", 1, 1),
            ("lose_response sync_timeout", 1, 1), ("disconnect disconnect", 1, 1, 1), ("disconnect fail_over", 1, 1, 1), ("disconnect lose_request", 1, 1, 1),
            ("disconnect lose_response", 1, 1, 1), ("fail_over lose_response", 1, 1, 1), ("lose_request lose_response", 1, 1, 1),
            ("lose_response lose_response", 1, 1, 1),
        ),
        "join_group:unchanged": (
            ("delay_request", 2, 2), ("lose_response", 2, 2), ("fail_over", 3, 2), ("append_failure delay_request", 1, 2),
            ("append_failure lose_response", 1, 2), ("delay_request delay_request", 1, 2), ("delay_request disconnect", 1, 2),
            ("delay_request fail_over", 1, 2), ("delay_request lose_request", 1, 2), ("delay_request lose_response", 1, 2), ("disconnect lose_response", 1, 2),
            ("fail_over lose_response", 1, 2), ("lose_request lose_response", 1, 2), ("lose_response lose_response", 1, 2), ("append_failure fail_over", 2, 2),
            ("close fail_over", 2, 2), ("fail_over fail_over", 2, 2), ("fail_over lose_request", 2, 2), ("fail_over poll_timeout", 2, 2),
            ("fail_over session_timeout", 2, 2), ("fail_over late_commit", 2, 3),
        ),
        "sync_group:unknown": (
            ("fail_over", 1, 1), ("session_timeout", 1, 1), ("sync_timeout", 1, 1), ("rebalance_timeout", 2, 2), ("close delay_request", 1, 1),
            ("delay_request poll_timeout", 1, 1), ("delay_request rebalance_timeout", 1, 2),
        ),
        "sync_group:rebalancing": (
            ("", 2, 1), ("delay_request", 1, 1), ("crash session_timeout", 1, 1), ("disconnect session_timeout", 1, 1), ("lose_response session_timeout", 1, 1),
        ),
        "sync_group:parked": (("", 2, 1), ("crash", 1, 1), ("delay_request", 1, 1), ("disconnect", 1, 1), ("lose_response", 1, 1),),
        "heartbeat:unknown": (
            ("fail_over", 1, 1), ("session_timeout", 1, 1), ("rebalance_timeout", 2, 2), ("delay_request sync_timeout", 1, 1),
            ("lose_request sync_timeout", 1, 1), ("lose_response sync_timeout", 1, 1), ("append_failure rebalance_timeout", 1, 2),
            ("delay_request rebalance_timeout", 1, 2),
        ),
        "heartbeat:illegal_generation": (
            ("fail_over", 2, 2), ("delay_request", 2, 3), ("append_failure fail_over", 1, 2), ("delay_request fail_over", 1, 2), ("disconnect fail_over", 1, 2),
            ("fail_over fail_over", 1, 2), ("fail_over lose_response", 1, 2), ("append_failure delay_request", 1, 3), ("delay_request delay_request", 1, 3),
            ("delay_request disconnect", 1, 3), ("delay_request lose_request", 1, 3), ("delay_request lose_response", 1, 3),
        ),
        "heartbeat:rebalancing": (
            ("", 2, 1), ("append_failure", 1, 1), ("delay_request", 1, 1), ("crash session_timeout", 1, 1), ("crash sync_timeout", 1, 1),
            ("disconnect session_timeout", 1, 1), ("disconnect sync_timeout", 1, 1), ("lose_response session_timeout", 1, 1),
            ("lose_response sync_timeout", 1, 1),
        ),
        "leave_group:unknown": (
            ("close fail_over", 1, 1), ("close session_timeout", 1, 1), ("fail_over poll_timeout", 1, 1), ("poll_timeout session_timeout", 1, 1),
            ("close rebalance_timeout", 2, 2), ("poll_timeout rebalance_timeout", 2, 2),
        ),
        "leave_group:pending": (),
        "offset_commit:unknown": (
            ("session_timeout", 1, 1), ("rebalance_timeout", 2, 2), ("close delay_request", 1, 1), ("delay_request poll_timeout", 1, 1),
            ("delay_request rebalance_timeout", 1, 2), ("late_commit sync_timeout", 2, 2),
        ),
        "offset_commit:illegal_generation": (
            ("delay_request", 2, 2), ("late_commit", 2, 2), ("delay_request delay_request", 1, 2), ("delay_request late_commit", 1, 2),
            ("append_failure delay_request", 1, 3), ("delay_request disconnect", 1, 3), ("delay_request fail_over", 1, 3), ("delay_request lose_request", 1, 3),
            ("delay_request lose_response", 1, 3),
        ),
        "empty_again": (
            ("new_member_timeout", 1, 1), ("close", 1, 2), ("poll_timeout", 1, 2), ("session_timeout", 1, 2), ("sync_timeout", 1, 2),
            ("append_failure rebalance_timeout", 1, 2),
        ),
        "ghost_id": (("", 1, 1),),
        "superseded": (
            ("delay_request", 2, 1, 1), ("append_failure delay_request", 1, 1, 1), ("delay_request delay_request", 1, 1, 1),
            ("delay_request disconnect", 1, 1, 1), ("delay_request fail_over", 1, 1, 1), ("delay_request lose_request", 1, 1, 1),
            ("delay_request lose_response", 1, 1, 1),
        ),
        "processed_twice": (
            ("close", 1, 3), ("close", 2, 2), ("late_commit", 2, 2), ("lose_request", 2, 2), ("poll_timeout", 1, 3), ("poll_timeout", 2, 2),
            ("rebalance_timeout", 2, 2), ("session_timeout", 1, 3), ("session_timeout", 2, 2), ("close delay_request", 1, 2), ("crash rebalance_timeout", 1, 2),
            ("crash session_timeout", 1, 2), ("delay_request lose_request", 1, 2),
        ),
        "told_to_rejoin": (("", 2, 1), ("delay_request", 1, 1),),
        "unheard_member": (
            ("delay_request", 2, 2), ("fail_over", 2, 2), ("late_commit", 2, 2), ("lose_response", 2, 2), ("append_failure delay_request", 1, 2),
            ("append_failure fail_over", 1, 2), ("append_failure lose_response", 1, 2), ("delay_request delay_request", 1, 2),
            ("delay_request disconnect", 1, 2), ("delay_request fail_over", 1, 2), ("delay_request late_commit", 1, 2), ("delay_request lose_request", 1, 2),
            ("delay_request lose_response", 1, 2), ("disconnect fail_over", 1, 2), ("disconnect lose_response", 1, 2), ("fail_over fail_over", 1, 2),
            ("fail_over lose_response", 1, 2), ("lose_request lose_response", 1, 2), ("lose_response lose_response", 1, 2),
        ),
    },
    "no_autocommit": {
        "send_join:committed_first": (),
        "lose_request:commit": (),
        "processed_twice": (
            ("", 2, 2), ("delay_request", 1, 2), ("close", 1, 3), ("poll_timeout", 1, 3), ("session_timeout", 1, 3), ("crash rebalance_timeout", 1, 2),
            ("crash session_timeout", 1, 2),
        ),
    },
    "no_records": {
        "send_join:committed_first": (),
        "send_commit": (),
        "process_record": (),
        "lose_request:commit": (),
        "late_commit": (),
        "read_next": (("close", 1, 1), ("poll_timeout", 1, 1), ("late_commit session_timeout", 2, 1),),
        "sync_answer:ignored": (("close", 1, 1), ("poll_timeout", 1, 1),),
        "commit_answer:done": (),
        "commit_answer:refused": (),
        "store_offset:forwards": (),
        "store_offset:again": (),
        "join_group:restarted": (("delay_request", 1, 1), ("disconnect", 1, 1), ("fail_over", 1, 1), ("lose_request", 1, 1), ("lose_response", 1, 1),),
        "offset_commit:unknown": (),
        "offset_commit:illegal_generation": (),
        "offset_commit:accepted": (),
        "commit_behind_join": (),
        "processed_twice": (),
        "unheard_member": (
            ("delay_request", 1, 1), ("disconnect", 1, 1), ("lose_response", 1, 1), ("fail_over", 2, 2), ("append_failure fail_over", 1, 2),
            ("fail_over fail_over", 1, 2),
        ),
    },
    "two_moments": {
        "rebalance_timeout:missing": (
            ("rebalance_timeout", 2, 2), ("append_failure rebalance_timeout", 1, 2), ("close rebalance_timeout", 1, 2), ("crash rebalance_timeout", 1, 2),
            ("delay_request rebalance_timeout", 1, 3),
        ),
        "join_complete": (("", 1, 1),),
        "elect": (
            ("close", 2, 1), ("poll_timeout", 2, 1), ("session_timeout", 2, 1), ("sync_timeout", 2, 1), ("new_member_timeout", 3, 1),
            ("close session_timeout", 1, 1), ("close sync_timeout", 1, 1), ("crash session_timeout", 1, 1), ("crash sync_timeout", 1, 1),
            ("close delay_request", 1, 1, 1), ("crash new_member_timeout", 2, 1), ("delay_request new_member_timeout", 2, 1),
            ("lose_response new_member_timeout", 2, 1), ("delay_request session_timeout", 1, 2, 2), ("new_member_timeout new_member_timeout", 2, 1, 1),
        ),
    },
    "cap_1": {
        "initial_delay:extended": (
            ("new_member_timeout", 2, 1), ("close delay_request", 1, 1), ("close disconnect", 1, 1), ("close lose_response", 1, 1),
            ("crash new_member_timeout", 1, 1), ("delay_request new_member_timeout", 1, 1), ("lose_response new_member_timeout", 1, 1),
            ("new_member_timeout new_member_timeout", 1, 1, 1), ("close new_member_timeout", 1, 2, 2), ("new_member_timeout poll_timeout", 1, 2, 2),
            ("new_member_timeout session_timeout", 1, 2, 2), ("new_member_timeout sync_timeout", 1, 2, 2),
        ),
        "rebalance_timeout:missing": (("append_failure rebalance_timeout", 1, 2),),
        "rebalance_timeout:nobody": (
            ("close", 2, 2), ("poll_timeout", 2, 2), ("session_timeout", 2, 2), ("sync_timeout", 2, 2), ("close crash", 1, 2), ("close delay_request", 1, 2),
            ("close lose_response", 1, 2), ("crash poll_timeout", 1, 2), ("crash session_timeout", 1, 2), ("crash sync_timeout", 1, 2),
            ("delay_request poll_timeout", 1, 2), ("delay_request session_timeout", 1, 2), ("delay_request sync_timeout", 1, 2),
            ("lose_response poll_timeout", 1, 2), ("lose_response session_timeout", 1, 2), ("lose_response sync_timeout", 1, 2),
        ),
        "rebalance_timeout:rejected": (
            ("append_failure", 2, 2), ("close", 2, 2), ("delay_request", 2, 2), ("disconnect", 2, 2), ("lose_request", 2, 2), ("lose_response", 2, 2),
            ("poll_timeout", 2, 2), ("session_timeout", 2, 2), ("sync_timeout", 2, 2),
        ),
        "send_join:committed_first": (
            ("delay_request", 1, 1, 1), ("close", 2, 1), ("delay_request", 2, 1), ("close delay_request", 1, 1), ("crash delay_request", 1, 1),
            ("delay_request delay_request", 1, 1), ("delay_request lose_response", 1, 1), ("append_failure delay_request", 1, 1, 2),
            ("delay_request disconnect", 1, 1, 2), ("delay_request fail_over", 1, 1, 2), ("delay_request lose_request", 1, 1, 2),
            ("delay_request new_member_timeout", 1, 1, 2), ("delay_request poll_timeout", 1, 3), ("delay_request session_timeout", 1, 3),
            ("delay_request sync_timeout", 1, 3),
        ),
        "lose_request:commit": (("delay_request lose_request", 1, 1, 1),),
        "late_commit": (("delay_request late_commit", 1, 1, 1),),
        "read_next": (("close", 1, 1), ("poll_timeout", 1, 1), ("late_commit session_timeout", 2, 1),),
        "join_answer:refused": (
            ("fail_over", 1, 1), ("new_member_timeout", 1, 1), ("session_timeout", 1, 1), ("delay_request sync_timeout", 1, 1),
            ("disconnect sync_timeout", 1, 1), ("lose_request sync_timeout", 1, 1), ("lose_response sync_timeout", 1, 1),
            ("append_failure rebalance_timeout", 1, 2), ("late_commit sync_timeout", 2, 2),
        ),
        "join_answer:fatal": (
            ("", 2, 1), ("close", 1, 1), ("crash", 1, 1), ("disconnect poll_timeout", 1, 1), ("fail_over poll_timeout", 1, 1),
            ("fail_over session_timeout", 1, 1), ("lose_request poll_timeout", 1, 1),
        ),
        "sync_answer:refused": (
            ("fail_over", 1, 1), ("session_timeout", 1, 1), ("sync_timeout", 1, 1), ("append_failure delay_request", 1, 3), ("delay_request disconnect", 1, 3),
            ("delay_request lose_request", 1, 3), ("delay_request lose_response", 1, 3),
        ),
        "sync_answer:retry": (
            ("append_failure", 1, 1), ("close", 2, 1), ("close delay_request", 1, 1), ("delay_request disconnect", 1, 2), ("delay_request lose_request", 1, 2),
            ("delay_request lose_response", 1, 2),
        ),
        "sync_answer:ignored": (("close", 1, 1), ("poll_timeout", 1, 1),),
        "heartbeat_answer:told_to_rejoin": (
            ("delay_request", 1, 1, 1), ("close", 2, 1), ("delay_request", 2, 1), ("close delay_request", 1, 1), ("crash delay_request", 1, 1),
            ("delay_request delay_request", 1, 1), ("delay_request lose_response", 1, 1), ("append_failure delay_request", 1, 1, 2),
            ("delay_request disconnect", 1, 1, 2), ("delay_request fail_over", 1, 1, 2), ("delay_request lose_request", 1, 1, 2),
            ("delay_request new_member_timeout", 1, 1, 2), ("delay_request poll_timeout", 1, 3), ("delay_request session_timeout", 1, 3),
            ("delay_request sync_timeout", 1, 3),
        ),
        "heartbeat_answer:refused": (
            ("fail_over", 1, 1), ("session_timeout", 1, 1), ("delay_request", 1, 2), ("delay_request sync_timeout", 1, 1), ("lose_request sync_timeout", 1, 1),
            ("lose_response sync_timeout", 1, 1), ("append_failure rebalance_timeout", 1, 2),
        ),
        "heartbeat_answer:ignored": (
            ("append_failure", 1, 1), ("close", 2, 1), ("close delay_request", 1, 1), ("delay_request disconnect", 1, 1, 2),
            ("delay_request lose_response", 1, 1, 2), ("delay_request lose_request", 1, 2, 2),
        ),
        "commit_answer:refused": (("session_timeout", 1, 1), ("delay_request", 1, 2),),
        "send_back": (
            ("append_failure", 1, 1), ("close", 1, 1), ("delay_request", 1, 1), ("disconnect", 1, 1), ("fail_over", 1, 1), ("lose_request", 1, 1),
            ("lose_response", 1, 1), ("poll_timeout", 1, 1), ("session_timeout", 1, 1), ("sync_timeout", 1, 1),
        ),
        "elect": (
            ("append_failure", 2, 1), ("close", 2, 1), ("new_member_timeout", 3, 1), ("crash new_member_timeout", 2, 1),
            ("delay_request new_member_timeout", 2, 1), ("lose_response new_member_timeout", 2, 1), ("new_member_timeout new_member_timeout", 2, 1, 1),
        ),
        "join_group:too_many": (
            ("", 2, 1), ("close", 1, 1), ("crash", 1, 1), ("delay_request", 1, 1), ("disconnect poll_timeout", 1, 1), ("fail_over poll_timeout", 1, 1),
            ("fail_over session_timeout", 1, 1), ("lose_request poll_timeout", 1, 1),
        ),
        "join_group:unknown": (
            ("fail_over", 1, 1), ("session_timeout", 1, 1), ("close delay_request", 1, 1), ("delay_request new_member_timeout", 1, 1),
            ("delay_request poll_timeout", 1, 1), ("delay_request sync_timeout", 1, 1), ("disconnect new_member_timeout", 1, 1),
            ("disconnect sync_timeout", 1, 1), ("lose_request sync_timeout", 1, 1), ("lose_response new_member_timeout", 1, 1),
            ("lose_response sync_timeout", 1, 1), ("append_failure rebalance_timeout", 1, 2), ("late_commit sync_timeout", 2, 2),
        ),
        "join_group:parked": (("append_failure", 1, 1), ("delay_request", 1, 1), ("disconnect", 1, 1), ("lose_response", 1, 1), ("close", 2, 1),),
        "join_group:restarted": (("delay_request", 1, 1), ("disconnect", 1, 1), ("fail_over", 1, 1), ("lose_request", 1, 1), ("lose_response", 1, 1),),
        "sync_group:unknown": (
            ("fail_over", 1, 1), ("session_timeout", 1, 1), ("sync_timeout", 1, 1), ("close delay_request", 1, 1), ("delay_request poll_timeout", 1, 1),
        ),
        "sync_group:illegal_generation": (
            ("delay_request", 1, 2), ("append_failure fail_over", 1, 2), ("disconnect fail_over", 1, 2), ("fail_over fail_over", 1, 2),
            ("fail_over lose_response", 1, 2),
        ),
        "sync_group:rebalancing": (
            ("delay_request", 1, 1, 1), ("close", 2, 1), ("delay_request", 2, 1), ("close delay_request", 1, 1), ("crash delay_request", 1, 1),
            ("delay_request delay_request", 1, 1), ("delay_request lose_response", 1, 1), ("append_failure delay_request", 1, 1, 2),
            ("delay_request disconnect", 1, 1, 2), ("delay_request fail_over", 1, 1, 2), ("delay_request lose_request", 1, 1, 2),
            ("delay_request new_member_timeout", 1, 1, 2), ("delay_request poll_timeout", 1, 3), ("delay_request session_timeout", 1, 3),
            ("delay_request sync_timeout", 1, 3),
        ),
        "sync_group:stable": (),
        "sync_group:parked": (),
        "heartbeat:unknown": (
            ("fail_over", 1, 1), ("session_timeout", 1, 1), ("delay_request sync_timeout", 1, 1), ("lose_request sync_timeout", 1, 1),
            ("lose_response sync_timeout", 1, 1), ("append_failure rebalance_timeout", 1, 2),
        ),
        "heartbeat:illegal_generation": (
            ("delay_request", 1, 2), ("append_failure fail_over", 1, 2), ("disconnect fail_over", 1, 2), ("fail_over fail_over", 1, 2),
            ("fail_over lose_response", 1, 2),
        ),
        "heartbeat:rebalancing": (
            ("append_failure", 1, 1), ("delay_request", 1, 1, 1), ("close", 2, 1), ("delay_request", 2, 1), ("close delay_request", 1, 1),
            ("crash delay_request", 1, 1), ("delay_request delay_request", 1, 1), ("delay_request lose_response", 1, 1), ("delay_request disconnect", 1, 1, 2),
            ("delay_request fail_over", 1, 1, 2), ("delay_request lose_request", 1, 1, 2), ("delay_request new_member_timeout", 1, 1, 2),
            ("delay_request poll_timeout", 1, 3), ("delay_request session_timeout", 1, 3), ("delay_request sync_timeout", 1, 3),
        ),
        "offset_commit:unknown": (
            ("session_timeout", 1, 1), ("close delay_request", 1, 1), ("delay_request poll_timeout", 1, 1), ("delay_request sync_timeout", 1, 2),
            ("late_commit sync_timeout", 2, 2),
        ),
        "offset_commit:illegal_generation": (("delay_request", 1, 2),),
        "together": (),
        "zombie_owner": (("poll_timeout", 2, 2), ("session_timeout", 2, 2), ("delay_request sync_timeout", 2, 3),),
        "commit_behind_join": (
            ("late_commit", 3, 2), ("delay_request late_commit", 1, 1, 1), ("close late_commit", 2, 1), ("crash late_commit", 2, 1),
            ("delay_request late_commit", 2, 1), ("fail_over late_commit", 2, 1), ("late_commit lose_response", 2, 1), ("late_commit new_member_timeout", 2, 1),
            ("late_commit poll_timeout", 2, 1), ("late_commit session_timeout", 2, 1), ("late_commit sync_timeout", 2, 1),
            ("append_failure late_commit", 2, 1, 2), ("disconnect late_commit", 2, 1, 2), ("late_commit late_commit", 2, 1, 2),
            ("late_commit lose_request", 2, 1, 2), ("late_commit rebalance_timeout", 2, 1, 2),
        ),
        "processed_twice": (
            ("delay_request", 1, 2), ("close", 1, 3), ("close", 2, 2), ("poll_timeout", 1, 3), ("poll_timeout", 2, 2), ("session_timeout", 1, 3),
            ("session_timeout", 2, 2),
        ),
        "told_to_rejoin": (
            ("delay_request", 1, 1, 1), ("close", 2, 1), ("delay_request", 2, 1), ("close delay_request", 1, 1), ("crash delay_request", 1, 1),
            ("delay_request delay_request", 1, 1), ("delay_request lose_response", 1, 1), ("append_failure delay_request", 1, 1, 2),
            ("delay_request disconnect", 1, 1, 2), ("delay_request fail_over", 1, 1, 2), ("delay_request lose_request", 1, 1, 2),
            ("delay_request new_member_timeout", 1, 1, 2), ("delay_request poll_timeout", 1, 3), ("delay_request session_timeout", 1, 3),
            ("delay_request sync_timeout", 1, 3),
        ),
        "unheard_member": (
            ("delay_request", 1, 1), ("disconnect", 1, 1), ("lose_response", 1, 1), ("append_failure fail_over", 1, 2), ("fail_over fail_over", 1, 2),
        ),
    },
    "cap_2": {
        "rebalance_timeout:rejected": (("close", 2, 2), ("crash", 2, 2),),
        "join_answer:fatal": (("", 3, 1), ("close", 2, 1), ("crash", 2, 1), ("close close", 1, 1), ("close crash", 1, 1), ("crash crash", 1, 1),),
        "elect": (
            ("", 3, 1), ("close", 2, 1), ("crash", 2, 1), ("poll_timeout", 2, 1), ("session_timeout", 2, 1), ("sync_timeout", 2, 1),
            ("close session_timeout", 1, 1), ("close sync_timeout", 1, 1), ("crash session_timeout", 1, 1), ("crash sync_timeout", 1, 1),
            ("close delay_request", 1, 1, 1), ("delay_request new_member_timeout", 2, 1), ("lose_response new_member_timeout", 2, 1),
            ("new_member_timeout new_member_timeout", 2, 1, 1),
        ),
        "join_group:too_many": (
            ("", 3, 1), ("close", 2, 1), ("crash", 2, 1), ("delay_request", 2, 1), ("close close", 1, 1), ("close crash", 1, 1), ("close delay_request", 1, 1),
            ("crash crash", 1, 1), ("crash delay_request", 1, 1),
        ),
    },
    "more_records": {
        "store_offset:backwards": (("delay_request", 1, 1),),
    },
    "same_listed": {
        "vote": (("", 1, 1),),
    },
    "in_common": {
        "join_answer:fatal": (("fail_over", 2, 1),),
        "vote": (("", 2, 1),),
        "join_group:inconsistent": (("fail_over", 2, 1),),
    },
    "apart": {
        "initial_delay:extended": (
            ("close", 1, 1), ("crash", 1, 1), ("new_member_timeout", 2, 1), ("delay_request new_member_timeout", 1, 1),
            ("lose_response new_member_timeout", 1, 1), ("new_member_timeout new_member_timeout", 1, 1, 1), ("new_member_timeout poll_timeout", 1, 2, 2),
            ("new_member_timeout session_timeout", 1, 2, 2), ("new_member_timeout sync_timeout", 1, 2, 2),
        ),
        "rebalance_timeout:missing": (),
        "send_join:committed_first": (
            ("delay_request", 1, 1, 1), ("close", 2, 1), ("delay_request", 2, 1), ("close delay_request", 1, 1), ("crash delay_request", 1, 1),
            ("delay_request delay_request", 1, 1), ("delay_request lose_response", 1, 1), ("append_failure delay_request", 1, 1, 2),
            ("delay_request disconnect", 1, 1, 2), ("delay_request fail_over", 1, 1, 2), ("delay_request lose_request", 1, 1, 2),
            ("delay_request new_member_timeout", 1, 1, 2), ("delay_request poll_timeout", 1, 3), ("delay_request session_timeout", 1, 3),
            ("delay_request sync_timeout", 1, 3),
        ),
        "lose_request:commit": (),
        "late_commit": (),
        "read_next": (("close", 1, 1), ("poll_timeout", 1, 1), ("late_commit session_timeout", 2, 1),),
        "join_answer:refused": (
            ("fail_over", 1, 1), ("new_member_timeout", 1, 1), ("session_timeout", 1, 1), ("delay_request sync_timeout", 1, 1),
            ("disconnect sync_timeout", 1, 1), ("lose_request sync_timeout", 1, 1), ("lose_response sync_timeout", 1, 1),
            ("append_failure rebalance_timeout", 1, 2), ("late_commit sync_timeout", 2, 2),
        ),
        "join_answer:fatal": (("", 2, 1),),
        "sync_answer:refused": (
            ("fail_over", 1, 1), ("session_timeout", 1, 1), ("sync_timeout", 1, 1), ("append_failure delay_request", 1, 3), ("delay_request disconnect", 1, 3),
            ("delay_request lose_request", 1, 3), ("delay_request lose_response", 1, 3),
        ),
        "sync_answer:retry": (
            ("append_failure", 1, 1), ("close", 2, 1), ("close delay_request", 1, 1), ("close session_timeout", 1, 1), ("close sync_timeout", 1, 1),
            ("crash delay_request", 1, 1), ("crash session_timeout", 1, 1), ("crash sync_timeout", 1, 1), ("delay_request disconnect", 1, 2),
            ("delay_request lose_request", 1, 2), ("delay_request lose_response", 1, 2),
        ),
        "sync_answer:ignored": (("close", 1, 1), ("poll_timeout", 1, 1),),
        "heartbeat_answer:told_to_rejoin": (
            ("delay_request", 1, 1, 1), ("close", 2, 1), ("delay_request", 2, 1), ("close delay_request", 1, 1), ("crash delay_request", 1, 1),
            ("delay_request delay_request", 1, 1), ("delay_request lose_response", 1, 1), ("append_failure delay_request", 1, 1, 2),
            ("delay_request disconnect", 1, 1, 2), ("delay_request fail_over", 1, 1, 2), ("delay_request lose_request", 1, 1, 2),
            ("delay_request new_member_timeout", 1, 1, 2), ("delay_request poll_timeout", 1, 3), ("delay_request session_timeout", 1, 3),
            ("delay_request sync_timeout", 1, 3),
        ),
        "heartbeat_answer:refused": (
            ("fail_over", 1, 1), ("session_timeout", 1, 1), ("delay_request", 1, 2), ("delay_request sync_timeout", 1, 1), ("lose_request sync_timeout", 1, 1),
            ("lose_response sync_timeout", 1, 1), ("append_failure rebalance_timeout", 1, 2),
        ),
        "heartbeat_answer:ignored": (
            ("append_failure", 1, 1), ("close", 2, 1), ("close delay_request", 1, 1), ("close session_timeout", 1, 1), ("close sync_timeout", 1, 1),
            ("crash delay_request", 1, 1), ("crash session_timeout", 1, 1), ("crash sync_timeout", 1, 1), ("delay_request disconnect", 1, 1, 2),
            ("delay_request lose_response", 1, 1, 2), ("delay_request lose_request", 1, 2, 2),
        ),
        "commit_answer:refused": (("session_timeout", 1, 1), ("delay_request", 1, 2),),
        "send_back": (
            ("append_failure", 1, 1), ("close", 1, 1), ("crash", 1, 1), ("delay_request", 1, 1), ("disconnect", 1, 1), ("fail_over", 1, 1),
            ("lose_request", 1, 1), ("lose_response", 1, 1), ("poll_timeout", 1, 1), ("session_timeout", 1, 1), ("sync_timeout", 1, 1),
        ),
        "elect": (),
        "vote": (("", 2, 1),),
        "join_group:inconsistent": (("", 2, 1),),
        "join_group:unknown": (
            ("fail_over", 1, 1), ("session_timeout", 1, 1), ("close delay_request", 1, 1), ("delay_request new_member_timeout", 1, 1),
            ("delay_request poll_timeout", 1, 1), ("delay_request sync_timeout", 1, 1), ("disconnect new_member_timeout", 1, 1),
            ("disconnect sync_timeout", 1, 1), ("lose_request sync_timeout", 1, 1), ("lose_response new_member_timeout", 1, 1),
            ("lose_response sync_timeout", 1, 1), ("append_failure rebalance_timeout", 1, 2), ("late_commit sync_timeout", 2, 2),
        ),
        "join_group:parked": (
            ("append_failure", 1, 1), ("delay_request", 1, 1), ("disconnect", 1, 1), ("lose_response", 1, 1), ("close", 2, 1), ("close session_timeout", 1, 1),
            ("close sync_timeout", 1, 1), ("crash session_timeout", 1, 1), ("crash sync_timeout", 1, 1),
        ),
        "join_group:restarted": (("delay_request", 1, 1), ("disconnect", 1, 1), ("fail_over", 1, 1), ("lose_request", 1, 1), ("lose_response", 1, 1),),
        "sync_group:unknown": (
            ("fail_over", 1, 1), ("session_timeout", 1, 1), ("sync_timeout", 1, 1), ("close delay_request", 1, 1), ("delay_request poll_timeout", 1, 1),
        ),
        "sync_group:illegal_generation": (
            ("delay_request", 1, 2), ("append_failure fail_over", 1, 2), ("disconnect fail_over", 1, 2), ("fail_over fail_over", 1, 2),
            ("fail_over lose_response", 1, 2),
        ),
        "sync_group:rebalancing": (
            ("delay_request", 1, 1, 1), ("close", 2, 1), ("delay_request", 2, 1), ("close delay_request", 1, 1), ("close session_timeout", 1, 1),
            ("crash delay_request", 1, 1), ("crash session_timeout", 1, 1), ("delay_request delay_request", 1, 1), ("delay_request lose_response", 1, 1),
            ("append_failure delay_request", 1, 1, 2), ("delay_request disconnect", 1, 1, 2), ("delay_request fail_over", 1, 1, 2),
            ("delay_request lose_request", 1, 1, 2), ("delay_request new_member_timeout", 1, 1, 2), ("delay_request poll_timeout", 1, 3),
            ("delay_request session_timeout", 1, 3), ("delay_request sync_timeout", 1, 3),
        ),
        "sync_group:stable": (),
        "sync_group:parked": (("close", 1, 1), ("crash", 1, 1),),
        "heartbeat:unknown": (
            ("fail_over", 1, 1), ("session_timeout", 1, 1), ("delay_request sync_timeout", 1, 1), ("lose_request sync_timeout", 1, 1),
            ("lose_response sync_timeout", 1, 1), ("append_failure rebalance_timeout", 1, 2),
        ),
        "heartbeat:illegal_generation": (
            ("delay_request", 1, 2), ("append_failure fail_over", 1, 2), ("disconnect fail_over", 1, 2), ("fail_over fail_over", 1, 2),
            ("fail_over lose_response", 1, 2),
        ),
        "heartbeat:rebalancing": (
            ("append_failure", 1, 1), ("delay_request", 1, 1, 1), ("close", 2, 1), ("delay_request", 2, 1), ("close delay_request", 1, 1),
            ("close session_timeout", 1, 1), ("close sync_timeout", 1, 1), ("crash delay_request", 1, 1), ("crash session_timeout", 1, 1),
            ("crash sync_timeout", 1, 1), ("delay_request delay_request", 1, 1), ("delay_request lose_response", 1, 1), ("delay_request disconnect", 1, 1, 2),
            ("delay_request fail_over", 1, 1, 2), ("delay_request lose_request", 1, 1, 2), ("delay_request new_member_timeout", 1, 1, 2),
            ("delay_request poll_timeout", 1, 3), ("delay_request session_timeout", 1, 3), ("delay_request sync_timeout", 1, 3),
        ),
        "offset_commit:unknown": (
            ("session_timeout", 1, 1), ("close delay_request", 1, 1), ("delay_request poll_timeout", 1, 1), ("delay_request sync_timeout", 1, 2),
            ("late_commit sync_timeout", 2, 2),
        ),
        "offset_commit:illegal_generation": (("delay_request", 1, 2),),
        "together": (),
        "ghost_id": (
            ("", 2, 1), ("close", 1, 1), ("crash", 1, 1), ("delay_request", 1, 1), ("lose_response", 1, 1), ("poll_timeout", 1, 1),
            ("fail_over session_timeout", 1, 1),
        ),
        "zombie_owner": (("poll_timeout", 2, 2), ("session_timeout", 2, 2), ("delay_request sync_timeout", 2, 3),),
        "commit_behind_join": (),
        "processed_twice": (
            ("delay_request", 1, 2), ("close", 1, 3), ("close", 2, 2), ("poll_timeout", 1, 3), ("poll_timeout", 2, 2), ("session_timeout", 1, 3),
            ("session_timeout", 2, 2), ("crash rebalance_timeout", 1, 2), ("crash session_timeout", 1, 2),
        ),
        "told_to_rejoin": (
            ("delay_request", 1, 1, 1), ("close", 2, 1), ("delay_request", 2, 1), ("close delay_request", 1, 1), ("crash delay_request", 1, 1),
            ("delay_request delay_request", 1, 1), ("delay_request lose_response", 1, 1), ("append_failure delay_request", 1, 1, 2),
            ("delay_request disconnect", 1, 1, 2), ("delay_request fail_over", 1, 1, 2), ("delay_request lose_request", 1, 1, 2),
            ("delay_request new_member_timeout", 1, 1, 2), ("delay_request poll_timeout", 1, 3), ("delay_request session_timeout", 1, 3),
            ("delay_request sync_timeout", 1, 3),
        ),
        "unheard_member": (
            ("delay_request", 1, 1), ("disconnect", 1, 1), ("lose_response", 1, 1), ("append_failure fail_over", 1, 2), ("fail_over fail_over", 1, 2),
        ),
    },
}
