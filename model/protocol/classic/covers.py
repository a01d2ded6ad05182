"""The cover scopes of the classic protocol: small scopes that together fire every outcome and meet
every goal. `tests/model/variants/test_variant_contract.py` holds each to what it says.

An earlier design derived for every scope what it cannot reach. It was long and was wrong for many
ordinary scopes. Small scopes that are run show the same, and fail on two seeded mistakes that keep
every promise: a merge of SyncGroup into the step of the JoinGroup answer, and a sync timer that
never fires.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import Any

from groupcheck.model.protocol.variant import Cover


def cover(reaches: str, **fields: Any) -> Cover:
    """A cover scope; `reaches`: names with blanks between them."""
    return Cover(fields, tuple(reaches.split()))


def derived(base: Iterable[Cover], *more: Cover, without: Container[str] = ()) -> tuple[Cover, ...]:
    """The cover scopes of a feature: those of its base, with `more`.

    What one of `more` lists is taken from the scope of the base that lists it; one with the fields
    of a scope of the base adds to it, the others follow. `without`: what is out of reach with the
    feature. A scope with nothing left is dropped.
    """
    base = tuple(base)
    moved = {name for new in more for name in new.reaches}
    found = []
    for old in base:
        kept = [name for name in old.reaches if name not in moved and name not in without]
        added = [name for new in more if new.fields == old.fields for name in new.reaches]
        found.append(Cover(old.fields, (*kept, *added)))
    own = [new for new in more if not any(new.fields == old.fields for old in base)]
    return tuple(c for c in (*found, *own) if c.reaches)


# Fail-over in its phases, which every variant has; in `IN_PHASES` with the answers that stop a
# member or make it try again, which static members meet in smaller scopes.
OF_PHASES = """
    commit_answer:retry connect fail_over:regained fail_over:resigned fail_over:unnoticed
    find_coordinator:former find_coordinator:found find_coordinator:unavailable
    former_heartbeat:accepted former_heartbeat:not_coordinator former_heartbeat:rebalancing
    former_join_group:not_coordinator former_learns former_offset_commit:not_coordinator
    former_sync_group:not_coordinator former_sync_group:rebalancing former_sync_group:stable
    generation_issued_twice heartbeat:loading join_group:loading load_group loading_seen
    offset_commit:loading plan_of_nobody sync_group:loading unload zombie_coordinator
    """
PHASES_SCOPE: Mapping[str, Any] = {
    "members": 2,
    "generations": 2,
    "faults": {"fail_over": 1},
    "phases": True,
}
# What the styles of commits add.
STYLES_SCOPE: Mapping[str, Any] = {"members": 1, "generations": 2, "records": 2, "any_faults": 2}
BY_HAND = cover(
    "behind_for_good commit_sync_has_thrown commit_throws waits_in_commit_sync",
    **STYLES_SCOPE,
    commit_style="sync",
)
IN_STYLES = (
    BY_HAND,
    cover("close:committed_first leave:heard leave:unheard", **STYLES_SCOPE, commit_style="auto"),
    cover("lose_request:async", **STYLES_SCOPE, commit_style="async"),
)
IN_PHASES = cover(f"{OF_PHASES} join_answer:retry sync_answer:fatal", **PHASES_SCOPE)

# The smallest first; each lists what no smaller one reaches.
COVERS = (
    cover(
        """
        answer_joins answer_syncs append_committed begin_walk commit_answer:done completing
        end_walk fetch_offset heartbeat:accepted heartbeat_answer:well initial_delay:over
        join_answer:id_given join_answer:joined join_group:added join_group:id_required
        offset_commit:accepted preparing process_record send_commit send_heartbeat
        send_join:sent send_sync stable store_offset:forwards sync_answer:assigned
        sync_group:led
        """,
        members=1,
        generations=1,
    ),
    cover(
        "join_complete",
        members=1,
        generations=1,
        atomic_complete=False,
    ),
    cover(
        "join_answer:fatal join_group:too_many",
        members=2,
        generations=1,
        max_size=1,
    ),
    cover(
        "join_group:inconsistent vote",
        members=2,
        generations=1,
        protocols="range|sticky",
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
        append_failed close:behind close:heard close:unheard close_books closed
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
        "rebalance_timeout:missing zombie_owner",
        members=2,
        generations=2,
        faults={"rebalance_timeout": 1},
    ),
    cover(
        """
        commit_behind_join elect late_commit leave_group:unknown lose_request:commit
        poll_timeout:unheard
        """,
        members=1,
        generations=1,
        any_faults=2,
    ),
    cover(
        "rebalance_timeout:nobody rebalance_timeout:rejected",
        members=2,
        generations=2,
        max_size=1,
        any_faults=1,
    ),
    *IN_STYLES,
    IN_PHASES,
    cover(
        "late_join_overlap",
        members=2,
        generations=2,
        faults={"delay_request": 1, "disconnect": 1},
    ),
)

# What a cover scope of a variant reaches all the same need not be taken out (see `preset`). The
# client's answers stand in its error matrix, which `test_client_matrix.py` tests cell by cell.
UNREACHED: Mapping[str, str] = {
    "commit_answer:dropped": (
        "The model's coordinator knows no errors for OffsetCommit but 14, 16, 22 and 25."
    ),
    "commit_answer:fatal": "Only a static member can be fenced (82).",
    "heartbeat_answer:fatal": "Only a static member can be fenced (82).",
    "commit_answer:rebalancing": (
        "The model's coordinator knows no errors for OffsetCommit but 14, 16, 22 and 25."
    ),
    "commit_answer:ignored": (
        "A member hears the answer to its commit before it sends JoinGroup, or "
        "after the answer to that."
    ),
    "offset_commit:rebalancing": (
        "A member commits in a generation after its SyncGroup was "
        "answered; the group is never in CompletingRebalance of that generation again."
    ),
}

KAFKA_COORDINATOR = "GroupCoordinatorService of Apache Kafka, in one JVM"
# Arguments of `conform`: the rows of a fail-over in its phases.
ROWS_IN_PHASES: Mapping[str, Any] = {
    "members": 1,
    "generations": 1,
    "faults": {"fail_over": 1},
    "settings": {"phases": "yes"},
}
# Arguments of `conform`; 5,218 rows, which take about 6 s.
EXECUTED: tuple[Mapping[str, Any], ...] = (
    ROWS_IN_PHASES,
    {"members": 1, "generations": 1},
    {"members": 2, "generations": 1, "faults": {}, "settings": {"max_size": "1"}},
    {"members": 2, "generations": 1, "faults": {}, "settings": {"protocols": "range|sticky"}},
)
CONFORMED: tuple[Mapping[str, Any], ...] = (
    {"members": 2, "generations": 2},
    {"members": 3, "generations": 2, "faults": {"append_failure": 1, "session_timeout": 1}},
)
BOOKKEEPING: Mapping[str, str] = {
    "close_books": "The model forgets what only a fault that is spent could have read.",
    "forget": "The same, seat by seat.",
    "store_offset:again": "The real coordinator appends the offset, whatever it was before.",
}

KAFKA_MEMBER = "ConsumerCoordinator of Apache Kafka's Java client, with its heartbeat thread"
MEMBER_APART: Mapping[str, str] = {
    "crash": "A process that is gone does nothing.",
    "closed": "The model ends the process once its last requests are answered.",
    "late_commit": "Kafka's member refuses a commit outside STABLE by itself and sends nothing.",
}
