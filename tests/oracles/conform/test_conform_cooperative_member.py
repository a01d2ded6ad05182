"""The model's cooperative member on Kafka's Java client: its rows agree, and a wrong one is
noticed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from groupcheck.model.engine import evolve
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.classic import client as members
from groupcheck.model.protocol.codes import NONE
from groupcheck.model.protocol.messages import NO_GENERATION, JoinGroup, LeaveGroup
from groupcheck.model.protocol.transform import Change, outcomes_changed, rebuilt
from groupcheck.model.variants import load
from groupcheck.oracles.command_line import cli
from groupcheck.oracles.conform.member.every_row import rows_of
from groupcheck.oracles.conform.member.group_steps import GroupSteps
from groupcheck.oracles.conform.member.member_memory import Does, During, Input, Memory, Outcome
from groupcheck.oracles.conform.member.moves import Observations, Standing, setup_of
from groupcheck.oracles.conform.member.promises import broken
from groupcheck.oracles.conform.member.rows import Rows
from groupcheck.oracles.conform.member.tour import MemberRow, Tour, different
from groupcheck.oracles.kafka.driver import Driver

COOPERATIVE, STATIC = "cooperative", "cooperative_static"
APART = {"closed", "crash", "late_commit"}


def rows_at(variant: str, generations: int, partitions: int, autocommit: str = "no") -> Rows:
    """All rows of the member."""
    settings = {"partitions": str(partitions), "autocommit": autocommit}
    (found,) = rows_of(variant, generations, None, settings)
    return found


def of_the_model(variant: str, generations: int, partitions: int, *rules: Rule) -> Rows:
    """The rows of the group's model, perhaps with other rules, without commits in poll."""
    scope = rows_at(variant, generations, partitions).scope
    spec = load(variant).spec(scope)
    return Rows(scope, rebuilt(spec, rules) if rules else spec)


def start_of(rows: Rows) -> Standing:
    scope = rows.scope
    return Standing(setup_of(scope))


@pytest.mark.parametrize("variant", [COOPERATIVE, STATIC])
def test_the_rows_next_to_the_start_agree(variant: str, coordinator: Driver) -> None:
    """`make nightly` executes all of them."""
    tour = Tour(rows_at(variant, 1, 2, "yes"), coordinator, max_rows=2500)
    tour.run()
    assert tour.reason == "there are more than 2,500 rows"
    assert tour.counts.executed == tour.counts.agreeing > 1000


def test_each_step_of_the_groups_model_is_that_of_a_row() -> None:
    steps = GroupSteps(rows_at(COOPERATIVE, 1, 1))
    assert steps.run(0) == []
    assert steps.states == 1047


# -- one schedule after the other

FOUND, POLL, SEND = Input(code=79, id=0), Input(Does.POLL), Input(Does.SEND)
JOINING = (POLL, FOUND, POLL)
STABLE = (Input(id=0, generation=1), SEND, Input(share=3), POLL)
TOLD = (Input(Does.BEAT), Input(code=27), POLL)
AGAIN = (Input(id=0, generation=2), SEND)


def led(rows: Rows, driver: Driver, *inputs: Input) -> tuple[Memory, list[Outcome], Standing]:
    """Where a schedule leads, each row of which is executed and agrees, and what it did."""
    memory, standing, found = rows.start(), start_of(rows), []
    for given in inputs:
        assert given in rows.inputs(memory), given
        (outcome,) = rows.outcomes(memory, given)
        row = MemberRow(memory, given, outcome, standing)
        (seen,) = driver.run_all([row.probe])
        assert different(rows, row, seen) == []
        assert outcome.after is not None
        found.append(outcome)
        memory, standing = outcome.after, standing.then(row.probe.row)
    return memory, found, standing


@pytest.mark.parametrize("variant", [COOPERATIVE, STATIC])
def test_k12_a_late_syncgroup_that_is_answered_27_lets_a_member_claim_what_it_owned_before(
    variant: str, coordinator: Driver
) -> None:
    late = (*JOINING, *STABLE, *TOLD, *AGAIN, Input(code=27), POLL)
    memory, _, _ = led(rows_at(variant, 2, 2), coordinator, *late)
    assert [s.request for s in memory.flight] == [JoinGroup(0, 2, owned=3)]
    assert memory.client.owned == 3


def test_a_share_that_lacks_a_partition_is_followed_by_a_join_that_claims_the_rest(
    coordinator: Driver,
) -> None:
    smaller = (*JOINING, *STABLE, *TOLD, *AGAIN, Input(share=2), POLL)
    memory, did, _ = led(rows_at(COOPERATIVE, 2, 2), coordinator, *smaller)
    assert did[-1].installed and did[-1].sent == (JoinGroup(0, 2, owned=2),)
    assert memory.client.owned == 2


def test_a_commit_in_both_callbacks_of_one_round_that_is_answered_22_loses_everything(
    coordinator: Driver,
) -> None:
    fetched = (*JOINING, *STABLE, Input(Does.FETCH), *TOLD, *AGAIN, Input(share=1))
    refused = Input(Does.POLL, during=During.COMMITS, code=22)
    memory, did, _ = led(rows_at(COOPERATIVE, 2, 2), coordinator, *fetched, refused, POLL, POLL)
    assert did[-3].commits == (("revoked", 0),) and did[-3].raised
    assert [s.request for s in memory.flight] == [JoinGroup(-1)]


