"""The member's error matrix (protocol.md 2.5): what every answer code does, API by API.

Source of every cell: the response handlers of Kafka's AbstractCoordinator (JoinGroup, SyncGroup,
Heartbeat) and ConsumerCoordinator (OffsetCommit). "Same": the member still has the id and
generation with which it sent the request.
"""

from __future__ import annotations

import pytest

from groupcheck.model.engine import evolve
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.classic.client import (
    NOTHING,
    Client,
    Member,
    Prepare,
    commit_answer,
    heartbeat_answer,
    join_answer,
    leave_answer,
    reset,
    sync_answer,
    wants_to_join,
)
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.codes import (
    COORDINATOR_LOAD_IN_PROGRESS,
    COORDINATOR_NOT_AVAILABLE,
    FENCED_INSTANCE_ID,
    GROUP_MAX_SIZE_REACHED,
    ILLEGAL_GENERATION,
    INCONSISTENT_GROUP_PROTOCOL,
    MEMBER_ID_REQUIRED,
    NAMES,
    NONE,
    NOT_COORDINATOR,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
)
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.messages import (
    NO_GENERATION,
    NO_ID,
    Answer,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    OffsetCommit,
    Store,
    SyncGroup,
)

UNAVAILABLE = (COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR)
FATAL = (INCONSISTENT_GROUP_PROTOCOL, GROUP_MAX_SIZE_REACHED)

JOINING = Client(Member.PREPARING, generation=1, id=0, prepare=Prepare.DONE)
SYNCING = Client(Member.COMPLETING, generation=2, id=0, prepare=Prepare.DONE)
STABLE = Client(Member.STABLE, generation=2, id=0, owned=1, position=1, dirty=False)
RESET = Client()
KEEPS_ID = Client(id=0)


def told(rule: Rule, client: Client, answer: Answer, **scope: object) -> tuple[str, Client]:
    """The only outcome of an answer: its label and the member after it. The link is idle again."""
    args = [client, Link(answer=answer), *([Scope(**scope)] if rule.takes_scope else [])]  # type: ignore[arg-type]
    assert rule.guard is not None
    assert rule.guard.allows((0,) * len(rule.guard.takes), args[1])
    ((*label, after, link),) = rule.call(*args)
    assert link == Link()
    return label[0] if label else "", after


def codes_but(*named: int) -> list[int]:
    return [code for code in NAMES if code not in named]


# -- JoinGroup


def test_join_0_is_adopted_and_calls_for_the_sync() -> None:
    label, after = told(join_answer, JOINING, Answer(JoinGroup(0, 1), NONE, id=0, generation=2))
    assert (label, after) == ("joined", evolve(SYNCING, prepare=Prepare.SYNC))
    assert not wants_to_join(after), "the SyncGroup is on its way"


def test_join_0_of_a_member_that_has_left_meanwhile_is_ignored() -> None:
    assert told(join_answer, RESET, Answer(JoinGroup(0, 1), NONE, id=0, generation=2)) == (
        "ignored",
        RESET,
    )


@pytest.mark.parametrize(
    "code", [COORDINATOR_LOAD_IN_PROGRESS, *UNAVAILABLE, REBALANCE_IN_PROGRESS]
)
def test_join_is_tried_again_with_the_same_ids_and_without_preparing_again(code: int) -> None:
    label, after = told(join_answer, JOINING, Answer(JoinGroup(0, 1), code))
    assert (label, after) == ("retry", JOINING)
    assert wants_to_join(after)
    assert after.prepare == Prepare.DONE


def test_join_25_of_the_same_generation_forgets_everything() -> None:
    assert told(join_answer, JOINING, Answer(JoinGroup(0, 1), UNKNOWN_MEMBER_ID)) == (
        "refused",
        RESET,
    )


def test_join_25_to_a_member_that_joins_in_one_step_without_its_id_forgets_everything() -> None:
    assert (
        told(
            join_answer,
            evolve(RESET, state=Member.PREPARING, prepare=Prepare.DONE),
            Answer(JoinGroup(3), UNKNOWN_MEMBER_ID),
        )[1]
        == RESET
    )


@pytest.mark.parametrize("request_", [JoinGroup(0, 0), JoinGroup(1, 1)], ids=["generation", "id"])
def test_join_25_of_another_generation_is_ignored(request_: JoinGroup) -> None:
    assert told(join_answer, JOINING, Answer(request_, UNKNOWN_MEMBER_ID)) == ("ignored", JOINING)


@pytest.mark.parametrize("state", [Member.PREPARING, Member.UNJOINED])
def test_join_79_gives_the_id_and_no_generation(state: Member) -> None:
    client = Client(state, prepare=Prepare.DONE)
    label, after = told(join_answer, client, Answer(JoinGroup(NO_ID), MEMBER_ID_REQUIRED, id=4))
    assert (label, after) == ("id_given", evolve(client, id=4, generation=NO_GENERATION))
    assert wants_to_join(after)


