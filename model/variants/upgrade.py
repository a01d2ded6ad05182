"""The classic group on its way from eager to cooperative rebalancing: the base with two features,
`groupcheck.model.protocol.classic.cooperative` and `groupcheck.model.protocol.classic.upgrade`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import attrs

from groupcheck.model.engine import Spec
from groupcheck.model.protocol.classic import rules
from groupcheck.model.protocol.classic.assignment import look_at_claims
from groupcheck.model.protocol.classic.cooperative import ASSIGNORS, cooperative
from groupcheck.model.protocol.classic.covers import (
    BOOKKEEPING,
    IN_PHASES,
    KAFKA_COORDINATOR,
    ROWS_IN_PHASES,
    UNREACHED,
    cover,
)
from groupcheck.model.protocol.classic.moving import PHASES, SWITCHED, moving
from groupcheck.model.protocol.classic.rules import COORDINATOR
from groupcheck.model.protocol.classic.story import story
from groupcheck.model.protocol.classic.upgrade import (
    COOPERATIVE,
    MORE,
    WORDS,
    UpgradeScope,
    upgrade,
)
from groupcheck.model.protocol.family import CLASSIC_GROUP, OFFSETS, UPGRADE
from groupcheck.model.protocol.faults import CLASSIC_FAULTS, SPENT_BY
from groupcheck.model.protocol.feature import composed
from groupcheck.model.protocol.variant import Variant

COVERS = (
    cover(
        """
        answer_joins answer_syncs append_committed begin_walk commit_answer:done completing
        end_walk fetch_offset heartbeat:accepted heartbeat_answer:well initial_delay:over
        join_answer:id_given join_answer:joined join_group:added join_group:id_required
        offset_commit:accepted preparing process_record send_commit send_heartbeat
        send_join:sent send_sync stable store_offset:forwards sync_answer:assigned
        sync_group:led vote
        """,
        members=1,
        generations=1,
    ),
    cover(
        """
        join_complete
        """,
        members=1,
        generations=1,
        atomic_complete=False,
    ),
    cover(
        """
        join_answer:fatal join_group:too_many
        """,
        members=2,
        generations=1,
        max_size=1,
    ),
    cover(
        """
        bounce_refused join_group:inconsistent look_at_claims upgraded
        """,
        members=2,
        generations=1,
        protocols="range|cooperative-sticky",
    ),
    cover(
        """
        delay_request ghost_id heartbeat:rebalancing heartbeat_answer:told_to_rejoin
        join_group:parked join_group:restarted join_group:unchanged late_request request_timeout
        send_back send_join:committed_first store_offset:again store_offset:backwards superseded
        sync_group:rebalancing told_to_rejoin unheard_member
        """,
        members=1,
        generations=1,
        records=2,
        faults={"delay_request": 1},
    ),
    cover(
        """
        heartbeat_answer:ignored initial_delay:extended sync_answer:retry sync_group:parked
        sync_group:stable together
        """,
        members=2,
        generations=1,
    ),
    cover(
        """
        append_failed bounce close:behind close:heard close:unheard close_books closed
        commit_answer:refused crash disconnect empty_again fail_over forget heartbeat:unknown
        heartbeat_answer:refused join_answer:ignored join_answer:refused join_group:unknown
        leave_answer leave_behind_parked leave_group:left leave_group:pending lose_request:sync
        lose_response new_member_timeout offset_commit:unknown poll_timeout:heard read_next
        record_plan reload session_timeout:member session_timeout:pending sync_answer:ignored
        sync_answer:refused sync_group:unknown sync_timeout
        """,
        members=1,
        generations=1,
        any_faults=1,
    ),
    cover(
        """
        heartbeat:illegal_generation offset_commit:illegal_generation processed_twice
        sync_group:illegal_generation
        """,
        members=1,
        generations=2,
        any_faults=1,
    ),
    cover(
        """
        both_protocols_in_one_generation
        """,
        members=2,
        generations=2,
        protocols="cooperative-sticky,range|cooperative-sticky",
    ),
    cover(
        """
        late_commit
        """,
        members=2,
        generations=2,
        protocols="cooperative-sticky|cooperative-sticky",
        faults={"late_commit": 1},
    ),
    cover(
        """
        rebalance_timeout:missing zombie_owner
        """,
        members=2,
        generations=2,
        faults={"rebalance_timeout": 1},
    ),
    cover(
        """
        elect rebalance_timeout:nobody
        """,
        members=2,
        generations=2,
        faults={"sync_timeout": 1},
    ),
    cover(
        """
        commit_behind_join leave_group:unknown lose_request:commit poll_timeout:unheard
        """,
        members=1,
        generations=1,
        any_faults=2,
    ),
    cover(
        """
        rebalance_timeout:rejected
        """,
        members=2,
        generations=2,
        max_size=1,
        any_faults=1,
    ),
    IN_PHASES,
    cover(
        """
        late_join_overlap
        """,
        members=2,
        generations=2,
        faults={"delay_request": 1, "disconnect": 1},
    ),
)

EVERY_FAULT = {
    "append_failure": 1,
    "fail_over": 1,
    "new_member_timeout": 1,
    "rebalance_timeout": 1,
    "session_timeout": 1,
    "sync_timeout": 1,
}
# Arguments of `conform`.
EXECUTED: tuple[Mapping[str, Any], ...] = (
    {"members": 1, "generations": 1, "faults": EVERY_FAULT},
    {
        "members": 2,
        "generations": 1,
        "faults": {},
        "settings": {"protocols": f"range|{COOPERATIVE}", "max_size": "1"},
    },
)
CONFORMED: tuple[Mapping[str, Any], ...] = (
    {
        "members": 2,
        "generations": 2,
        "faults": {},
        "settings": {"protocols": f"{COOPERATIVE},range|{COOPERATIVE}"},
    },
    ROWS_IN_PHASES,
)


def spec(scope: UpgradeScope) -> Spec:
    """The protocol at a scope, without invariants."""
    return attrs.evolve(composed(rules.spec(scope), [cooperative, upgrade, moving]), name="upgrade")


VARIANT = Variant(
    name="upgrade",
    title="Classic group, from eager to cooperative rebalancing",
    doc=(
        "Processes are restarted one after the other with other lists of assignors. Members of both"
        " rebalance protocols meet in one group, and the vote decides which assignor they use"
        " (KIP-429)."
    ),
    scope_type=UpgradeScope,
    spec=spec,
    faults={**CLASSIC_FAULTS, **MORE},
    assignors=ASSIGNORS,
    families=(CLASSIC_GROUP, OFFSETS, UPGRADE),
    switched=SWITCHED,
    coordinator=COORDINATOR | PHASES | {look_at_claims.name},
    tell=WORDS.tell,
    story=partial(story, words=WORDS),
    spent_by={**SPENT_BY, "bounce": ("bounce",)},
    covers=COVERS,
    unreached=UNREACHED,
    real=KAFKA_COORDINATOR,
    executed=EXECUTED,
    asked=CONFORMED[0],
    conformed=CONFORMED,
    bookkeeping={**BOOKKEEPING, look_at_claims.name: "The leader does this, not the coordinator."},
)