def test_a_callback_that_lasts_too_long_while_a_partition_is_revoked_loses_the_rest(
    coordinator: Driver,
) -> None:
    lasts = Input(Does.POLL, during=During.LASTS)
    smaller = (*JOINING, *STABLE, *TOLD, *AGAIN, Input(share=2), lasts)
    memory, did, _ = led(rows_at(COOPERATIVE, 2, 2), coordinator, *smaller)
    assert did[-1].sent == (LeaveGroup(0), JoinGroup(-1))
    assert memory.client.owned == 0


@pytest.mark.parametrize(
    ("during", "broken_ones"),
    [
        (During.NOTHING, []),
        (During.LASTS, ["assigned_in_its_generation"]),
        (During.COMMITS, ["assigned_in_its_generation"]),
    ],
)
def test_a_member_that_left_while_it_revoked_is_given_new_partitions_all_the_same(
    during: During, broken_ones: list[str], coordinator: Driver
) -> None:
    owning = (Input(id=0, generation=1), SEND, Input(share=1), POLL, Input(Does.FETCH))
    moves = (*JOINING, *owning, *TOLD, *AGAIN, Input(share=2))
    rows = rows_at(COOPERATIVE, 2, 2)
    memory, _, standing = led(rows, coordinator, *moves)
    given = Input(Does.POLL, during=during, code=22 if during == During.COMMITS else NONE)
    (outcome,) = rows.outcomes(memory, given)
    (seen,) = coordinator.run_all([MemberRow(memory, given, outcome, standing).probe])
    assert isinstance(seen, Observations)
    assert [f.promise for f in broken(memory, given, seen)] == broken_ones


# -- a wrong member


def noticed(wrong: Rows, driver: Driver) -> list[str]:
    """What is different about the first row that a wrong model tells otherwise."""
    right = of_the_model(COOPERATIVE, 2, 2)
    for row, told in in_order(right):
        new = wrong.outcomes(row.before, row.given)
        for outcome in [o for o in new if o not in told]:
            bad = MemberRow(row.before, row.given, outcome, row.standing)
            (seen,) = driver.run_all([bad.probe])
            return different(wrong, bad, seen)
    return []


def in_order(rows: Rows) -> Iterator[tuple[MemberRow, tuple[Outcome, ...]]]:
    """Every row, breadth first, with its outcomes; none is executed."""
    standings = {rows.start(): start_of(rows)}
    frontier = [rows.start()]
    for memory in frontier:
        for given in rows.inputs(memory):
            told = rows.outcomes(memory, given)
            for outcome in told:
                row = MemberRow(memory, given, outcome, standings[memory])
                yield row, told
                if outcome.after is not None and outcome.after not in standings:
                    standings[outcome.after] = row.standing.then(row.probe.row)
                    frontier.append(outcome.after)


def with_client(rule: Rule, label: str, change: Callable[[Any, Any], dict[str, Any]]) -> Rows:
    """Where this outcome fires, fields of the member become others: `change(before, after)`."""

    def changed(before: dict[str, Any], fired: str, after: dict[str, Any]) -> dict[str, Any]:
        if fired != label:
            return after
        told = change(before["client"], after["client"])
        return {**after, "client": evolve(after["client"], **told)}

    return with_rule(rule, changed)


def claiming(**fields: Any) -> Rows:
    """Each JoinGroup has these fields."""

    def changed(before: dict[str, Any], fired: str, after: dict[str, Any]) -> dict[str, Any]:
        link = after["link"]
        if fired != "sent":
            return after
        return {**after, "link": evolve(link, request=evolve(link.request, **fields))}

    return with_rule(members.send_join, changed)


def with_rule(rule: Rule, change: Change) -> Rows:
    return of_the_model(COOPERATIVE, 2, 2, outcomes_changed(rule, change))


MISTAKES = {
    "it claims nothing": claiming(owned=0),
    "it claims no generation": claiming(claimed=NO_GENERATION),
    "it gives up everything before it joins": with_client(
        members.send_join, "sent", lambda before, after: {"owned": 0, "position": -1}
    ),
    "it keeps everything when it has lost its generation": with_client(
        members.send_join, "sent", lambda before, after: {"owned": before.owned}
    ),
    "it revokes and does not join again": with_client(
        members.join_complete, "", lambda before, after: {"rejoin": before.rejoin}
    ),
    "it starts anew with what it keeps": with_client(
        members.join_complete, "", lambda before, after: {"position": -1}
    ),
    "it keeps what its share lacks": with_client(
        members.join_complete, "", lambda before, after: {"owned": before.owned | after.owned}
    ),
    "it goes on at the position of what it has revoked": with_client(
        members.join_complete, "", lambda before, after: {"position": before.position}
    ),
    "27 to its SyncGroup takes its partitions": with_client(
        members.sync_answer, "retry", lambda before, after: {"owned": 0, "position": -1}
    ),
    "27 to its SyncGroup takes its generation": with_client(
        members.sync_answer, "retry", lambda before, after: {"generation": NO_GENERATION}
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_the_cooperative_member_is_noticed(mistake: str, coordinator: Driver) -> None:
    assert noticed(MISTAKES[mistake], coordinator)


# -- the command


@pytest.mark.parametrize("variant", [COOPERATIVE, STATIC])
def test_the_command_lists_what_no_row_executes_with_a_reason(
    variant: str, capsys: pytest.CaptureFixture[str], misfits: Callable[[Any], list[str]]
) -> None:
    asked = f"conform {variant} --side member --max-rows 60 --findings --json"
    assert cli.run(asked.split()) == 3
    document = json.loads(capsys.readouterr().out)
    assert misfits(document) == []
    assert document["scope"]["generations"] == 1
    assert document["agreeing"] == document["executed"] > 10
    assert {*document["not_executed"]} >= APART and all(document["not_executed"].values())
    assert document["findings"] == []