@pytest.mark.parametrize("code", [*FATAL, FENCED_INSTANCE_ID, ILLEGAL_GENERATION])
def test_join_stops_the_application_on_a_fatal_or_unexpected_code_and_the_member_stays_as_it_is(
    code: int,
) -> None:
    label, after = told(join_answer, JOINING, Answer(JoinGroup(0, 1), code))
    assert (label, after) == ("fatal", evolve(JOINING, failed=code))
    assert not wants_to_join(after)


# -- SyncGroup


def test_sync_0_installs_the_share() -> None:
    label, after = told(sync_answer, SYNCING, Answer(SyncGroup(0, 2), NONE, 0, 2, share=0b101))
    assert (label, after.state, after.owned, after.position, after.prepare) == (
        "assigned",
        Member.STABLE,
        0b101,
        -1,
        Prepare.NEEDED,
    )
    assert not wants_to_join(after)


def test_sync_0_waits_for_on_join_complete_where_that_is_a_step_of_its_own() -> None:
    _, after = told(
        sync_answer,
        SYNCING,
        Answer(SyncGroup(0, 2), NONE, 0, 2, share=0b101),
        atomic_complete=False,
    )
    assert (after.state, after.owned, after.granted) == (Member.STABLE, 0, 0b101)


def test_sync_0_to_a_member_that_was_reset_meanwhile_is_dropped() -> None:
    assert told(sync_answer, RESET, Answer(SyncGroup(0, 2), NONE, 0, 2, share=1)) == (
        "ignored",
        RESET,
    )


@pytest.mark.parametrize("code", [*UNAVAILABLE, REBALANCE_IN_PROGRESS])
def test_sync_that_is_sent_back_joins_again_with_its_ids_and_without_preparing_again(
    code: int,
) -> None:
    label, after = told(sync_answer, SYNCING, Answer(SyncGroup(0, 2), code))
    assert (label, after) == ("retry", SYNCING)
    assert wants_to_join(after)


@pytest.mark.parametrize(
    ("code", "after"), [(ILLEGAL_GENERATION, KEEPS_ID), (UNKNOWN_MEMBER_ID, RESET)]
)
def test_sync_22_forgets_the_generation_and_25_the_id_too(code: int, after: Client) -> None:
    assert told(sync_answer, SYNCING, Answer(SyncGroup(0, 2), code)) == ("refused", after)


@pytest.mark.parametrize("code", [ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID])
def test_sync_refused_in_another_generation_is_ignored(code: int) -> None:
    assert told(sync_answer, SYNCING, Answer(SyncGroup(0, 1), code)) == ("ignored", SYNCING)


@pytest.mark.parametrize("code", [COORDINATOR_LOAD_IN_PROGRESS, *FATAL, MEMBER_ID_REQUIRED])
def test_sync_stops_the_application_on_a_fatal_or_unexpected_code_14_among_them(code: int) -> None:
    label, after = told(sync_answer, SYNCING, Answer(SyncGroup(0, 2), code))
    assert (label, after) == ("fatal", evolve(SYNCING, failed=code))


# -- Heartbeat


def test_heartbeat_0_changes_nothing() -> None:
    assert told(heartbeat_answer, STABLE, Answer(Heartbeat(0, 2))) == ("well", STABLE)


def test_heartbeat_27_asks_a_stable_member_to_join_again_and_takes_nothing_from_it() -> None:
    label, after = told(heartbeat_answer, STABLE, Answer(Heartbeat(0, 2), REBALANCE_IN_PROGRESS))
    assert (label, after) == ("told_to_rejoin", evolve(STABLE, rejoin=True))
    assert wants_to_join(after)


@pytest.mark.parametrize("client", [SYNCING, JOINING, RESET], ids=lambda c: str(c.state))
def test_heartbeat_27_is_ignored_in_other_states(client: Client) -> None:
    assert told(heartbeat_answer, client, Answer(Heartbeat(0, 2), REBALANCE_IN_PROGRESS)) == (
        "ignored",
        client,
    )


@pytest.mark.parametrize("client", [SYNCING, STABLE], ids=lambda c: str(c.state))
@pytest.mark.parametrize(("code", "id"), [(ILLEGAL_GENERATION, 0), (UNKNOWN_MEMBER_ID, NO_ID)])
def test_heartbeat_22_forgets_the_generation_25_the_id_too_and_partitions_stay_until_the_next_poll(
    client: Client, code: int, id: int
) -> None:
    label, after = told(heartbeat_answer, client, Answer(Heartbeat(0, 2), code))
    assert (label, after.state, after.generation, after.id) == (
        "refused",
        Member.UNJOINED,
        NO_GENERATION,
        id,
    )
    assert (after.owned, after.position) == (client.owned, client.position)


@pytest.mark.parametrize("code", [ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID])
def test_heartbeat_refused_in_another_generation_is_ignored(code: int) -> None:
    assert told(heartbeat_answer, STABLE, Answer(Heartbeat(0, 1), code)) == ("ignored", STABLE)


@pytest.mark.parametrize(
    "code",
    codes_but(
        NONE, ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID, REBALANCE_IN_PROGRESS, FENCED_INSTANCE_ID
    ),
)
def test_heartbeat_other_codes_are_a_failed_heartbeat_and_no_more(code: int) -> None:
    assert told(heartbeat_answer, STABLE, Answer(Heartbeat(0, 2), code)) == ("ignored", STABLE)


def test_heartbeat_82_resets_the_member_and_stops_the_application() -> None:
    answer = Answer(Heartbeat(0, 2), FENCED_INSTANCE_ID)
    stopped = evolve(RESET, failed=FENCED_INSTANCE_ID, owned=1, position=1)
    assert told(heartbeat_answer, STABLE, answer) == ("fatal", stopped)
    assert told(heartbeat_answer, evolve(STABLE, generation=3), answer)[0] == "ignored"


# -- OffsetCommit


COMMIT = OffsetCommit(0, 2, 1)


@pytest.mark.parametrize("request_", [COMMIT, Store(COMMIT)], ids=["refused", "stored"])
def test_commit_0_is_done(request_: OffsetCommit | Store) -> None:
    assert told(commit_answer, STABLE, Answer(request_)) == ("done", STABLE)


@pytest.mark.parametrize("code", [COORDINATOR_LOAD_IN_PROGRESS, *UNAVAILABLE])
def test_commit_is_tried_again_before_the_partitions_are_given_up(code: int) -> None:
    before = evolve(STABLE, rejoin=True, prepare=Prepare.COMMITTED)
    assert told(commit_answer, before, Answer(COMMIT, code)) == (
        "retry",
        evolve(STABLE, rejoin=True, dirty=True),
    )


@pytest.mark.parametrize("code", [INCONSISTENT_GROUP_PROTOCOL, MEMBER_ID_REQUIRED])
def test_a_commit_that_failed_for_good_is_not_sent_again_before_the_partitions_are_given_up(
    code: int,
) -> None:
    before = evolve(STABLE, rejoin=True, prepare=Prepare.COMMITTED)
    assert told(commit_answer, before, Answer(COMMIT, code)) == (
        "dropped",
        evolve(before, dirty=True),
    )


def test_commit_82_stops_the_application_unless_the_generation_has_changed() -> None:
    answer = Answer(COMMIT, FENCED_INSTANCE_ID)
    stopped = evolve(STABLE, failed=FENCED_INSTANCE_ID, dirty=True)
    assert told(commit_answer, STABLE, answer) == ("fatal", stopped)
    assert told(commit_answer, evolve(STABLE, generation=3), answer)[0] == "dropped"


def test_commit_27_asks_to_join_again_and_resets_nothing() -> None:
    assert told(commit_answer, STABLE, Answer(COMMIT, REBALANCE_IN_PROGRESS)) == (
        "rebalancing",
        evolve(STABLE, rejoin=True, dirty=True),
    )


@pytest.mark.parametrize(("code", "id"), [(ILLEGAL_GENERATION, 0), (UNKNOWN_MEMBER_ID, NO_ID)])
def test_commit_22_forgets_the_generation_and_25_the_id_too(code: int, id: int) -> None:
    label, after = told(commit_answer, STABLE, Answer(COMMIT, code))
    assert (label, after.state, after.generation, after.id, after.owned) == (
        "refused",
        Member.UNJOINED,
        NO_GENERATION,
        id,
        1,
    )


@pytest.mark.parametrize("code", [ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID])
def test_commit_of_an_older_generation_refused_is_harmless_while_the_member_waits_for_its_join(
    code: int,
) -> None:
    client = evolve(JOINING, generation=3)
    assert told(commit_answer, client, Answer(COMMIT, code)) == ("ignored", client)


@pytest.mark.parametrize(
    "client",
    [evolve(SYNCING, generation=3), evolve(STABLE, generation=3)],
    ids=lambda c: str(c.state),
)
@pytest.mark.parametrize("code", [ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID])
def test_commit_of_an_older_generation_refused_later_resets_the_new_generation_too(
    client: Client, code: int
) -> None:
    label, after = told(commit_answer, client, Answer(COMMIT, code))
    assert (label, after.state, after.generation) == ("refused", Member.UNJOINED, NO_GENERATION)


# -- LeaveGroup and resets


@pytest.mark.parametrize("code", NAMES)
def test_leave_is_one_shot_whatever_the_answer(code: int) -> None:
    assert told(leave_answer, RESET, Answer(LeaveGroup(0), code)) == ("", RESET)


def test_a_reset_between_the_sync_answer_and_on_join_complete_drops_the_assignment_and_the_id() -> (
    None
):
    granted = evolve(SYNCING, state=Member.STABLE, granted=1)
    assert reset(granted, everything=False) == RESET
    assert reset(granted, everything=True).granted == NOTHING
